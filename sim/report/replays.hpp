// Replays: the played program with other durations, to see what a cost has to do with the period. Ranks of one role are
// played once (sim/engine/program/roles.hpp), so a replay costs about as much for ten ranks as for ten thousand.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sim/engine/program/roles.hpp"
#include "sim/engine/rows/recurrence.hpp"
#include "sim/report/critical_cycle.hpp"
#include "sim/report/report.hpp"
#include "sim/report/steady_state.hpp"

namespace distsim::report {

class Replays {
 public:
  /// Plays the program as it is. `played` must outlive the object; every iteration has the same steps.
  explicit Replays(const Played& played);
  Replays(const Replays&) = delete;
  /// Of a valid program that no evaluator has played, so that there is no timeline: null where a time would reach the
  /// limit of the engine.
  static std::unique_ptr<Replays> unplayed(const Played& program);

  /// Plays with other durations: instead(step) is a std::optional<engine::Row>, nothing where a step takes what it did.
  /// False where a time would reach the limit of the engine.
  template <class Instead>
  bool play(Instead instead) {
    for (const StepId s : changed_) recurrence_.reset_duration(s);
    changed_.clear();
    rows_.clear();
    for (StepId s(0); s < program_.steps.end_id(); s = StepId(s.value() + 1)) {
      if (std::optional<engine::Row> row = instead(s)) set(s, std::move(*row));
    }
    return recurrence_.play();
  }
  /// Plays the program as it is again.
  void restore();

  // Of the last play.
  SteadyState state() const { return steady_state(played_, recurrence_); }
  Window window() const;
  std::int64_t period() const { return window().period(); }
  Chain chain() const { return critical_chain(recurrence_, played_.iterations, window()); }
  bool is_settled() const { return report::is_settled(played_, recurrence_); }

  const Played& played() const { return played_; }
  const engine::Roles& roles() const { return roles_; }
  /// Duration of a step by role, as it was played.
  const engine::Row& duration(StepId step) const { return program_.steps[step].duration; }
  /// Of the program as it was played, of an iteration.
  Busy busy() const;
  /// Steps of an iteration: 0 .. steps() - 1 are those of the first. Contention may have given the same step another
  /// duration in each.
  std::uint32_t steps() const { return steps_; }
  /// The same step of the first iteration.
  StepId in_first(StepId step) const { return StepId(step.value() % steps_); }

 private:
  struct Unplayed {};
  Replays(const Played& played, Unplayed);
  bool play_as_it_is();
  void set(StepId step, engine::Row row);

  const Played& played_;
  const std::uint32_t steps_;
  const engine::Roles roles_;
  const std::optional<engine::Program> of_roles_;  ///< where ranks differ
  const engine::Program& program_;                 ///< that is played
  engine::Recurrence recurrence_;
  const std::vector<StepId> last_, last_before_;
  const engine::Row nothing_;
  std::vector<StepId> changed_;
  std::deque<engine::Row> rows_;  ///< of changed steps that take some time
};

}  // namespace distsim::report
