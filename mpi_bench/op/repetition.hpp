// How often an op is repeated: until the median is known well enough, or the patience for one shape is spent.
#pragma once

#include <functional>
#include <vector>

#include "base/result.hpp"
#include "mpi_bench/common/stats.hpp"

namespace distsim::bench {

struct RepetitionLimits {
  double relative_error = 0.01;  ///< of the median, see relative_error_of_median
  int min_repetitions = 10, max_repetitions = 1000;
  double max_seconds = 2;  ///< of measured time, for one shape
};

struct Repetitions {
  Summary seconds;  ///< per launch
  double relative_error = 0;
  bool reached = false;  ///< the stated relative error was met
};

/// Calls `sample` (seconds per launch; each call stands for `launches` of them) until the limits say enough. The error
/// is looked at after every tenth sample, so that it does not stop at the first lucky moment.
Result<Repetitions> repeat(const RepetitionLimits& limits, int launches, const std::function<Result<double>()>& sample);

}  // namespace distsim::bench
