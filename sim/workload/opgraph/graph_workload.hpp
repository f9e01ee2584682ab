// The two kinds of graphs as workloads.
#pragma once

#include "sim/opgraph/op_graph.hpp"
#include "sim/workload/family.hpp"
#include "sim/workload/opgraph/graph_spec.hpp"

namespace distsim::workload {

/// A captured forward and backward pass as a data-parallel training step: gradients in buckets as they are complete, an
/// optimizer, micro-steps.
Result<Workload> build_captured(const GraphSpec& spec, const ModelSpec& model, const FrameworkSpec& framework,
                                const ClusterShape& shape, const SamplePlan& samples);

/// A recorded iteration as it ran: its calls in their order, its collectives over its process groups. What reads or writes
/// a tensor of a collective waits for it.
Result<Workload> build_recorded(const opgraph::OpGraph& graph, const ModelSpec& model, const FrameworkSpec& framework,
                                const ClusterShape& shape, const SamplePlan& samples);

}  // namespace distsim::workload
