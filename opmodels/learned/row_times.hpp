// RowTimes: keeps the times of one row kernel on one GPU such that more rows or columns do not make it cheaper.
//
// Trees know measured sizes by heart and step between them, and small norms were mostly measured behind the host's launch,
// where the kernel itself does not show: their times jump. On a grid of quarter octaves of rows (1, 2, 3, 4, 5, 6, 7, 8, 10,
// ...), of which GPUs run one wave after another, and half octaves of columns (1, 2, 3, 4, 6, 8, ...)
//   E(r, c) = min of t(r', c') over r' >= r, c' >= c      grows with both
//   E at the grid point below  <=  time  <=  E at the one above
// so that nothing past the next grid point is cheaper, and a size on the grid is never dearer than a larger one; where
// neither rows nor columns are on it, the time may still fall a little as only one of them grows. Larger points are looked
// at as long as `kLeastRatio` of their analytic time is below what was found. Validity: rows up to 2^40, columns up to 2^30;
// beyond, times are left as they are. Units: seconds.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "opmodels/learned/learned_kernels.hpp"

namespace distsim::opmodels {

/// Safe to share between threads: two may work out the same figure.
class RowTimes {
 public:
  /// Of a learned time over the analytic one; as good as never below.
  static constexpr double kLeastRatio = 0.4;
  /// Of one kernel at a size. Both must be the same at every call.
  struct At {
    std::function<double(double rows, double cols)> learned, analytic;
  };

  RowTimes();
  /// `seconds` of rows x cols, within its bounds.
  double kept_growing(double rows, double cols, double seconds, const At& at);

 private:
  double time(int row, int col, const At& at);
  double least_from(int row, int col, const At& at);

  std::vector<std::atomic<double>> times_, least_;  ///< t and E, row by row
};

/// Those of one device, each made when it is first asked for. Safe to share between threads.
class RowTables {
 public:
  struct Kind {
    RowKernel kernel = RowKernel::layer_norm;
    bool backward = false, warm = false;
    double element_bytes = 0;  ///< up to 8
  };
  RowTimes& of(const Kind& kind);

 private:
  struct Slot {
    std::mutex mutex;  // not std::call_once, which glibc ends the program in where memory runs out
    std::unique_ptr<RowTimes> times;
  };
  static constexpr std::size_t kWidths = 4;  // element bytes 1, 2, 4, 8
  std::array<Slot, kRowKernels * 2 * 2 * kWidths> slots_;
};

}  // namespace distsim::opmodels
