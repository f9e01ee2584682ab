// The value in the middle.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/check.hpp"

namespace distsim {

/// Of an even number of values, the upper one of the two in the middle. REQUIRES: at least one value.
template <class T>
T upper_median(std::vector<T> values) {
  CHECK(!values.empty());
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace distsim
