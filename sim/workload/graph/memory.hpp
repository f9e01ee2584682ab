// Memory that a rank needs, and the error when it does not have it.
#pragma once

#include <span>

#include "sim/workload/specs/numerics.hpp"
#include "sim/workload/workload.hpp"

namespace distsim::workload {

/// Optimizer state of a parameter in fp32, without its master weight.
std::int64_t state_bytes_per_parameter(graph::OptimizerKind kind);

/// Weights (fp32, and 16-bit copies in mixed precision), gradients, optimizer state, gradient buckets; of `parameters`
/// dense weights.
RankMemory dense_memory(std::int64_t parameters, graph::OptimizerKind optimizer, const Numerics& numerics,
                        std::uint32_t ranks);

/// "rank 3 needs 91.2 GB of 78.5 GB: embeddings 84.1 GB, ..."; nothing when every rank fits.
/// `each`: neighbouring ranks that have the same.
Result<void> check_memory(std::span<const RankMemory> memory, std::uint32_t ranks, Bytes per_gpu,
                          std::uint32_t each = 1);

/// The same for the memory of a workload; with `memory_check: false` what does not fit becomes an assumption of it.
Result<void> check_or_assume(Workload& workload, const ModelSpec& model, std::uint32_t ranks, Bytes per_gpu);

}  // namespace distsim::workload
