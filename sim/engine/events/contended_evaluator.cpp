#include "sim/engine/events/contended_evaluator.hpp"

#include <cmath>
#include <queue>
#include <string>
#include <tuple>

#include "base/threads/stop.hpp"
#include "sim/engine/events/activity.hpp"
#include "sim/engine/events/fair_share.hpp"
#include "sim/engine/program/check_text.hpp"
#include "sim/engine/program/dependencies.hpp"

namespace distsim::engine {
namespace {

struct Activity {
  std::vector<std::uint32_t> steps;  ///< in order of duration, the shortest first
  std::size_t ended = 0;             ///< of them
  WorkDone done;
  std::vector<FairShareProblem::Use>
      uses;                   ///< demands of all members, each divided by `peak`; empty where nothing is shared
  double peak = 0;            ///< largest demand: the rate at full speed
  std::uint32_t version = 0;  ///< events of older versions are void
};

/// Demands of all members, added up by resource.
void collect_demands(const Contention& contention, Activity& activity) {
  auto& uses = activity.uses;
  for (const std::uint32_t step : activity.steps) {
    for (std::uint32_t i = contention.demand_offsets[step]; i < contention.demand_offsets[step + 1]; ++i) {
      uses.push_back({contention.demands[i].resource, contention.demands[i].rate});
    }
  }
  std::stable_sort(uses.begin(), uses.end(), [](auto& a, auto& b) { return a.resource < b.resource; });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    if (kept > 0 && uses[kept - 1].resource == uses[i].resource)
      uses[kept - 1].coefficient += uses[i].coefficient;
    else
      uses[kept++] = uses[i];
  }
  uses.resize(kept);
  for (const auto& use : uses) activity.peak = std::max(activity.peak, use.coefficient);
  for (auto& use : uses) use.coefficient /= activity.peak;
}

/// A queue of moments at which a step ends, if no speed changes before. Ties go by the order in which activities began.
class EventLoop {
 public:
  EventLoop(const IrregularProgram& program, const Contention& contention, const StepLinks& links)
      : p_(program), contention_(contention), dependencies_(program, links) {
    problem_.capacities = contention.capacities;
  }

  void run() {
    dependencies_.begin_sources(begin_);
    for (share(); next_is_known() && now_ < kTimeLimit; share()) {
      end_if_stopped();
      play_moment();
    }
  }

  Dependencies& dependencies() { return dependencies_; }
  std::int64_t now() const { return now_; }

 private:
  using Event = std::tuple<std::int64_t, std::uint32_t, std::uint32_t>;  // time, activity, version

  void begin(std::span<const std::uint32_t> steps, std::int64_t start) {
    const auto id = static_cast<std::uint32_t>(activities_.size());
    activities_.push_back({{steps.begin(), steps.end()}, 0, WorkDone(start), {}, 0, 0});
    Activity& activity = activities_.back();
    std::stable_sort(activity.steps.begin(), activity.steps.end(),
                     [this](std::uint32_t a, std::uint32_t b) { return duration(a) < duration(b); });
    collect_demands(contention_, activity);
    if (!activity.uses.empty()) {
      sharing_.push_back(id);
      changed_ = true;
    }
    schedule(id);
  }

  /// Drops events that a change of speed has made void; true where one is left.
  bool next_is_known() {
    while (!events_.empty() && std::get<2>(events_.top()) != activities_[std::get<1>(events_.top())].version)
      events_.pop();
    return !events_.empty();
  }

  /// Everything that happens at the next moment, with what it sets off at once.
  void play_moment() {
    now_ = std::get<0>(events_.top());
    while (now_ < kTimeLimit && next_is_known() && std::get<0>(events_.top()) == now_) {
      const std::uint32_t id = std::get<1>(events_.top());
      events_.pop();
      end_steps(id);
    }
  }

  void end_steps(std::uint32_t id) {
    activities_[id].done.advance_to(now_);
    while (activities_[id].ended < activities_[id].steps.size()) {  // by index: `begin` may move the activities
      const std::uint32_t step = activities_[id].steps[activities_[id].ended];
      if (!activities_[id].done.reached(duration(step))) return schedule(id);
      ++activities_[id].ended;
      dependencies_.end(step, now_, begin_);
    }
    if (!activities_[id].uses.empty()) changed_ = true;
    activities_[id].steps = {};
  }

