// Tensors and other arguments of the calls of an execution trace.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "sim/opgraph/op_graph.hpp"
#include "sim/opgraph/recorded/recorded_calls.hpp"

namespace distsim::opgraph {

/// Reads what calls were given and returned; the tensors go into `graph`.
class RecordedArguments {
 public:
  RecordedArguments(OpGraph& graph, const std::string& file) : graph_(graph), file_(file) {}

  /// `side`: "inputs" or "outputs". Errors: lists of different lengths, a type or a size that is none, dynamic shapes.
  Result<std::vector<Argument>> read(const Recorded& n, std::string_view side);

 private:
  Result<std::optional<std::uint32_t>> add_tensor(const Recorded& n, const simdjson::dom::element& value,
                                                  const simdjson::dom::element& shape, std::string_view type);
  Result<Argument> read_argument(const Recorded& n, const simdjson::dom::element& value,
                                 const simdjson::dom::element& shape, std::string_view type);
  Error wrong(const Recorded& n, const std::string& what) const { return wrong_call(file_, n, what); }

  OpGraph& graph_;
  const std::string& file_;
};

}  // namespace distsim::opgraph
