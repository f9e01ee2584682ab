// Where an op lies among measured ones: what must be equal (kind, dtype, pass, ...) as one number, and its sizes as a
// point in octaves. Both come from the roles of its fields (sim/graph/ops/field.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "sim/graph/op.hpp"

namespace distsim::opmodels {

struct OpPoint {
  static constexpr std::size_t kDims = 6;
  std::uint64_t group = 0;        ///< FNV-1a of the op's place in graph::Op and of its settings: see group_of
  std::array<float, kDims> at{};  ///< log2 of sizes; unused ones are 0
  bool operator==(const OpPoint&) const = default;
};

/// Nothing for ops that no table holds: given durations, collectives, several unlike embedding tables in one op.
std::optional<OpPoint> point_of(const graph::Op& op);

}  // namespace distsim::opmodels
