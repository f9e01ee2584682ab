// Language models that are not split, on frameworks that launch and reduce them layer by layer: every kernel and every
// bucket of gradients is a task of its own. All others are played by blocks (llm_emission.hpp).
#pragma once

#include "sim/workload/family.hpp"

namespace distsim::workload {

/// Whether such a job is played layer by layer: the framework does so (parallel.layer_by_layer), llm_layers can express
/// the model, and nothing is split, sharded or offloaded, nor computed again but whole blocks.
bool is_layer_by_layer(const ModelSpec& model, const FrameworkSpec& framework, std::uint32_t ranks);

/// Errors: a micro-batch that does not divide a rank's samples; memory; sizes beyond int64.
Result<Workload> build_layer_by_layer(const ModelSpec& model, const FrameworkSpec& framework,
                                      const ClusterShape& cluster, const SamplePlan& samples);

/// Errors: those of build_layer_by_layer, but for memory.
Result<RankNeeds> needs_layer_by_layer(const ModelSpec& model, const FrameworkSpec& framework,
                                       const SamplePlan& samples);

}  // namespace distsim::workload
