#include "sim/engine/irregular_evaluator.hpp"

#include <algorithm>
#include <string>

#include "sim/engine/mix.hpp"
#include "sim/engine/program_check.hpp"
#include "sim/engine/step_links.hpp"

namespace distsim {
namespace {

/// Pushes ends along the links until nothing moves.
class Propagation {
 public:
  Propagation(const IrregularProgram& program, const StepLinks& links)
      : p_(program), links_(links), times_(program.steps.size()), unmet_(program.steps.size()), latest_(program.meeting_sizes.size(), 0),
        missing_(program.meeting_sizes) {}

  void run() {
    const auto steps = static_cast<std::uint32_t>(p_.steps.size());
    for (std::uint32_t s = 0; s < steps; ++s) unmet_[s] = predecessors(s);
    for (std::uint32_t s = 0; s < steps; ++s) {
      if (predecessors(s) > 0) continue;
      arrive(s);
      drain();
    }
  }

  bool has_arrived(std::uint32_t step) const { return unmet_[step] == 0; }
  bool has_ended(std::uint32_t step) const {
    const std::uint32_t meeting = p_.steps[StepId(step)].meeting;
    return has_arrived(step) && (meeting == RankStep::kAlone || missing_[meeting] == 0);
  }
  bool all_ended() const { return ended_ == p_.steps.size(); }
  std::int64_t makespan() const { return makespan_; }
  IdVector<StepId, StepTimes>& times() { return times_; }

 private:
  std::uint32_t predecessors(std::uint32_t s) const {
    return p_.wait_offsets[s + 1] - p_.wait_offsets[s] + (links_.before[s] == StepLinks::kNone ? 0 : 1);
  }
  void drain() {
    while (!known_.empty()) {
      const std::uint32_t step = known_.back();
      known_.pop_back();
      const std::int64_t end = times_[StepId(step)].end;
      for (const std::uint32_t waiter : links_.waiters.of(step)) met(waiter, end);
      if (const std::uint32_t next = links_.after[step]; next != StepLinks::kNone) met(next, end);
    }
  }
  void met(std::uint32_t step, std::int64_t end) {
    StepTimes& times = times_[StepId(step)];
    times.ready = std::max(times.ready, end);
    if (--unmet_[step] == 0) arrive(step);
  }
  void arrive(std::uint32_t step) {
    const std::uint32_t meeting = p_.steps[StepId(step)].meeting;
    const std::int64_t ready = times_[StepId(step)].ready;
    if (meeting == RankStep::kAlone) return begin(step, ready);
    latest_[meeting] = std::max(latest_[meeting], ready);
    if (--missing_[meeting] > 0) return;
    for (const std::uint32_t member : links_.members.of(meeting)) begin(member, latest_[meeting]);
  }
  /// Ends stop growing at the limit, so that no sum overflows; the caller refuses the program.
  void begin(std::uint32_t step, std::int64_t start) {
    StepTimes& times = times_[StepId(step)];
    times.start = start;
    times.end = std::min(start + p_.steps[StepId(step)].duration, kTimeLimit);
    makespan_ = std::max(makespan_, times.end);
    ++ended_;
    known_.push_back(step);
  }

  const IrregularProgram& p_;
  const StepLinks& links_;
  IdVector<StepId, StepTimes> times_;
  std::vector<std::uint32_t> unmet_;    ///< by step: predecessors that have not ended
  std::vector<std::int64_t> latest_;    ///< by meeting: latest arrival so far
  std::vector<std::uint32_t> missing_;  ///< by meeting: members that have not arrived
  std::vector<std::uint32_t> known_;    ///< steps whose end is known and not yet passed on
  std::size_t ended_ = 0;
  std::int64_t makespan_ = 0;
};

/// A step that keeps `step` from ending: a predecessor that has not ended, or a member of its meeting that has not arrived.
std::uint32_t blocker_of(const IrregularProgram& p, const StepLinks& links, const Propagation& stuck, std::uint32_t step) {
  if (const std::uint32_t before = links.before[step]; before != StepLinks::kNone && !stuck.has_ended(before)) return before;
  for (const StepId wait : p.waits_of(StepId(step))) {
    if (!stuck.has_ended(wait.value())) return wait.value();
  }
  const auto members = links.members.of(p.steps[StepId(step)].meeting);
  const auto absent = std::find_if(members.begin(), members.end(), [&](std::uint32_t m) { return !stuck.has_arrived(m); });
  CHECK(absent != members.end()) << "step " << step << " is stuck without a reason";
  return *absent;
}

/// Follows blockers from any step that has not ended until one comes up again.
std::vector<StepId> cycle_of(const IrregularProgram& p, const StepLinks& links, const Propagation& stuck) {
  std::uint32_t step = 0;
  while (stuck.has_ended(step)) ++step;
  std::vector<StepId> path;
  std::vector<std::uint32_t> place(p.steps.size(), StepLinks::kNone);
  for (; place[step] == StepLinks::kNone; step = blocker_of(p, links, stuck, step)) {
    place[step] = static_cast<std::uint32_t>(path.size());
    path.push_back(StepId(step));
  }
  path.erase(path.begin(), path.begin() + place[step]);
  return path;
}

std::string describe(const IrregularProgram& p, StepId id) {
  const RankStep& step = p.steps[id];
  return "step " + std::to_string(id.value()) + " (rank " + std::to_string(step.rank.value()) + ", stream " +
         std::to_string(step.stream.value()) + ")";
}

Error deadlock(const IrregularProgram& p, const std::vector<StepId>& cycle) {
  constexpr std::size_t kMostNamed = 12;
  std::string text = "deadlock: ";
  for (std::size_t i = 0; i < std::min(cycle.size(), kMostNamed); ++i) text += describe(p, cycle[i]) + " waits for ";
  if (cycle.size() > kMostNamed) text += "... (" + std::to_string(cycle.size()) + " steps in all) ... ";
  return {text + describe(p, cycle.front()), "", "some rank posts its sends, receives or collectives in another order than its peers"};
}

std::uint64_t digest_of(const IdVector<StepId, StepTimes>& times) {
  std::uint64_t digest = mix(times.size());
  for (std::uint32_t s = 0; s < times.size(); ++s) digest += fingerprint_of(StepId(s), times[StepId(s)]);
  return digest;
}

}  // namespace

std::uint64_t fingerprint_of(StepId step, const StepTimes& t) {
  const auto bits = [](std::int64_t ps) { return static_cast<std::uint64_t>(ps); };
  return mix(mix(mix(mix(step.value()) ^ bits(t.ready)) ^ bits(t.start)) ^ bits(t.end));
}

std::vector<StepId> find_deadlock(const IrregularProgram& program) {
  const StepLinks links(program);
  Propagation propagation(program, links);
  propagation.run();
  return propagation.all_ended() ? std::vector<StepId>{} : cycle_of(program, links, propagation);
}

Result<IrregularTimeline> evaluate_irregular(const IrregularProgram& program) {
  TRY(validate(program));
  const StepLinks links(program);
  Propagation propagation(program, links);
  propagation.run();
  if (!propagation.all_ended()) return deadlock(program, cycle_of(program, links, propagation));
  if (propagation.makespan() >= kTimeLimit) {
    return Error{"program: found an end past the time limit, expected all before 2^62 ps (53 days)", "", ""};
  }
  IrregularTimeline timeline{std::move(propagation.times()), Duration::picoseconds(propagation.makespan())};
  timeline.digest = digest_of(timeline.steps);
  return timeline;
}

}  // namespace distsim