  void schedule(std::uint32_t id) {
    Activity& activity = activities_[id];
    events_.push({activity.done.when(duration(activity.steps[activity.ended])), id, activity.version});
  }

  /// Shares the resources anew if those who use them have changed.
  void share() {
    if (!std::exchange(changed_, false)) return;
    std::erase_if(sharing_, [this](std::uint32_t id) { return activities_[id].steps.empty(); });
    problem_.bounds.clear();
    problem_.uses.clear();
    problem_.use_offsets.assign(1, 0);
    for (const std::uint32_t id : sharing_) problem_.add_flow(activities_[id].peak, activities_[id].uses);
    const auto rates = max_min_rates(problem_);
    for (std::size_t i = 0; i < rates.size(); ++i)
      set_speed(sharing_[i], Speed(rates[i] / activities_[sharing_[i]].peak));
  }

  void set_speed(std::uint32_t id, Speed speed) {
    Activity& activity = activities_[id];
    if (activity.done.speed() == speed) return;
    activity.done.advance_to(now_);
    activity.done.set_speed(speed);
    ++activity.version;
    schedule(id);
  }

  std::int64_t duration(std::uint32_t step) const { return p_.steps[StepId(step)].duration; }

  struct Begin {
    EventLoop* loop;
    void operator()(std::span<const std::uint32_t> steps, std::int64_t start) const { loop->begin(steps, start); }
  };

  const IrregularProgram& p_;
  const Contention& contention_;
  Dependencies dependencies_;
  Begin begin_{this};
  std::vector<Activity> activities_;
  std::vector<std::uint32_t> sharing_;  ///< running activities that use resources, in the order in which they began
  bool changed_ = false;                ///< sharing_ is not what the speeds were computed for
  FairShareProblem problem_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::int64_t now_ = 0;
};

/// Far enough from the ends of double that sums and ratios stay inside.
bool is_sane(double x) { return x >= 1e-30 && x <= 1e30; }
constexpr const char* kSane = "a number from 1e-30 to 1e30";

Result<void> check_demands(const Contention& c) {
  for (std::size_t l = 0; l < c.capacities.size(); ++l) {
    if (!is_sane(c.capacities[l])) {
      return found("capacity of resource " + std::to_string(l), std::to_string(c.capacities[l]), kSane);
    }
  }
  for (std::size_t i = 0; i < c.demands.size(); ++i) {
    const auto name = [i] { return "demand " + std::to_string(i); };
    if (c.demands[i].resource >= c.capacities.size()) {
      return found(name() + ".resource", std::to_string(c.demands[i].resource),
                   "one of " + std::to_string(c.capacities.size()));
    }
    if (!is_sane(c.demands[i].rate)) return found(name() + ".rate", std::to_string(c.demands[i].rate), kSane);
  }
  return {};
}

}  // namespace

Result<void> validate(const IrregularProgram& program, const Contention& c) {
  TRY(validate(program));
  if (c.demand_offsets.size() != program.steps.size() + 1 || c.demand_offsets.front() != 0 ||
      c.demand_offsets.back() != c.demands.size() ||
      !std::is_sorted(c.demand_offsets.begin(), c.demand_offsets.end())) {
    return found("contention.demand_offsets", std::to_string(c.demand_offsets.size()) + " offsets",
                 std::to_string(program.steps.size() + 1) + " rising ones from 0 to the number of demands");
  }
  return check_demands(c);
}

Result<IrregularTimeline> evaluate_contended(const IrregularProgram& program, const Contention& contention) {
  TRY(validate(program, contention));
  const StepLinks links(program);
  EventLoop loop(program, contention, links);
  loop.run();
  if (loop.now() >= kTimeLimit) {
    return Error{"program: found an end time beyond the limit, expected all before 2^62 ps (53 days)", "", ""};
  }
  if (!loop.dependencies().all_ended()) return deadlock_error(program, cycle_of(program, links, loop.dependencies()));
  IrregularTimeline timeline{std::move(loop.dependencies()).take_times(), Duration::picoseconds(loop.now())};
  timeline.digest = fingerprint_of(timeline.steps);
  return timeline;
}

}  // namespace distsim::engine
