// What a captured graph runs in inference.
#pragma once

#include "sim/opgraph/op_graph.hpp"

namespace distsim::workload {

/// The forward pass of a graph without dropout, loss and gradients: calls of dropout are left out, and what they made is
/// what they read; attention has none. The loss is what the backward pass starts from, back to the last results that are
/// no single numbers, and calls of losses by their names with the logarithm of a softmax that only they read.
opgraph::OpGraph forward_alone(const opgraph::OpGraph& graph);

}  // namespace distsim::workload
