// Ops with their shapes: device time, achieved flops and bandwidth.
#pragma once

#include "sim/profile/profile.hpp"

namespace distsim::profile {

/// Device time of each op that launches work in [begin, end): of the kernels whose innermost op it is, or, where only
/// an op around it has a known amount of work (a convolution around its implementation), of that outer one. Longest
/// first.
std::vector<OpRate> op_rates(const traces::TraceJob& job, const traces::TraceRank& rank, std::int64_t begin,
                             std::int64_t end);

/// Each kernel of each op of op_rates, by layer and shapes. Kernels without an op have an empty one.
std::vector<KernelVariant> kernel_variants(const traces::TraceJob& job, const traces::TraceRank& rank,
                                           std::int64_t begin, std::int64_t end);

/// Variants of two parts of a trace as one.
std::vector<KernelVariant> merge_variants(std::vector<KernelVariant> a, const std::vector<KernelVariant>& b);

}  // namespace distsim::profile
