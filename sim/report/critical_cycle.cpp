#include "sim/report/critical_cycle.hpp"

#include <algorithm>
#include <utility>

#include "sim/report/groups.hpp"

namespace distsim::report {
namespace {

/// A recurrence, as engine::LoopPlayer shows a loop.
struct Rounds {
  const engine::Recurrence& r;
  std::uint16_t iterations;

  std::uint32_t steps_of_round() const { return static_cast<std::uint32_t>(r.program().steps.size() / iterations); }
  std::int64_t last_end(StepId s) const { return r.end(s).high; }
  std::int64_t end(StepId s, std::uint32_t rank) const { return r.end(s).at(rank); }
  std::int64_t start(StepId s, std::uint32_t rank) const { return r.start(s).at(rank); }
  std::int64_t ready(StepId s, std::uint32_t rank) const { return r.ready(s).at(rank); }
  StepId input_ending_at(StepId s, std::uint32_t rank, std::int64_t time) const {
    for (const StepId input : r.inputs(s))
      if (r.end(input).at(rank) == time) return input;
    return {};
  }
  const engine::Groups& group_of(StepId s) const { return r.program().groups[r.program().steps[s].group]; }
};

/// Walks from step to step, back in time.
template <class Played>
class BackwardWalk {
 public:
  BackwardWalk(const Played& played, const Window& window)
      : r_(played), window_(window), per_iteration_(played.steps_of_round()), met_(per_iteration_, kNever) {}

  Chain chain() {
    if (window_.period() <= 0) return {};
    walk();
    return closed_ ? cycle() : through_window();
  }

 private:
  static constexpr std::size_t kNever = ~std::size_t{0};

  /// Until the cycle closes, or nothing comes before.
  void walk() {
    for (PathStep at = end_of_window(); at.step.valid(); at = before(at)) {
      if (closes(at)) return;
      visited_.push_back(at);
    }
  }

  PathStep end_of_window() const {
    for (auto s = window_.last.rbegin(); s != window_.last.rend(); ++s) {
      if (r_.last_end(*s) != window_.end) continue;
      std::uint32_t rank = 0;
      while (r_.end(*s, rank) != window_.end) ++rank;
      return entered({*s, rank});
    }
    CHECK(false) << "no device step ends with the iteration";
    return {};
  }

  PathStep entered(PathStep at) const {
    at.begin = r_.start(at.step, at.rank);
    at.end = r_.end(at.step, at.rank);
    return at;
  }

  /// Whether the same step of the next iteration was met a period later.
  bool closes(const PathStep& at) {
    const std::uint32_t iteration = at.step.value() / per_iteration_;
    const std::size_t met = std::exchange(met_[at.step.value() % per_iteration_], visited_.size());
    if (met == kNever || visited_[met].rank != at.rank) return false;
    const PathStep& later = visited_[met];
    closed_ = later.step.value() / per_iteration_ == iteration + 1 && later.end - at.end == window_.period();
    first_ = met;
    return closed_;
  }

  PathStep before(const PathStep& at) const {
    const std::uint32_t rank = last_to_arrive(at);
    const std::int64_t ready = r_.ready(at.step, rank);
    if (const StepId input = r_.input_ending_at(at.step, rank, ready); input.valid()) return entered({input, rank});
    CHECK(ready == 0) << "step " << at.step.value() << " is ready when nothing ends";
    return {};
  }

  std::uint32_t last_to_arrive(const PathStep& at) const {
    if (r_.ready(at.step, at.rank) == at.begin) return at.rank;
    std::uint32_t found = engine::Step::kNoGroup;
    for_each_member(r_.group_of(at.step), at.rank, [&](std::uint32_t member) {
      if (r_.ready(at.step, member) == at.begin) found = std::min(found, member);
    });
    CHECK(found != engine::Step::kNoGroup) << "step " << at.step.value() << " starts before its last member is ready";
    return found;
  }

  /// From the later of the two equal steps back to the other, which is not part of it; turned so that it begins with the
  /// iteration.
  Chain cycle() const {
    Chain out{{visited_.begin() + static_cast<std::ptrdiff_t>(first_), visited_.end()}, true};
    std::ranges::reverse(out.steps);
    const std::uint32_t last = out.steps.back().step.value() / per_iteration_;
    const auto of_last =
        std::ranges::find_if(out.steps, [&](const PathStep& s) { return s.step.value() / per_iteration_ == last; });
    for (auto s = out.steps.begin(); s != of_last; ++s) {
      s->begin += window_.period();
      s->end += window_.period();
    }
    std::rotate(out.steps.begin(), of_last, out.steps.end());
    std::erase_if(out.steps, [](const PathStep& s) { return s.begin == s.end; });
    return out;
  }

  Chain through_window() const {
    Chain out;
    for (PathStep s : visited_) {
      s.begin = std::max(s.begin, window_.begin);
      if (s.end > s.begin) out.steps.push_back(s);
    }
    std::ranges::reverse(out.steps);
    return out;
  }

  const Played& r_;
  const Window& window_;
  const std::uint32_t per_iteration_;
  std::vector<PathStep> visited_;  ///< back in time
  std::vector<std::size_t> met_;   ///< by place in the iteration: its last visit
  std::size_t first_ = 0;
  bool closed_ = false;
};

}  // namespace

Chain critical_chain(const engine::Recurrence& recurrence, std::uint16_t iterations, const Window& window) {
  const Rounds rounds{recurrence, iterations};
  return BackwardWalk(rounds, window).chain();
}

Chain critical_chain(const engine::LoopPlayer& player, const Window& window) {
  return BackwardWalk(player, window).chain();
}

}  // namespace distsim::report
