// Embedding lookups of a placement as ops, one for every distinct set of shards.
#pragma once

#include <span>
#include <vector>

#include "sim/workload/layers/layer.hpp"
#include "sim/workload/placement/placement.hpp"

namespace distsim::workload {

/// Lookups of `samples` samples in tables still to be named, with the types and the update of the framework.
graph::EmbeddingBag embedding_bag(const DlrmSpec& spec, std::int64_t samples, graph::Pass pass,
                                  const LayerContext& context);

/// Lookups of `samples` samples by the owner of each set (Absent for a rank without tables), forward or backward with
/// the sparse optimizer.
std::vector<graph::Op> embedding_ops(const DlrmSpec& spec, const Placement& placement, std::int64_t samples,
                                     graph::Pass pass, const LayerContext& context);

/// Lookups of the replicated tables for a rank's own samples; backward yields dense gradients, the dense optimizer
/// updates.
graph::Op replicated_embedding_op(const DlrmSpec& spec, const Placement& placement, std::int64_t samples,
                                  graph::Pass pass, const LayerContext& context);

/// An optimizer that visits every row reads and writes this many fp32 numbers a parameter: weight and state; 0: none is
/// visited.
std::int64_t swept_floats(const DlrmSpec& spec);

/// Type of pooled vectors on the wire.
graph::DType exchange_dtype(const DlrmSpec& spec, const Numerics& numerics);
inline constexpr std::int64_t kIndexBytes = 8;

/// What the host does for the lookups of the rank with most to launch.
graph::Dispatch embedding_dispatch(const FrameworkSpec& framework, std::span<const graph::Op> ops);

}  // namespace distsim::workload
