// Lanes: the vectors that loops over ranks are written on. The compiler lowers eight lanes to whatever registers the
// variant's target has.
#pragma once

#include <cstddef>
#include <cstdint>

#define DISTSIM_ALWAYS_INLINE inline __attribute__((always_inline))

namespace distsim::engine {

inline constexpr std::size_t kLanes = 8;
using Lanes = std::int64_t __attribute__((vector_size(64)));
using UnsignedLanes = std::uint64_t __attribute__((vector_size(64)));

/// Lanes in a row, which begin at any number of it. A vector type of its own with less alignment would not do: clang
/// expects that of the plain vector behind every reference.
template <class L>
struct __attribute__((packed, aligned(8), may_alias)) InRow {
  L lanes;
};

DISTSIM_ALWAYS_INLINE const InRow<Lanes>& in_row(const std::int64_t* p) {
  return *reinterpret_cast<const InRow<Lanes>*>(p);
}
DISTSIM_ALWAYS_INLINE InRow<Lanes>& in_row(std::int64_t* p) { return *reinterpret_cast<InRow<Lanes>*>(p); }
DISTSIM_ALWAYS_INLINE const InRow<UnsignedLanes>& in_row(const std::uint64_t* p) {
  return *reinterpret_cast<const InRow<UnsignedLanes>*>(p);
}

}  // namespace distsim::engine
