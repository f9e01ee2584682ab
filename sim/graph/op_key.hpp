// OpKey: the fields of an op as numbers, so that ops that are alike are priced once. A deep model has dozens of layers
// of the same shape.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/graph/op.hpp"

namespace distsim::graph {
namespace key {

template <class Value>
inline constexpr bool kIsList = false;
template <class Item>
inline constexpr bool kIsList<std::vector<Item>> = true;

/// Counts the fields of a shape, and notices lists.
struct Census {
  std::size_t fields = 0;
  bool lists = false;
  template <class Value>
  constexpr void operator()(const Field&, const Value&) {
    ++fields;
    lists = lists || kIsList<Value>;
  }
};
template <class Shape>
constexpr Census census_of() {
  Census census;
  const Shape shape{};
  for_each_field(census, shape);
  return census;
}

template <class Shape>
inline constexpr bool kHasKey = !census_of<Shape>().lists;
template <std::size_t... I>
constexpr std::size_t most_fields(std::index_sequence<I...>) {
  return std::max({census_of<std::variant_alternative_t<I, Op>>().fields...});
}

inline std::int64_t word_of(double value) { return std::bit_cast<std::int64_t>(value); }
inline std::int64_t word_of(Duration value) { return value.ps(); }
template <class Value>
requires std::is_integral_v<Value> || std::is_enum_v<Value> std::int64_t word_of(Value value) {
  return static_cast<std::int64_t>(value);
}

}  // namespace key

/// The kind, then the fields in their order.
using OpKey = std::array<std::int64_t, 1 + key::most_fields(std::make_index_sequence<kOpKinds>())>;

struct OpKeyHash {
  std::size_t operator()(const OpKey& key) const {
    std::uint64_t h = 0xcbf29ce484222325ull;
    for (const std::int64_t field : key)
      h = (h ^ static_cast<std::uint64_t>(field)) * 0x9E3779B97F4A7C15ull, h ^= h >> 29;
    return h;
  }
};

/// Equal keys are equal ops. Nothing for shapes with lists, which are few and long.
inline std::optional<OpKey> key_of(const Op& op) {
  return std::visit(
      [&](const auto& shape) -> std::optional<OpKey> {
        if constexpr (!key::kHasKey<std::remove_cvref_t<decltype(shape)>>) {
          return std::nullopt;
        } else {
          OpKey words{static_cast<std::int64_t>(op.index())};
          std::size_t next = 1;
          for_each_field([&](const Field&, const auto& value) { words[next++] = key::word_of(value); }, shape);
          return words;
        }
      },
      op);
}

}  // namespace distsim::graph
