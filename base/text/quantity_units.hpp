// The units of each dimension: how they are written and what they are worth.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/quantity_text.hpp"

namespace distsim {

/// One unit = binary x 10^decimal of the SI unit. `binary` is a power of two (or an eighth, for bits), so that a
/// conversion rounds once.
struct Unit {
  std::string name;
  int decimal = 0;
  double binary = 1;
};

std::optional<Unit> find_unit(std::string_view text, Dimension dimension);

/// Canonical names in ascending size, for hints.
std::vector<std::string> unit_names(Dimension dimension);

/// "a rate with its unit, e.g. 25 GB/s": what messages expect.
std::string expected_quantity(Dimension dimension);

}  // namespace distsim
