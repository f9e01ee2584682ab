// Which ranks take part in one collective: everybody, or a shape that tiles the machine. A shape is R ranks on N nodes;
// its groups take R/N neighbouring ranks of each of N neighbouring nodes. All groups run at once, as they do in
// training, unless the shape says `alone`.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace distsim::bench {

/// As asked for: a name, or R ranks on N nodes.
struct GroupRequest {
  std::string name = "all";  ///< all, nodes, one_per_node, rails, halves, pairs, far_pairs, or "8x2"
  int ranks = 0, nodes = 0;  ///< of a shape in figures
  bool alone = false;        ///< only the first group runs
  bool operator==(const GroupRequest&) const = default;
};

/// "all", "nodes", ..., "8x2", "8x2.alone". Unknown: nearest spelling.
Result<GroupRequest> parse_group(std::string_view text);

/// The groups of one shape on this machine.
struct Grouping {
  std::string name;
  int ranks = 0, nodes = 0;               ///< of one group
  std::vector<std::vector<int>> members;  ///< ascending ranks of each group
  bool operator==(const Grouping&) const = default;
};

/// `node_of` gives the node of each rank, nodes numbered from 0. Errors: a shape that does not fit (more nodes or ranks
/// than there are, unequal nodes).
///   all           one group of all ranks                          nodes       every node by itself
///   one_per_node  the first rank of each node, one group          rails       the i-th ranks of all nodes, a group for
///   each i halves        first and second half of the nodes (of the ranks on one node) pairs         neighbours within
///   a node                        far_pairs   equal places on neighbouring nodes
Result<Grouping> groups_of(const GroupRequest& request, std::span<const int> node_of);

}  // namespace distsim::bench
