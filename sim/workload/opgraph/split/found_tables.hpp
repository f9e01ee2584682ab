// Embedding tables of a captured graph: parameters that nothing but lookups reads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/workload/opgraph/graph_spec.hpp"

namespace distsim::workload {

struct FoundTable {
  std::uint32_t parameter = 0;  ///< its tensor
  std::string module;
  std::int64_t rows = 0, dim = 0;
  std::int64_t features = 0;                      ///< vectors of a sample, over all lookups
  double ids = 0;                                 ///< of a sample
  std::vector<std::uint32_t> lookups, gradients;  ///< nodes that look up, and that make its gradient of theirs
  /// Of each lookup the sum or mean that pools its vectors, as nn.EmbeddingBag does it in one call.
  static constexpr std::uint32_t kUnpooled = 0xFFFFFFFFu;
  std::vector<std::uint32_t> pools;
};

/// All of the graph. A lookup is aten::embedding or aten::_embedding_bag whose ids follow the batch; a parameter that is
/// read by anything else (words that are also the weight of a product), or that is not trained, is no table.
std::vector<FoundTable> find_tables(const opgraph::OpGraph& graph);

/// A graph without the lookups of its tables, in the order in which it runs where others hold them: what makes ids, what
/// needs no vector, what does.
struct GraphWithoutTables {
  opgraph::OpGraph graph;
  std::uint32_t ids_end = 0;  ///< of the nodes that make ids
  std::uint32_t arrive = 0;   ///< the first node that reads a vector
  std::uint32_t leave = 0;    ///< after this node the gradients of all vectors are there
  double id_bytes = 0;        ///< of inputs that only lookups read
};

/// `wire`: the type in which vectors arrive.
GraphWithoutTables without_tables(const opgraph::OpGraph& graph, const std::vector<FoundTable>& tables,
                                  const opgraph::Element& wire);

}  // namespace distsim::workload
