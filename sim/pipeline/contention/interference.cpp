#include "sim/pipeline/contention/interference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "sim/engine/rows/row_evaluator.hpp"
#include "sim/report/replays.hpp"

namespace distsim::pipeline {
namespace {

constexpr double kMemoryBytesPerBusByte = 3;  // read and written, interference.hpp
constexpr double kMostLost = 0.5;             // of either resource: both sides are served alike

/// What a kernel loses per second beside a collective, by what bounds it.
struct Losing {
  double sms = 0, memory = 0;
};

std::uint32_t largest_group(const graph::Partition& p) {
  if (p.listed_offsets.empty()) return p.size;
  std::uint32_t largest = 1;
  for (std::size_t g = 0; g + 1 < p.listed_offsets.size(); ++g)
    largest = std::max(largest, p.listed_offsets[g + 1] - p.listed_offsets[g]);
  return largest;
}

Losing losing_to(const graph::CostedGraph& costed, const graph::Task& task, const SharedDevice& device) {
  const graph::Cost& cost = costed.costs[task.first_op];
  const auto* op = std::get_if<graph::Collective>(&costed.graph.ops[task.first_op]);
  if (op == nullptr || cost.mean == Duration()) return {};
  const std::uint32_t ranks = largest_group(costed.graph.partitions[task.partition]);
  const double busbw = static_cast<double>(op->bytes) * static_cast<double>(op->times) *
                       graph::busbw_factor(op->kind, ranks) / cost.mean.seconds();
  return {std::min(kMostLost, cost.channels / device.sms),
          std::min(kMostLost, kMemoryBytesPerBusByte * busbw / device.memory)};
}

/// The shares of the longest variant of a task.
graph::BoundShares shares_of(const graph::CostedGraph& costed, const graph::Task& task) {
  const graph::Cost* longest = &costed.costs[task.first_op];
  for (std::uint32_t v = 1; v < task.variants; ++v) {
    const graph::Cost& other = costed.costs[OpId(task.first_op.value() + v)];
    if (other.mean > longest->mean) longest = &other;
  }
  return longest->shares;
}

/// A transfer on one rank.
struct TransferSpan {
  std::int64_t begin, end;
  Losing losing;
};

/// Time that a kernel shares with a transfer, and what it loses per second of that.
struct SharedTime {
  std::size_t kernel;
  double picoseconds, rate;
};

/// What the kernels lose to collectives, by role of ranks and step of `kernels`.
class Losses {
 public:
  Losses(const report::SteadyState& state, const engine::Program& program, const engine::Roles& roles,
         const graph::CostedGraph& costed, const SharedDevice& device)
      : state_(state), roles_(roles) {
    for (std::uint32_t i = 0; i < state.steps.size(); ++i) {
      const report::DeviceStep& d = state.steps[i];
      const graph::Task& task = costed.graph.tasks[d.task];
      const std::uint32_t stream = program.steps[d.step].stream.value();
      if (d.collective) {
        transfers_.push_back({i, losing_to(costed, task, device)});
      } else if (stream == static_cast<std::uint32_t>(graph::Stream::compute)) {
        mine_.push_back(i);
        shares_.push_back(shares_of(costed, task));
      }
    }
    times_.resize(roles_.size() * mine_.size());
    for (std::uint32_t role = 0; role < roles_.size(); ++role) add_role(role);
  }

