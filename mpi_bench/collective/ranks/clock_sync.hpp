// One clock for all ranks: how far each rank's steady clock is ahead of rank 0's.
#pragma once

#include "mpi_bench/collective/ranks/ranks.hpp"

namespace distsim::bench {

struct ClockOffset {
  double ahead_s = 0;        ///< this rank's clock less rank 0's
  double uncertainty_s = 0;  ///< half of the shortest round trip that it was read from
};

/// Round trips between rank 0 and each rank; the shortest one counts, with rank 0's time taken to be in its middle
/// (Cristian's algorithm). All processes together; takes `rounds` round trips a rank.
ClockOffset synchronise_clock(const ProcessRanks& ranks, int rounds = 20);

/// Seconds of this machine's steady clock.
double steady_seconds();

}  // namespace distsim::bench
