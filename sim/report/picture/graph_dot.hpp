// The op graph of one iteration as a picture: text for Graphviz's `dot`.
//
// A box per task of a rank, coloured by its stream, with its name, its op, its time and the basis of that. Tasks that the
// rank has no part in are left out. Solid edges are dependencies
// between streams, thin grey ones the order within a stream, which dependencies do not repeat.
#pragma once

#include <string>

#include "sim/graph/costed_graph.hpp"

namespace distsim::report {

struct GraphPicture {
  std::string dot;
  std::size_t drawn = 0;  ///< tasks
  std::size_t left_out = 0;
};

/// The first `most` tasks that `rank` takes part in. Precondition: rank < graph.ranks.
GraphPicture graph_dot(const graph::CostedGraph& costed, std::string_view title, std::uint32_t rank, std::size_t most);

}  // namespace distsim::report
