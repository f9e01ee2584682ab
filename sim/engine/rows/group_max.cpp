#include "sim/engine/rows/group_max.hpp"

#include <algorithm>

namespace distsim::engine {
namespace {

constexpr std::uint32_t kWideStride = 8;  // neighbours in rank order fill a vector from here on

/// One block of size * stride ranks, rows of `stride` neighbours: all groups of the block at once.
void wide_block(const RowKernels& kernels, const Groups& g, const std::int64_t* in, std::int64_t* out) {
  std::copy_n(in, g.stride, out);
  for (std::uint32_t i = 1; i < g.size; ++i) kernels.max(out, {out, 0}, {in + std::size_t{i} * g.stride, 0}, g.stride);
  for (std::uint32_t i = 1; i < g.size; ++i) std::copy_n(out, g.stride, out + std::size_t{i} * g.stride);
}

/// One group: `size` numbers, `stride` apart.
void narrow_group(const Groups& g, const std::int64_t* in, std::int64_t* out) {
  const std::size_t end = std::size_t{g.size} * g.stride;
  std::int64_t last = in[0];
  for (std::size_t i = g.stride; i < end; i += g.stride) last = std::max(last, in[i]);
  for (std::size_t i = 0; i < end; i += g.stride) out[i] = last;
}

void strided(const RowKernels& kernels, const Groups& g, std::uint32_t ranks, const std::int64_t* in,
             std::int64_t* out) {
  const std::size_t block = std::size_t{g.size} * g.stride;
  for (std::size_t first = 0; first < ranks; first += block) {
    if (g.stride >= kWideStride) {
      wide_block(kernels, g, in + first, out + first);
    } else {
      for (std::uint32_t j = 0; j < g.stride; ++j) narrow_group(g, in + first + j, out + first + j);
    }
  }
}

void listed(const Groups& g, const std::int64_t* in, std::int64_t* out) {
  for (std::size_t i = 0; i + 1 < g.offsets.size(); ++i) {
    const std::span members(g.members.data() + g.offsets[i], g.members.data() + g.offsets[i + 1]);
    std::int64_t last = 0;
    for (const std::uint32_t rank : members) last = std::max(last, in[rank]);
    for (const std::uint32_t rank : members) out[rank] = last;
  }
}

}  // namespace

void group_max(const RowKernels& kernels, const Groups& groups, std::uint32_t ranks, const std::int64_t* in,
               std::int64_t* out) {
  if (groups.listed()) return listed(groups, in, out);
  strided(kernels, groups, ranks, in, out);
}

bool is_one_group(const Groups& groups, std::uint32_t ranks) {
  return groups.listed() ? groups.offsets.size() == 2 : groups.size == ranks;
}

}  // namespace distsim::engine
