// CostedGraph: a TaskGraph with a Cost for every op variant.
#pragma once

#include <memory>

#include "sim/graph/cost.hpp"
#include "sim/graph/task_graph.hpp"

namespace distsim::graph {

struct CostedGraph {
  TaskGraph graph;
  IdVector<OpId, Cost> costs;                ///< one per op of graph.ops
  std::shared_ptr<const void> source_owner;  ///< keeps alive the models whose `source` texts the costs point to
};

/// Gives every Sequence the sum of its ops' costs: times add up, shares are weighed by time, basis and source are those
/// of the op with the most time. Precondition: its ops have costs. Refuses what leaves the range of Duration.
Result<void> sum_sequences(CostedGraph& costed);

}  // namespace distsim::graph
