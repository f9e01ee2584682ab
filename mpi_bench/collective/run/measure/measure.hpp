// One row of the table: out-of-place and in-place, timed and then verified.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "mpi_bench/collective/backend/backend.hpp"
#include "mpi_bench/collective/options/options.hpp"
#include "mpi_bench/collective/output/table.hpp"
#include "mpi_bench/collective/ranks/clock_sync.hpp"
#include "mpi_bench/collective/ranks/ranks.hpp"
#include "mpi_bench/collective/ranks/team.hpp"
#include "mpi_bench/collective/run/watchdog.hpp"

namespace distsim::bench {

/// What is measured at every size of one sweep.
struct Sweep {
  const CollectiveCase* what = nullptr;
  DataType type = DataType::float32;
  RedOp op = RedOp::sum;
  int root = 0;
};

struct MeasuredRow {
  Row row;
  std::optional<std::string> fault;  ///< the first wrong element: rank, element, byte, values
  bool interrupted = false;          ///< in the middle: the row is not to be used
};

/// Everything that measuring needs to know of its surroundings.
struct Surroundings {
  const Ranks& ranks;
  const Team& team;
  const Options& options;
  Backend& backend;
  Watchdog& watchdog;
  ClockOffset clock;
  std::function<bool()> interrupted;
};

/// All ranks together, idle ones too. Timing as in nccl-tests: warm-up, barrier, calls without pause. Of each sample
/// the slowest rank counts in the statistics. With a relative error asked for, further rounds follow until the median
/// is known so well or the time is up. Then the buffers are filled afresh, the collective runs once more, and every
/// element is checked.
Result<MeasuredRow> measure_row(const Surroundings& s, const Sweep& sweep, std::uint64_t size_bytes);

/// Seconds of a call in a few short loops.
struct CallEstimate {
  double quickest_s = 0;  ///< of the quickest loop, which nothing interrupted: how long a call is
  double mean_s = 0;      ///< how long so many of them will take here
};
Result<CallEstimate> call_estimate(Backend& backend, const Call& call);

/// Calls to a sample, so that the overhead of a sample (reading the clock, a note) is below 1 % of it.
int calls_each_for(double seconds_a_call);

}  // namespace distsim::bench
