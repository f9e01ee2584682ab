// RankSweep: where one rank's iteration goes. Folds its device steps into the window, then sweeps it.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/report/report.hpp"
#include "sim/report/steady_state.hpp"

namespace distsim::report {

/// Part of a step (or of several that follow each other) inside the window.
struct Piece {
  std::int64_t begin = 0, end = 0;
  std::int64_t launched = 0;  ///< when the host had launched the step, shifted as the piece was
  std::uint32_t index = 0;    ///< of the step in SteadyState::steps
};

/// Appends `piece`, shifted by whole periods into the window and cut at its edges (see "folding" in report.hpp). It
/// must end before the window does.
void fold_into_window(const SteadyState& state, Piece piece, std::vector<Piece>& out);

/// Sums over ranks, wide enough for 10^6 s on 4 x 10^9 ranks.
using WideTime = __int128;

/// What the ranks spent in one step, summed over them.
struct StepSums {
  WideTime time = 0;     ///< start to end
  WideTime waiting = 0;  ///< of a collective: ready to start, without compute. Where several wait at once, the time is
                         ///< charged to the first to be ready
};

class RankSweep {
 public:
  explicit RankSweep(const SteadyState& state) : state_(state), sums_(state.steps.size()) {}

  /// Fills in comm and hidden_comm of `rank`, which represents `count` ranks with equal times, and adds to the steps'
  /// times.
  void transfers(std::uint32_t rank, std::uint32_t count, RankTime& out);

  /// Splits the window into compute, waiting, host_bound and idle, and adds to the steps' waiting times.
  void split(std::uint32_t rank, std::uint32_t count, RankTime& out);

  /// Over all sweeps so far, for each step of SteadyState::steps. The waiting times sum to those of the ranks.
  const std::vector<StepSums>& sums() const { return sums_; }

 private:
  void collect_compute(std::uint32_t rank);
  void collect_preparing(std::uint32_t rank);
  void add_compute(const DeviceStep& step, std::uint32_t rank, std::int64_t start, std::int64_t end,
                   std::uint32_t index);
  std::int64_t launched(const DeviceStep& step, std::uint32_t rank) const;
  std::int64_t charge_waiting(std::uint32_t count);
  std::int64_t host_bound_time();

  const SteadyState& state_;
  std::vector<StepSums> sums_;
  // Of the rank at hand, sorted by begin. Kept to save allocations.
  std::vector<Piece> compute_;    ///< steps that follow each other without a gap are one piece
  std::vector<Piece> comm_;       ///< of collectives: their transfers, or their waiting
  std::vector<Piece> busy_;       ///< union of compute, disjoint
  std::vector<Piece> preparing_;  ///< union of what the host prepares for a stream, disjoint
  std::vector<Piece> moving_;     ///< union of transfers, disjoint
  std::vector<Piece> gaps_;       ///< what charge_waiting() left: neither compute nor waiting
};

}  // namespace distsim::report
