// Two orders of the same collectives of which some were lost.
#pragma once

#include <cstdint>
#include <vector>

namespace distsim::traces {

inline constexpr std::uint32_t kUnaligned = UINT32_MAX;

/// For every element of `b` that of `a` which it must be: the same in every longest common order of both, sizes compared (a
/// negative one is unknown and may be any). What more than one such order allows is kUnaligned. Time and memory of |a| x |b|.
std::vector<std::uint32_t> certain_alignment(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b);

}  // namespace distsim::traces
