#include "sim/pipeline/contention/interference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "sim/engine/rows/row_evaluator.hpp"
#include "sim/report/steady_state.hpp"

namespace distsim::pipeline {
namespace {

struct Span {
  std::int64_t begin, end;
};

/// Sorted, disjoint union of `spans`.
void merge(std::vector<Span>& spans) {
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
  std::size_t kept = 0;
  for (const Span& s : spans) {
    if (kept > 0 && s.begin <= spans[kept - 1].end)
      spans[kept - 1].end = std::max(spans[kept - 1].end, s.end);
    else
      spans[kept++] = s;
  }
  spans.resize(kept);
}

/// Time that [begin, end] shares with the disjoint, sorted `spans`.
std::int64_t shared(const std::vector<Span>& spans, std::int64_t begin, std::int64_t end) {
  std::int64_t sum = 0;
  for (auto s =
           std::lower_bound(spans.begin(), spans.end(), begin, [](const Span&a, std::int64_t t) { return a.end <= t; });
       s != spans.end() && s->begin < end; ++s) {
    sum += std::min(end, s->end) - std::max(begin, s->begin);
  }
  return sum;
}

/// What the steps of one side lose to the other side, by class of ranks and step of `mine`.
class Losses {
 public:
  Losses(const report::SteadyState& state, const report::RankClasses& classes, std::vector<std::uint32_t> mine,
         const std::vector<std::uint32_t>& others, double cost)
      : classes_(classes), mine_(std::move(mine)), times_(classes.size() * mine_.size()) {
    std::vector<Span> spans;
    for (std::size_t c = 0; c < classes_.size() && cost > 0; ++c) {
      const std::uint32_t rank = classes_.first[c];
      spans.clear();
      for (const std::uint32_t i : others) {
        const report::DeviceStep& d = state.steps[i];
        if (d.end.at(rank) > d.start.at(rank)) spans.push_back({d.start.at(rank), d.end.at(rank)});
      }
      merge(spans);
      for (std::size_t k = 0; k < mine_.size() && !spans.empty(); ++k) {
        const report::DeviceStep& d = state.steps[mine_[k]];
        at(c, k) =
            static_cast<std::int64_t>(cost * static_cast<double>(shared(spans, d.start.at(rank), d.end.at(rank))));
      }
    }
  }

  /// A collective ends on all its ranks together: each loses what the one that loses most does. Groups of one step are
  /// not told apart.
  void lose_together(const report::SteadyState& state) {
    for (std::size_t k = 0; k < mine_.size(); ++k) {
      const report::DeviceStep& d = state.steps[mine_[k]];
      const auto takes_part = [&](std::size_t c) {
        return d.end.at(classes_.first[c]) > d.start.at(classes_.first[c]);
      };
      std::int64_t most = 0;
      for (std::size_t c = 0; c < classes_.size(); ++c) most = std::max(most, at(c, k));
      for (std::size_t c = 0; c < classes_.size(); ++c) at(c, k) = takes_part(c) ? most : 0;
    }
  }

  /// The most that a rank loses.
  Duration longest() const {
    std::int64_t longest = 0;
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      std::int64_t sum = 0;
      for (std::size_t k = 0; k < mine_.size(); ++k) sum += at(c, k);
      longest = std::max(longest, sum);
    }
    return Duration::picoseconds(longest);
  }

  /// The program with the losses added to the durations of every iteration's steps.
  Lowered added_to(Lowered lowered, const report::SteadyState& state, std::size_t tasks) const {
    if (longest() == Duration()) return lowered;
    constexpr std::uint32_t kNone = 0xFFFFFFFFu;
    IdVector<TaskId, std::uint32_t> mine_of(tasks, kNone);
    std::vector<engine::Row> slowed;
    for (std::uint32_t k = 0; k < mine_.size(); ++k) {
      const report::DeviceStep& d = state.steps[mine_[k]];
      mine_of[d.task] = k;
      slowed.push_back(with_loss(lowered.program.steps[d.step].duration, k));
    }
    for (std::uint32_t s = 0; s < lowered.program.steps.size(); ++s) {
      const report::StepOrigin& o = lowered.origins[StepId(s)];
      if (o.role == report::StepRole::device && mine_of[o.task] != kNone)
        lowered.program.steps[StepId(s)].duration = slowed[mine_of[o.task]];
    }
    return lowered;
  }

