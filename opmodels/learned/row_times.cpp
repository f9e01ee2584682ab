#include "opmodels/learned/row_times.hpp"

#include <algorithm>
#include <cmath>

#include "base/check.hpp"
#include "opmodels/learned/size_times.hpp"

namespace distsim::opmodels {
namespace {

constexpr int kLastRow = 80, kLastCol = 60;  // 2^40, 2^30
constexpr double kUnknown = -1;

std::size_t place_of(int row, int col) { return static_cast<std::size_t>(row * (kLastCol + 1) + col); }

/// Where a size lies between two points, from 0 to below 1.
double share_above(double size, int below) {
  const double first = half_octave(below);
  return size == first ? 0 : (size - first) / (half_octave(below + 1) - first);
}

}  // namespace

RowTimes::RowTimes() : times_(place_of(kLastRow, kLastCol) + 1), least_(times_.size()) {
  for (auto* table : {&times_, &least_}) {
    for (auto& place : *table) place.store(kUnknown, std::memory_order_relaxed);
  }
}

double RowTimes::time(int row, int col, const At& at) {
  std::atomic<double>& place = times_[place_of(row, col)];
  double value = place.load(std::memory_order_relaxed);
  if (value == kUnknown) place.store(value = at.learned(half_octave(row), half_octave(col)), std::memory_order_relaxed);
  return value;
}

double RowTimes::least_from(int row, int col, const At& at) {
  std::atomic<double>& place = least_[place_of(row, col)];
  double least = place.load(std::memory_order_relaxed);
  if (least != kUnknown) return least;
  least = time(row, col, at);
  const auto may_be_less = [&](int r, int c) {
    return kLeastRatio * at.analytic(half_octave(r), half_octave(c)) <= least;
  };
  for (int r = row; r <= kLastRow && may_be_less(r, col); ++r) {
    for (int c = col; c <= kLastCol && may_be_less(r, c); ++c) least = std::min(least, time(r, c, at));
  }
  place.store(least, std::memory_order_relaxed);
  return least;
}

std::optional<double> RowTimes::seconds(double rows, double cols, const At& at) {
  if (!(rows >= 1 && cols >= 1)) return std::nullopt;
  const int row = half_octave_below(rows), col = half_octave_below(cols);
  if (row >= kLastRow || col >= kLastCol) return std::nullopt;
  const double down = share_above(rows, row), across = share_above(cols, col);
  const auto between = [&](int r) {
    const double here = least_from(r, col, at);
    return across == 0 ? here : here + across * (least_from(r, col + 1, at) - here);
  };
  const double here = between(row);
  return down == 0 ? here : here + down * (between(row + 1) - here);
}

RowTimes& RowTables::of(const Kind& kind) {
  const auto width = static_cast<std::size_t>(std::ilogb(kind.element_bytes));
  const auto kernel = static_cast<std::size_t>(kind.kernel);
  CHECK(kernel < kRowKernels && width < kWidths) << kernel << ", " << kind.element_bytes << " bytes";
  Slot& slot = slots_[((kernel * 2 + (kind.backward ? 1 : 0)) * 2 + (kind.warm ? 1 : 0)) * kWidths + width];
  const std::lock_guard lock(slot.mutex);
  if (!slot.times) slot.times = std::make_unique<RowTimes>();
  return *slot.times;
}

}  // namespace distsim::opmodels
