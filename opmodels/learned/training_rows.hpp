// Measured rows as what the learned models are trained on: features, the analytic time, and what of the measurement is
// not that kernel.
//
// Output columns: kernel, gpu, op, pass, dtype, timing, held_back, hbm_GBps, floor_us, measured, launch, tail, other,
// seconds, then the kernel's features by name. Times are in microseconds.
//   held_back  1 for the shapes that no shipped model may see (is_held_back), else 0
//   hbm_GBps, floor_us   of the GPU: what the ratios among its features leave open
//   measured   = launch + max(other + ratio * seconds, tail); the model learns log(ratio)
// A row of several kernels of one kind (both gradients of a product) gives a line for each, all its times scaled by the
// kernel's analytic share. A row that states an SM clock clearly below that of the device's prices has the features and times
// of the device locked to it (models_at_clocks.hpp). Rows of other kernels, of devices that are not known, without a
// latency, that contradict themselves (row_statements.hpp), and faster than their GPU (possible_times.hpp) are left out.
#pragma once

#include <iosfwd>
#include <string>

#include "opmodels/csv/cost_csv.hpp"
#include "opmodels/learned/learned_kernels.hpp"

namespace distsim::opmodels {

struct TrainingCount {
  std::size_t rows = 0, kept = 0;
  std::size_t other_kernel = 0;  ///< left out: not of the kernel asked for
  std::size_t unpriced = 0;      ///< unreadable, without a time, contradictory, or of a GPU that is not known
  std::size_t impossible = 0;    ///< faster than the GPU allows
  std::size_t hidden = 0;        ///< no longer than the launch and the kernels that come with the op
  std::size_t too_long = 0;      ///< kept, with times far above the models' (kOpTimesTooLong)
  std::string first_too_long;    ///< the first of them, with its line
  std::size_t at_low_clock = 0;  ///< kept, as of a device that is locked to the SM clock that they state
  std::string first_low_clock;   ///< the first of them, with its line
  std::string first_problem;     ///< with its line, of the first row that is unpriced, impossible or hidden
  std::string unused;            ///< OpColumns::unused()
};

/// One shape of ten, by the FNV-1a hash of its text: no learned model that is shipped has seen it, so that errors on it
/// are honest.
bool is_held_back(std::string_view shape);

/// Streams. Errors: as cost_csv's, no latency_us column, no row that is kept; then nothing is written. Times far above
/// the models' in most rows that are kept: another unit is meant.
Result<TrainingCount> training_rows(std::istream& in, const std::string& name, std::ostream& out, LearnedKernel kernel,
                                    const DeviceLookup& lookup);

}  // namespace distsim::opmodels
