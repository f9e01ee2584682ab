// Field: what one member of an op's shape is, said once. Each shape lists its members in one function
//
//   template <class Visit, class... Self>
//   static constexpr void fields(Visit&& visit, Self&... op) {
//     visit(field::size("rows"), op.rows...);
//     visit(field::setting("dtype"), op.dtype...);
//   }
//
// and from it come its line for people (describe), the rows of a shapes file, what a price refuses, the key under which
// a price is remembered and its place among measured ops.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

#include "base/check.hpp"

namespace distsim::graph {

enum class Role : std::uint8_t {
  size,     ///< how much there is to do: at least 1 unless `least` says otherwise; a price never falls as it grows
  part,     ///< a size of a part that need not be there: 0 means that it is not
  setting,  ///< how it is done: ops with different settings are not compared with each other
  note,     ///< changes no price by itself
};

/// How describe() shows a number.
enum class Show : std::uint8_t {
  usual,  ///< sizes as in "64x56x56", settings as "dilation 2" unless they have their default
  chain,  ///< as one more factor of "64x56x56"
  count,  ///< "4 of " before the rest, unless it is 1
  never,
};

struct Field {
  std::string_view name;
  Role role;
  Show show = Show::usual;
  std::string_view column = name;   ///< of a shapes file
  std::string_view label = {};      ///< written before a number, always; for a flag: what it means when it is set
  std::string_view otherwise = {};  ///< written where a flag is not set or a part is not there
  std::string_view unit = {};       ///< written after a number: "B"
  std::string_view thing = {};      ///< what is counted, in the singular: "tensor"
  bool added = false;               ///< came later: says nothing, and tells no measured ops apart, at its default
  bool bounded = false;             ///< a price refuses numbers outside of least .. most
  double least = 1, most = std::numeric_limits<double>::infinity();

  template <class Change>
  constexpr Field with(Change change) const {
    Field changed = *this;
    change(changed);
    return changed;
  }
  constexpr Field in_column(std::string_view text) const {
    return with([&](Field& f) { f.column = text; });
  }
  constexpr Field labelled(std::string_view text, std::string_view without = {}) const {
    return with([&](Field& f) { f.label = text, f.otherwise = without; });
  }
  constexpr Field in_units(std::string_view text) const {
    return with([&](Field& f) { f.unit = text; });
  }
  constexpr Field counting(std::string_view text) const {
    return with([&](Field& f) { f.thing = text; });
  }
  constexpr Field shown(Show how) const {
    return with([&](Field& f) { f.show = how; });
  }
  constexpr Field later() const {
    return with([&](Field& f) { f.added = true; });
  }
  constexpr Field within(double low, double high) const {
    return with([&](Field& f) { f.bounded = true, f.least = low, f.most = high; });
  }
};

namespace field {
constexpr Field of(std::string_view name, Role role) {
  Field f{name, role};
  f.bounded = role == Role::size;
  return f;
}
constexpr Field size(std::string_view name) { return of(name, Role::size); }
constexpr Field part(std::string_view name) { return of(name, Role::part); }
constexpr Field setting(std::string_view name) { return of(name, Role::setting); }
constexpr Field note(std::string_view name) { return of(name, Role::note); }
}  // namespace field

/// What kind of work an op is: who prices it, and what its time may be multiplied by.
enum class Work : std::uint8_t {
  none,        ///< nothing to do
  kernel,      ///< kernels whose time an op model predicts
  copy,        ///< a copy engine's
  collective,  ///< several ranks', priced by the collective models
  given,       ///< kernels whose time is given
  host,        ///< the host's, whose time is given
};

/// Names of an enum's values, in their order. Every enum of a shape has them.
template <class Enum>
inline constexpr std::array<std::string_view, 0> kNames{};

template <class Enum>
concept Named = std::is_enum_v<Enum> &&(kNames<Enum>.size() > 0);

template <Named Enum>
std::string_view name_of(Enum value) {
  const auto index = static_cast<std::size_t>(value);
  CHECK(index < kNames<Enum>.size()) << "no name for value " << index;
  return kNames<Enum>[index];
}

/// Calls visit(const Field&, member) for every field of a shape, in order; of several shapes of one kind with the
/// members of all of them.
template <class Visit, class First, class... Rest>
constexpr void for_each_field(Visit&& visit, First& first, Rest&... rest) {
  std::remove_const_t<First>::fields(visit, first, rest...);
}

}  // namespace distsim::graph
