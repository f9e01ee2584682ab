// SizeEnvelope: the least that a row kernel costs at a size or any larger one, so that a larger tensor is not cheaper.
//
// Trees know measured sizes by heart, and small norms were mostly measured behind the host's launch, where the kernel
// itself does not show: their times jump. On a grid of half octaves of rows and columns (1, 2, 3, 4, 6, 8, 12, ...)
//   E(r, c) = min of t(r', c') over r' >= r, c' >= c      grows with both
//   t       <= 1.1 E at the next grid point above,  t >= E at the one below
// so that from one grid point to any larger one the time falls by at most a tenth; between grid points it may fall by
// more, within a cell. Validity: rows and elements up to 2^24, columns up to 2^17. Kernels beyond run long enough to
// have been measured well; they are left as they are. Units: seconds.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "opmodels/learned/learned_kernels.hpp"
#include "opmodels/learned/size_times.hpp"

namespace distsim::opmodels {

class SizeEnvelope {
 public:
  /// Times the analytic time from which the learned one is worth a look: falls start there.
  static constexpr double kSuspect = 1.1;
  using Time = std::function<double(double rows, double cols)>;

  /// Asks for the time of every grid point once, about a thousand.
  explicit SizeEnvelope(const Time& time);

  /// `seconds` of rows x cols within its bounds; as it is outside of the grid.
  /// Precondition: rows and columns are at least 1.
  double bound(double rows, double cols, double seconds) const;

 private:
  std::vector<double> least_;  ///< E, row by row
};

/// The envelopes of one device's row kernels, each built when it is first asked for. Safe to share between threads.
class RowEnvelopes {
 public:
  /// Element bytes up to 8. `time` must be that kernel's.
  const SizeEnvelope& of(RowKernel kernel, bool backward, double element_bytes, const SizeEnvelope::Time& time);

 private:
  struct Slot {
    std::mutex mutex;  // not std::call_once, which glibc ends the program in where memory runs out
    std::unique_ptr<const SizeEnvelope> envelope;
  };
  static constexpr std::size_t kPasses = 2, kWidths = 4;  // element bytes 1, 2, 4, 8
  std::array<Slot, kRowKernels * kPasses * kWidths> slots_;
};

}  // namespace distsim::opmodels
