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

/// Of an even number of values the mean of the two in the middle. REQUIRES: at least one value.
template <class T>
T median(std::vector<T> values) {
  CHECK(!values.empty());
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  const T below = *std::max_element(values.begin(), middle);
  return below + (*middle - below) / 2;
}

}  // namespace distsim
