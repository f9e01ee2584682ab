// What the training step of a captured graph is built from, and the ways to split it.
#pragma once

#include "sim/workload/family.hpp"
#include "sim/workload/opgraph/graph_parts.hpp"
#include "sim/workload/opgraph/kept_tensors.hpp"

namespace distsim::workload {

/// The references live as long as the call of build_captured that made it.
struct CapturedModel {
  const GraphSpec& spec;
  const opgraph::OpGraph& graph;
  const ModelSpec& model;
  const FrameworkSpec& framework;
  const ClusterShape& cluster;
  const SamplePlan& samples;
  const Checkpoints& checkpoints;
  double input_bytes = 0;  ///< of a sample
  KeptTensors kept;        ///< what is held and not trained

  /// Adds what was counted and decided of the graph.
  void describe(Workload& out, const GraphCoverage& coverage) const;
};

/// Gradients and optimizer state, and with StateSplit::weights the weights too, are split over the ranks, unit by unit
/// (PyTorch's FSDP).
Result<Workload> build_sharded(const CapturedModel& model, StateSplit split);

/// Embedding tables belong to ranks, as those of kind dlrm do; everything else is replicated, or split as `split` says.
Result<Workload> build_with_tables(const CapturedModel& model, StateSplit split);

}  // namespace distsim::workload
