#include "opmodels/learned/size_envelope.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.hpp"
#include "opmodels/learned/learned_models.hpp"

namespace distsim::opmodels {
namespace {

constexpr int kRowSteps = 48, kColSteps = 34, kElementSteps = 48;  // 2^24, 2^17, 2^24

int point_above(double size) {
  const int below = half_octave_below(size);
  return half_octave(below) >= size ? below : below + 1;
}

std::size_t cell(int row, int col) { return static_cast<std::size_t>(row * (kColSteps + 1) + col); }

}  // namespace

SizeEnvelope::SizeEnvelope(const Time& time)
    : least_(static_cast<std::size_t>((kRowSteps + 1) * (kColSteps + 1)), std::numeric_limits<double>::infinity()) {
  for (int row = kRowSteps; row >= 0; --row) {
    for (int col = std::min(kColSteps, kElementSteps - row); col >= 0; --col) {
      double least = time(half_octave(row), half_octave(col));
      if (row < kRowSteps) least = std::min(least, least_[cell(row + 1, col)]);
      if (col < kColSteps) least = std::min(least, least_[cell(row, col + 1)]);
      least_[cell(row, col)] = least;
    }
  }
}

double SizeEnvelope::bound(double rows, double cols, double seconds) const {
  const int row = point_above(rows), col = point_above(cols);
  if (row > kRowSteps || col > kColSteps || row + col > kElementSteps) return seconds;
  const double above = kLargestFall * least_[cell(row, col)],
               below = least_[cell(half_octave_below(rows), half_octave_below(cols))];
  return std::clamp(seconds, below, above);
}

const SizeEnvelope& RowEnvelopes::of(RowKernel kernel, bool backward, double element_bytes,
                                     const SizeEnvelope::Time& time) {
  const auto width = static_cast<std::size_t>(std::ilogb(element_bytes));
  const auto kind = static_cast<std::size_t>(kernel);
  CHECK(kind < kRowKernels && width < kWidths) << kind << ", " << element_bytes << " bytes";
  Slot& slot = slots_[(kind * kPasses + (backward ? 1 : 0)) * kWidths + width];
  const std::lock_guard lock(slot.mutex);
  if (!slot.envelope) slot.envelope = std::make_unique<const SizeEnvelope>(time);
  return *slot.envelope;
}

}  // namespace distsim::opmodels
