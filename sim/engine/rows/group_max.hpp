// Group maximum: when the last member of each group arrives.
#pragma once

#include "sim/engine/program/program.hpp"
#include "sim/engine/rows/row_kernels.hpp"

namespace distsim::engine {

/// out[r] = maximum of in over the group of rank r. Valid groups, `ranks` numbers each; `out` is not `in`.
/// Strided groups are reduced in place of their numbers; no list of members is built.
void group_max(const RowKernels& kernels, const Groups& groups, std::uint32_t ranks, const std::int64_t* in,
               std::int64_t* out);

/// True where the groups are a single one of all ranks.
bool is_one_group(const Groups& groups, std::uint32_t ranks);

}  // namespace distsim::engine
