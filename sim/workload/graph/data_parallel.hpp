// A data-parallel iteration: every rank holds the whole model, takes its share of the samples, and gradients are summed
// over all ranks.
#pragma once

#include <optional>

#include "sim/workload/family.hpp"
#include "sim/workload/layers/layer.hpp"

namespace distsim::workload {

/// Useful operations of a sample's forward pass, and of these what the backward pass computes again.
struct SampleFlops {
  double forward = 0, repeated = 0;
};

struct DataParallelModel {
  LayerFactory layers;  ///< forward order
  std::optional<SampleFlops>
      flops;  ///< where the model counts them otherwise than its kernels; nothing: those of the layers
  double input_bytes_per_sample = 0;
  std::int64_t kept_bytes = 0;       ///< of a GPU: weights that are not trained, and buffers
  std::int64_t kept_parameters = 0;  ///< of those weights
  Duration sampling_per_sample{};    ///< host time in which the model itself finds what a sample consists of
  bool sampling_overlaps = false;    ///< on other threads than the one that launches kernels
};

/// Layers with the same `block` are recomputed together in the backward pass where they have one (activation
/// checkpointing).
Result<Workload> build_data_parallel(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& shape,
                                     const SamplePlan& samples, const DataParallelModel& parts);

/// Of each of `ranks` GPUs that hold all layers.
RankMemory memory_of_layers(const std::vector<Layer>& layers, const ModelSpec& model, const FrameworkSpec& framework,
                            std::uint32_t ranks);

/// The context in which that iteration builds layers.
LayerContext layer_context(const ModelSpec& model, const FrameworkSpec& framework);

}  // namespace distsim::workload
