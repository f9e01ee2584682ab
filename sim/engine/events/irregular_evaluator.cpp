#include "sim/engine/events/irregular_evaluator.hpp"

#include <string>

#include "base/threads/stop.hpp"
#include "sim/engine/program/dependencies.hpp"
#include "sim/engine/program/program_check.hpp"
#include "sim/engine/timeline/mix.hpp"

namespace distsim::engine {
namespace {

/// Ends are known as soon as starts are, so steps need not be visited in order of time: a stack will do.
class Propagation {
 public:
  Propagation(const IrregularProgram& program, const StepLinks& links) : p_(program), dependencies_(program, links) {}

  void run() {
    const auto begin = [this](std::span<const std::uint32_t> steps, std::int64_t) {
      known_.insert(known_.end(), steps.begin(), steps.end());
    };
    dependencies_.begin_sources(begin);
    while (!known_.empty()) {
      end_if_stopped();
      const StepId step(known_.back());
      known_.pop_back();
      const std::int64_t end = end_of(step);
      latest_ = std::max(latest_, end);
      dependencies_.end(step.value(), end, begin);
    }
  }

  Dependencies& dependencies() { return dependencies_; }
  std::int64_t latest_end() const { return latest_; }

 private:
  /// Ends stop growing at the limit, so that no sum overflows; the caller refuses the program.
  std::int64_t end_of(StepId step) const {
    return std::min(dependencies_.times()[step].start + p_.steps[step].duration, kTimeLimit);
  }

  const IrregularProgram& p_;
  Dependencies dependencies_;
  std::vector<std::uint32_t> known_;  ///< steps that have begun and not been passed on
  std::int64_t latest_ = 0;
};

}  // namespace

std::uint64_t fingerprint_of(StepId step, const StepTimes& t) {
  const auto bits = [](std::int64_t ps) { return static_cast<std::uint64_t>(ps); };
  return mix(mix(mix(mix(step.value()) ^ bits(t.ready)) ^ bits(t.start)) ^ bits(t.end));
}

std::uint64_t fingerprint_of(const IdVector<StepId, StepTimes>& times) {
  std::uint64_t digest = mix(times.size());
  for (std::uint32_t s = 0; s < times.size(); ++s) digest += fingerprint_of(StepId(s), times[StepId(s)]);
  return digest;
}

std::vector<StepId> find_deadlock(const IrregularProgram& program) {
  const StepLinks links(program);
  Propagation propagation(program, links);
  propagation.run();
  return propagation.dependencies().all_ended() ? std::vector<StepId>{}
                                                : cycle_of(program, links, propagation.dependencies());
}

Result<IrregularTimeline> evaluate_irregular(const IrregularProgram& program) {
  TRY(validate(program));
  const StepLinks links(program);
  Propagation propagation(program, links);
  propagation.run();
  Dependencies& played = propagation.dependencies();
  if (!played.all_ended()) return deadlock_error(program, cycle_of(program, links, played));
  if (propagation.latest_end() >= kTimeLimit) {
    return Error{"program: found an end time beyond the limit, expected all before 2^62 ps (53 days)", "", ""};
  }
  IrregularTimeline timeline{std::move(played).take_times(), Duration::picoseconds(propagation.latest_end())};
  timeline.digest = fingerprint_of(timeline.steps);
  return timeline;
}

}  // namespace distsim::engine
