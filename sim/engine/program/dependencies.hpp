// Dependencies: which steps of an irregular program may start, as others end. Shared by the evaluators, which differ in
// when a step ends.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "sim/engine/events/irregular_evaluator.hpp"
#include "sim/engine/program/step_links.hpp"

namespace distsim::engine {

/// Records ready, start and end of every step, and calls `begin(steps, start)` for each step, or all members of a
/// meeting, that may start now.
class Dependencies {
 public:
  Dependencies(const IrregularProgram& valid, const StepLinks& links)
      : p_(valid),
        links_(links),
        times_(valid.steps.size()),
        unmet_(valid.steps.size()),
        latest_(valid.meeting_sizes.size(), 0),
        missing_(valid.meeting_sizes) {
    for (std::uint32_t s = 0; s < unmet_.size(); ++s) unmet_[s] = predecessors(s);
  }

  /// The steps that wait for nothing. Call once, before any step has ended.
  template <class Begin>
  void begin_sources(Begin&& begin) {
    for (std::uint32_t s = 0; s < unmet_.size(); ++s) {
      if (predecessors(s) == 0) arrive(s, begin);
    }
  }

  /// A step that has begun ends. Each step once, in any order that `begin` allows.
  template <class Begin>
  void end(std::uint32_t step, std::int64_t time, Begin&& begin) {
    times_[StepId(step)].end = time;
    ++ended_;
    for (const std::uint32_t waiter : links_.waiters.of(step)) met(waiter, time, begin);
    if (const std::uint32_t next = links_.after[step]; next != StepLinks::kNone) met(next, time, begin);
  }

  bool all_ended() const { return ended_ == unmet_.size(); }
  bool has_arrived(std::uint32_t step) const { return unmet_[step] == 0; }
  bool has_begun(std::uint32_t step) const {
    const std::uint32_t meeting = p_.steps[StepId(step)].meeting;
    return has_arrived(step) && (meeting == RankStep::kAlone || missing_[meeting] == 0);
  }
  const IdVector<StepId, StepTimes>& times() const { return times_; }
  IdVector<StepId, StepTimes> take_times() && { return std::move(times_); }

 private:
  std::uint32_t predecessors(std::uint32_t s) const {
    return p_.wait_offsets[s + 1] - p_.wait_offsets[s] + (links_.before[s] == StepLinks::kNone ? 0 : 1);
  }
  template <class Begin>
  void met(std::uint32_t step, std::int64_t time, Begin& begin) {
    StepTimes& times = times_[StepId(step)];
    times.ready = std::max(times.ready, time);
    if (--unmet_[step] == 0) arrive(step, begin);
  }
  template <class Begin>
  void arrive(std::uint32_t step, Begin& begin) {
    const std::uint32_t meeting = p_.steps[StepId(step)].meeting;
    const std::int64_t ready = times_[StepId(step)].ready;
    if (meeting == RankStep::kAlone) return start(std::span(&step, 1), ready, begin);
    latest_[meeting] = std::max(latest_[meeting], ready);
    if (--missing_[meeting] == 0) start(links_.members.of(meeting), latest_[meeting], begin);
  }
  template <class Begin>
  void start(std::span<const std::uint32_t> steps, std::int64_t time, Begin& begin) {
    for (const std::uint32_t step : steps) times_[StepId(step)].start = time;
    begin(steps, time);
  }

  const IrregularProgram& p_;
  const StepLinks& links_;
  IdVector<StepId, StepTimes> times_;
  std::vector<std::uint32_t> unmet_;    ///< by step: predecessors that have not ended
  std::vector<std::int64_t> latest_;    ///< by meeting: latest arrival so far
  std::vector<std::uint32_t> missing_;  ///< by meeting: members that have not arrived
  std::size_t ended_ = 0;
};

/// Of a run that came to a halt: steps that wait for each other in a circle (see find_deadlock).
std::vector<StepId> cycle_of(const IrregularProgram& program, const StepLinks& links, const Dependencies& halted);

/// The same as a message.
Error deadlock_error(const IrregularProgram& program, const std::vector<StepId>& cycle);

}  // namespace distsim::engine
