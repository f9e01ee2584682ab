// RankSweep: where one rank's iteration goes. Folds its device steps into the window, then sweeps it once.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/report/report.hpp"
#include "sim/report/steady_state.hpp"

namespace distsim {

/// Part of a step inside the window.
struct Piece {
  std::int64_t begin = 0, end = 0;
  std::int64_t launched = 0;   ///< when the host had launched the step, shifted as the piece was
  std::uint32_t index = 0;     ///< of the step in SteadyState::steps
};

/// Appends `piece`, shifted by whole periods into the window and cut at its edges (see "folding" in report.hpp). It must end before the window does.
void fold_into_window(const SteadyState& state, Piece piece, std::vector<Piece>& out);

class RankSweep {
 public:
  explicit RankSweep(const SteadyState& state) : state_(state), exposed_(state.steps.size(), 0) {}

  RankTime sweep(std::uint32_t rank);

  /// After a sweep: exposed time of each step of SteadyState::steps. Where several collectives are exposed at once, the time is charged to the one that
  /// was ready first, so that these sum to RankTime::exposed_comm.
  const std::vector<std::int64_t>& exposed_of_step() const { return exposed_; }
  /// After a sweep: pieces in order of begin. comm runs from ready (arrived) to end; transfer from start to end.
  const std::vector<Piece>& compute() const { return compute_; }
  const std::vector<Piece>& comm() const { return comm_; }
  const std::vector<Piece>& transfer() const { return transfer_; }

 private:
  void collect(std::uint32_t rank);
  std::int64_t launched(const DeviceStep& d, std::uint32_t rank) const;
  std::int64_t charge_exposed(RankTime& out);
  std::int64_t host_bound_time() const;

  const SteadyState& state_;
  std::vector<Piece> compute_, comm_, transfer_;
  std::vector<Piece> busy_, moving_;  ///< unions of compute and of transfer, disjoint
  std::vector<Piece> gaps_;           ///< neither compute nor comm
  std::vector<std::int64_t> exposed_;
};

}  // namespace distsim
