// What limits an iteration: the resource with most time on the critical cycle, and what would limit it next.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/report/replays.hpp"
#include "sim/report/report.hpp"

namespace distsim::report {

/// Resource of a step on a rank, by its role and op; never waiting_for_rank.
Resource resource_of(const Played& played, StepId step, std::uint32_t rank);

class LimitFinder {
 public:
  explicit LimitFinder(Replays& replays);

  /// Of the last play, whose critical cycle is `chain`, without replays.
  Limits on(const Chain& chain) const;

  /// Plays without communication, and fills in what that says of the network.
  void play_silent(Limits& limits);

  /// Replays what is asked for, and decides. The silent replay came first; `iteration` is the period as played.
  void finish(Limits& limits, Duration iteration, Detail detail);

 private:
  bool play_without(Resource resource);
  void note(Limits& limits, Resource resource) const;
  Resource of(StepId step, std::uint32_t role) const;
  std::optional<Resource> of_all_ranks(StepId step) const;
  std::optional<engine::Row> without(StepId step, Resource resource) const;

  Replays& r_;
  std::vector<std::optional<Resource>> of_step_;  ///< of the first iteration; nothing where ranks differ
};

/// What a table shows of an iteration; the figures are those of the report.
struct Brief {
  Duration iteration;
  Limits limits;  ///< time on the cycle, and what limits: nothing of replays
};
/// Of the last play.
Brief brief_of(Replays& replays);

/// What a table shows of analyse() (report.hpp) with Detail::figures, to the picosecond, of a program that was played without a
/// timeline: no ops, no collectives, no critical path, no digest.
Report analyse_for_table(Replays& replays, ReportContext context);

/// By how much the period shrinks if `steps` (of any iteration) take no time: from 0 to the sum of their times, each on
/// the rank where it takes longest.
Duration saved_without(Replays& replays, const std::vector<StepId>& steps, std::int64_t period);

}  // namespace distsim::report