  /// The most that a rank loses.
  Duration longest() const {
    std::int64_t longest = 0;
    for (std::uint32_t role = 0; role < roles_.size(); ++role) {
      std::int64_t sum = 0;
      for (std::size_t k = 0; k < mine_.size(); ++k) sum += at(role, k);
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
  struct Transfer {
    std::uint32_t step;
    Losing losing;
  };

  void add_role(std::uint32_t role) {
    for (const Transfer& t : transfers_) {
      const report::DeviceStep& d = state_.steps[t.step];
      if (d.end.at(role) > d.start.at(role)) lose_to(role, {d.start.at(role), d.end.at(role), t.losing});
    }
  }

  /// Kernels of a rank follow each other, so that those beside a transfer are neighbours.
  void lose_to(std::uint32_t role, const TransferSpan& span) {
    const auto first = std::partition_point(
        mine_.begin(), mine_.end(), [&](std::uint32_t i) { return state_.steps[i].end.at(role) <= span.begin; });
    shared_.clear();
    double together = 0, lost = 0;
    for (auto k = static_cast<std::size_t>(first - mine_.begin()); k < mine_.size(); ++k) {
      const report::DeviceStep& d = state_.steps[mine_[k]];
      if (d.start.at(role) >= span.end) break;
      const auto time =
          static_cast<double>(std::min(span.end, d.end.at(role)) - std::max(span.begin, d.start.at(role)));
      const double rate =
          (shares_[k].matrix + shares_[k].vector) * span.losing.sms + shares_[k].memory * span.losing.memory;
      if (time <= 0) continue;
      shared_.push_back({k, time, rate});
      together += time;
      lost += time * rate;
    }
    if (lost <= 0) return;
    const double longer = std::min(1 / (1 - lost / together), static_cast<double>(span.end - span.begin) / together);
    for (const SharedTime& s : shared_)
      at(role, s.kernel) += static_cast<std::int64_t>(s.picoseconds * s.rate * longer);
  }

  engine::Row with_loss(const engine::Row& row, std::size_t k) const {
    bool same = true;
    for (std::uint32_t role = 1; role < roles_.size(); ++role) same = same && at(role, k) == at(0, k);
    if (same && at(0, k) == 0) return row;
    if (same && row.uniform()) return engine::Row(row.scalar() + at(0, k));
    const std::uint32_t each = row.uniform() || row.each() == roles_.each ? roles_.each : 1;
    std::vector<std::int64_t> values(ranks() / each);
    for (std::uint32_t i = 0; i < values.size(); ++i) values[i] = row.at(i * each) + at(roles_.of(i * each), k);
    return engine::Row(std::move(values), each);
  }
  std::int64_t& at(std::uint32_t role, std::size_t k) { return times_[role * mine_.size() + k]; }
  std::int64_t at(std::uint32_t role, std::size_t k) const { return times_[role * mine_.size() + k]; }
  std::uint32_t ranks() const {
    std::uint32_t sum = 0;
    for (const std::uint32_t n : roles_.count) sum += n;
    return sum;
  }

  const report::SteadyState& state_;  // whose times are by role
  const engine::Roles& roles_;
  std::vector<std::uint32_t> mine_;  // kernels, as indices into SteadyState::steps
  std::vector<graph::BoundShares> shares_;
  std::vector<Transfer> transfers_;
  std::vector<std::int64_t> times_;
  std::vector<SharedTime> shared_;  // beside one transfer; kept to allocate once
};

/// Whether a collective and a kernel may run at once.
bool may_overlap(const graph::TaskGraph& graph) {
  return std::any_of(graph.tasks.begin(), graph.tasks.end(), [](const graph::Task& task) {
    return task.partition.valid() && task.stream != graph::Stream::compute;
  });
}

}  // namespace

Result<Slowed> slow_overlaps(Lowered lowered, const graph::CostedGraph& graph, const SharedDevice& device) {
  const report::Played program{&graph, &lowered.program, &lowered.origins, nullptr, lowered.iterations};
  const auto undisturbed = report::Replays::unplayed(program);
  if (!undisturbed) return engine::evaluate_rows(lowered.program).error();
  const report::SteadyState state = undisturbed->state();
  const Losses losses(state, lowered.program, undisturbed->roles(), graph, device);
  return Slowed{losses.added_to(std::move(lowered), state, graph.graph.tasks.size()), losses.longest()};
}

Result<Passed<Lowered>> interfere(Lowered lowered, const graph::CostedGraph& graph, const SharedDevice& device) {
  if (!may_overlap(graph.graph)) return Passed<Lowered>{std::move(lowered), {}};
  TRY(engine::validate(lowered.program));
  TRY_ASSIGN(Slowed slowed, slow_overlaps(std::move(lowered), graph, device));
  Passed<Lowered> out{std::move(slowed.lowered), {}};
  if (slowed.kernels > Duration())
    out.assumptions.push_back(
        {graph::AssumptionKind::interference,
         fmt::format("overlapping collectives slow kernels by {:.3g} ms per iteration: their channels hold SMs, their "
                     "transfers take memory bandwidth",
                     slowed.kernels.ms())});
  return out;
}

}  // namespace distsim::pipeline
