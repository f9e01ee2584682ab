// How weight gradients are grouped for the all-reduce. Pure functions over sizes, in the order in which gradients
// become ready.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/workload/specs/framework_spec.hpp"

namespace distsim::workload {

/// A gradient, in order of readiness.
struct ReadyGradient {
  std::int64_t bytes = 0;
  double ready_seconds = 0;  ///< estimated time since the start of the backward pass; only fusion_buffer looks at it
};

/// Gradients [first, last) of that order are reduced together.
struct GradientBucket {
  std::uint32_t first = 0, last = 0;
  std::int64_t bytes = 0;
  bool operator==(const GradientBucket&) const = default;
};

/// PyTorch DDP: a gradient joins the open bucket, then the bucket closes if it holds at least its limit. The first
/// bucket's limit is `first_limit`, the others' `limit`. After the first iteration DDP rebuilds its buckets in the
/// order in which gradients became ready, the reverse of registration for a network that runs its layers in that order.
/// Source: torch/csrc/distributed/c10d/reducer.cpp, compute_bucket_assignment_by_size and rebuild_buckets.
std::vector<GradientBucket> ddp_buckets(std::span<const ReadyGradient> gradients, std::int64_t first_limit,
                                        std::int64_t limit);

/// Horovod: a thread wakes every `cycle` seconds and fuses what has become ready, up to `buffer` bytes per message; a
/// gradient larger than the buffer is reduced by itself. Where the cycles begin is random, so that the first message goes
/// half a cycle after its first gradient on average, and the others a cycle after each other. None goes before its cycle
/// has ended: the first gradient that is ready then closes it. (A message that went with the last gradient before would
/// go earlier the longer the pass takes, and a larger batch would be faster.)
std::vector<GradientBucket> fusion_buckets(std::span<const ReadyGradient> gradients, std::int64_t buffer, double cycle);

/// By the framework's rule.
std::vector<GradientBucket> gradient_buckets(std::span<const ReadyGradient> gradients, const FrameworkSpec& framework);

}  // namespace distsim::workload