 private:
  engine::Row with_loss(const engine::Row& row, std::size_t k) const {
    bool same = true;
    for (std::size_t c = 1; c < classes_.size(); ++c) same = same && at(c, k) == at(0, k);
    if (same && at(0, k) == 0) return row;
    if (same && row.uniform()) return engine::Row(row.scalar() + at(0, k));
    const std::uint32_t each = row.uniform() || row.each() == classes_.each ? classes_.each : 1;
    std::vector<std::int64_t> values(ranks() / each);
    for (std::uint32_t i = 0; i < values.size(); ++i) values[i] = row.at(i * each) + at(classes_.of(i * each), k);
    return engine::Row(std::move(values), each);
  }
  std::int64_t& at(std::size_t c, std::size_t k) { return times_[c * mine_.size() + k]; }
  std::int64_t at(std::size_t c, std::size_t k) const { return times_[c * mine_.size() + k]; }
  std::uint32_t ranks() const {
    std::uint32_t sum = 0;
    for (const std::uint32_t n : classes_.count) sum += n;
    return sum;
  }

  const report::RankClasses& classes_;
  std::vector<std::uint32_t> mine_;  // indices into SteadyState::steps
  std::vector<std::int64_t> times_;
};

/// Steps of the last iteration that can slow each other, as indices into SteadyState::steps.
struct Sides {
  std::vector<std::uint32_t> kernels, transfers;
};
Sides sides_of(const report::SteadyState& state, const engine::Program& program) {
  Sides sides;
  for (std::uint32_t i = 0; i < state.steps.size(); ++i) {
    const report::DeviceStep& d = state.steps[i];
    if (d.collective)
      sides.transfers.push_back(i);
    else if (program.steps[d.step].stream.value() == static_cast<std::uint32_t>(graph::Stream::compute))
      sides.kernels.push_back(i);
  }
  return sides;
}

/// Whether a collective and a kernel may run at once: there are both, and the cost of it is not nothing.
bool may_overlap(const graph::TaskGraph& graph, const Interference& cost) {
  const bool collectives = std::any_of(graph.tasks.begin(), graph.tasks.end(), [](const graph::Task& task) {
    return task.partition.valid() && task.stream != graph::Stream::compute;
  });
  return collectives && (cost.kernels > 0 || cost.transfers > 0);
}

graph::Assumption assumption(const char* who, const char* other, double rate, Duration lost) {
  return {graph::AssumptionKind::interference,
          fmt::format("overlap slows {} by {:.2f} s per second of {}: {:.3g} ms per iteration", who, rate, other,
                      lost.ms())};
}

}  // namespace

Slowed slow_overlaps(Lowered lowered, const engine::Timeline& timeline, const graph::CostedGraph& graph,
                     const Interference& cost) {
  const report::SteadyState state =
      report::steady_state({&graph, &lowered.program, &lowered.origins, &timeline, lowered.iterations});
  const auto [kernels, transfers] = sides_of(state, lowered.program);
  const report::RankClasses classes = report::rank_classes(state, lowered.program.ranks);
  const Losses of_kernels(state, classes, kernels, transfers, cost.kernels);
  Losses of_transfers(state, classes, transfers, kernels, cost.transfers);
  of_transfers.lose_together(state);
  const std::size_t tasks = graph.graph.tasks.size();
  lowered = of_transfers.added_to(of_kernels.added_to(std::move(lowered), state, tasks), state, tasks);
  return {std::move(lowered), of_kernels.longest(), of_transfers.longest()};
}

Result<Passed<Lowered>> interfere(Lowered lowered, const graph::CostedGraph& graph, const Interference& cost) {
  if (!may_overlap(graph.graph, cost)) return Passed<Lowered>{std::move(lowered), {}};
  TRY_ASSIGN(const engine::Timeline undisturbed, engine::evaluate_rows(lowered.program));
  Slowed slowed = slow_overlaps(std::move(lowered), undisturbed, graph, cost);
  Passed<Lowered> out{std::move(slowed.lowered), {}};
  if (slowed.kernels > Duration())
    out.assumptions.push_back(assumption("kernels", "communication", cost.kernels, slowed.kernels));
  if (slowed.transfers > Duration())
    out.assumptions.push_back(assumption("collectives", "compute", cost.transfers, slowed.transfers));
  return out;
}

}  // namespace distsim::pipeline
