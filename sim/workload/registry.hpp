// The model families that distsim can build, for `distsim list models` and build_workload.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "sim/workload/family.hpp"

namespace distsim::workload {

std::span<const ModelFamily* const> model_families();

/// By the name in `kind:`; null where there is none.
const ModelFamily* find_family(std::string_view name);

/// The samples of an iteration over all ranks, as the model states them: globally, or per GPU. 0 where it states none.
std::int64_t samples_of(const ModelSpec& model, std::uint32_t ranks);

/// The same model without accumulation where the layout decides the micro-steps of its batch; nothing where it is heeded, or 1.
std::optional<ModelSpec> without_idle_accumulation(const ModelSpec& model, const FrameworkSpec& framework,
                                                   std::uint32_t ranks);

/// Errors: as build_workload, but for memory. Precondition: the model's family says what ranks need.
Result<RankNeeds> needs_of(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& shape);

/// How the vectors of a model's tables are exchanged on `ranks` ranks: as the framework does it, but `rdma` only with
/// its hybrid embedding.
EmbeddingExchange embedding_exchange(const ModelSpec& model, const FrameworkSpec& framework, std::uint32_t ranks);

}  // namespace distsim::workload
