#include "opmodels/learned/row_times.hpp"

#include <algorithm>
#include <cmath>

#include "base/check.hpp"

namespace distsim::opmodels {
namespace {

constexpr double kUnknown = -1;

/// Whole sizes that divide every octave into `parts`; more than once where there are not so many.
struct Grid {
  int parts, last;
  double size(int point) const {
    return std::ceil(std::ldexp(1 + static_cast<double>(point % parts) / parts, point / parts));
  }
  /// The last point of at most that size.
  int below(double given) const {
    int exponent = 0;
    const double mantissa = std::frexp(given, &exponent);  // in [0.5, 1)
    int point = parts * (exponent - 1) + static_cast<int>((2 * mantissa - 1) * parts);
    while (size(point + 1) <= given) ++point;
    return point;
  }
  int above(double given) const {
    const int point = below(given);
    return size(point) >= given ? point : point + 1;
  }
};
constexpr Grid kRows{4, 4 * 40}, kCols{2, 2 * 30};

std::size_t place_of(int row, int col) { return static_cast<std::size_t>(row * (kCols.last + 1) + col); }

}  // namespace

RowTimes::RowTimes() : times_(place_of(kRows.last, kCols.last) + 1), least_(times_.size()) {
  for (auto* table : {&times_, &least_}) {
    for (auto& place : *table) place.store(kUnknown, std::memory_order_relaxed);
  }
}

double RowTimes::time(int row, int col, const At& at) {
  std::atomic<double>& place = times_[place_of(row, col)];
  double value = place.load(std::memory_order_relaxed);
  if (value == kUnknown) place.store(value = at.learned(kRows.size(row), kCols.size(col)), std::memory_order_relaxed);
  return value;
}

double RowTimes::least_from(int row, int col, const At& at) {
  std::atomic<double>& place = least_[place_of(row, col)];
  double least = place.load(std::memory_order_relaxed);
  if (least != kUnknown) return least;
  least = time(row, col, at);
  const auto may_be_less = [&](int r, int c) {
    return kLeastRatio * at.analytic(kRows.size(r), kCols.size(c)) <= least;
  };
  for (int r = row; r <= kRows.last && may_be_less(r, col); ++r) {
    for (int c = col; c <= kCols.last && may_be_less(r, c); ++c) least = std::min(least, time(r, c, at));
  }
  place.store(least, std::memory_order_relaxed);
  return least;
}

double RowTimes::kept_growing(double rows, double cols, double seconds, const At& at) {
  if (!(rows >= 1 && cols >= 1)) return seconds;
  const int row = kRows.below(rows), col = kCols.below(cols);
  if (row >= kRows.last || col >= kCols.last) return seconds;
  const double most = least_from(kRows.above(rows), kCols.above(cols), at);
  return std::clamp(seconds, std::min(least_from(row, col, at), most), most);
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
