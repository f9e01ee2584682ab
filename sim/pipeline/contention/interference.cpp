#include "sim/pipeline/contention/interference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
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

/// The shares of the longest variant of a task, on the device as its file describes it: a kernel that a what-if on one unit hands to
/// another would lose more than it won.
graph::BoundShares shares_of(const graph::CostedGraph& costed, const graph::Task& task) {
  const graph::Cost* longest = &costed.costs[task.first_op];
  for (std::uint32_t v = 1; v < task.variants; ++v) {
    const graph::Cost& other = costed.costs[OpId(task.first_op.value() + v)];
    if (other.mean > longest->mean) longest = &other;
  }
  return longest->described_shares;
}

/// A collective, and a kernel that may run beside it.
struct Transfer {
  report::RowView start, end;
  std::uint32_t stream = 0;
  Losing losing;
};
struct Kernel {
  StepId step;
  TaskId task;
  report::RowView start, end;
  graph::BoundShares shares;
};

/// Of an iteration, in its order.
struct Beside {
  std::vector<Transfer> transfers;
  std::vector<Kernel> kernels;

  /// `start`, `end`: those of a device step.
  template <class Start, class End>
  void add(const graph::CostedGraph& costed, const SharedDevice& device, StepId step, TaskId id, Start start, End end) {
    const graph::Task& task = costed.graph.tasks[id];
    if (!task.partition.valid()) {
      if (task.stream == graph::Stream::compute) kernels.push_back({step, id, start(), end(), shares_of(costed, task)});
      return;
    }
    const Losing losing = losing_to(costed, task, device);
    if (losing.sms > 0 || losing.memory > 0) transfers.push_back({start(), end(), task.stream.number(), losing});
  }
};

Beside beside_of(const report::SteadyState& state, const graph::CostedGraph& costed, const SharedDevice& device) {
  Beside out;
  for (const report::DeviceStep& d : state.steps)
    out.add(
        costed, device, d.step, d.task, [&] { return d.start; }, [&] { return d.end; });
  return out;
}

Beside beside_of(const report::LoopPlay& play, const SharedDevice& device) {
  Beside out;
  const engine::LoopPlayer& player = *play.player;
  out.transfers.reserve(play.origins->size() / 2);
  for (StepId s(0); s < play.origins->end_id(); s = StepId(s.value() + 1)) {
    const report::StepOrigin& o = (*play.origins)[s];
    if (o.role != report::StepRole::device) continue;
    out.add(
        *play.costed, device, s, o.task, [&] { return report::RowView(player.last_start_row(s)); },
        [&] { return report::RowView(player.last_end_row(s)); });
  }
  return out;
}

/// Time that a kernel shares with a transfer, and what it loses per second of that.
struct SharedTime {
  std::size_t kernel;
  double picoseconds, rate;
};

/// What the kernels lose to collectives, by role of ranks and kernel.
class Losses {
 public:
  Losses(Beside beside, const engine::Roles& roles) : beside_(std::move(beside)), roles_(roles) {
    const std::size_t all = roles_.size() * count();
    times_.resize(all);
    begins_.resize(all);
    ends_.resize(all);
    for (std::size_t k = 0; k < count(); ++k) {
      for (std::uint32_t role = 0; role < roles_.size(); ++role) {
        begins_[role * count() + k] = beside_.kernels[k].start.at(role);
        ends_[role * count() + k] = beside_.kernels[k].end.at(role);
      }
    }
    first_.resize(roles_.size());
    for (const Transfer& t : beside_.transfers)
      for (std::uint32_t role = 0; role < roles_.size(); ++role) add(t, role);
  }

  /// The most that a rank loses.
  Duration longest() const {
    std::int64_t longest = 0;
    for (std::uint32_t role = 0; role < roles_.size(); ++role) {
      std::int64_t sum = 0;
      for (std::size_t k = 0; k < count(); ++k) sum += at(role, k);
      longest = std::max(longest, sum);
    }
    return Duration::picoseconds(longest);
  }

  /// The program with the losses added to the durations of every iteration's steps.
  Lowered added_to(Lowered lowered, std::size_t tasks) const {
    if (longest() == Duration()) return lowered;
    constexpr std::uint32_t kNone = 0xFFFFFFFFu;
    IdVector<TaskId, std::uint32_t> kernel_of(tasks, kNone);
    std::vector<engine::Row> slowed;
    for (std::uint32_t k = 0; k < count(); ++k) {
      kernel_of[beside_.kernels[k].task] = k;
      slowed.push_back(with_loss(lowered.program.steps[beside_.kernels[k].step].duration, k));
    }
    for (std::uint32_t s = 0; s < lowered.program.steps.size(); ++s) {
      const report::StepOrigin& o = lowered.origins[StepId(s)];
      if (o.role == report::StepRole::device && kernel_of[o.task] != kNone)
        lowered.program.steps[StepId(s)].duration = slowed[kernel_of[o.task]];
    }
    return lowered;
  }

  /// The same for the steps of a loop.
  void add_to(engine::LoopPlayer& player) const {
    std::vector<std::int64_t> slowed(roles_.size());
    for (std::size_t k = 0; k < count(); ++k) {
      const StepId step = beside_.kernels[k].step;
      std::int64_t most = 0;
      for (std::uint32_t role = 0; role < roles_.size(); ++role) {
        slowed[role] = player.duration_row(step)[role] + at(role, k);
        most = std::max(most, at(role, k));
      }
      if (most > 0) player.set_duration(step, slowed);
    }
  }

 private:
  std::size_t count() const { return beside_.kernels.size(); }

  /// Steps of a stream follow each other in time, so that the first kernel beside each of a stream's transfers is never
  /// before that of the one before.
  void add(const Transfer& t, std::uint32_t role) {
    const std::int64_t begin = t.start.at(role), end = t.end.at(role);
    if (end <= begin) return;
    const std::int64_t* const ends = ends_.data() + role * count();
    std::size_t& first = first_[role][t.stream];
    while (first < count() && ends[first] <= begin) ++first;
    if (first < count() && begins_[role * count() + first] < end) lose_to(role, begin, end, t.losing, first);
  }

  void lose_to(std::uint32_t role, std::int64_t begin, std::int64_t end, const Losing& losing, std::size_t first) {
    const std::int64_t *const begins = begins_.data() + role * count(), *const ends = ends_.data() + role * count();
    shared_.clear();
    double together = 0, lost = 0;
    for (std::size_t k = first; k < count() && begins[k] < end; ++k) {
      const auto time = static_cast<double>(std::min(end, ends[k]) - std::max(begin, begins[k]));
      const graph::BoundShares& shares = beside_.kernels[k].shares;
      const double rate = (shares.matrix + shares.vector) * losing.sms + shares.memory * losing.memory;
      if (time <= 0) continue;
      shared_.push_back({k, time, rate});
      together += time;
      lost += time * rate;
    }
    if (lost <= 0) return;
    const double longer = std::min(1 / (1 - lost / together), static_cast<double>(end - begin) / together);
    for (const SharedTime& s : shared_)
      at(role, s.kernel) += static_cast<std::int64_t>(s.picoseconds * s.rate * longer);
  }

  engine::Row with_loss(const engine::Row& row, std::size_t k) const {
    bool same = true;
    for (std::uint32_t role = 1; role < roles_.size(); ++role) same = same && at(role, k) == at(0, k);
    if (same && at(0, k) == 0) return row;
    if (same && row.uniform()) return engine::Row(row.scalar() + at(0, k));
    const bool alike = row.uniform() || (row.each() == roles_.each && row.repeats() == roles_.repeats);
    const std::uint32_t each = alike ? roles_.each : 1, repeats = alike ? roles_.repeats : 1;
    std::vector<std::int64_t> values(ranks() / each / repeats);
    for (std::uint32_t i = 0; i < values.size(); ++i) values[i] = row.at(i * each) + at(roles_.of(i * each), k);
    return engine::Row(std::move(values), each, repeats);
  }
  std::int64_t& at(std::uint32_t role, std::size_t k) { return times_[role * count() + k]; }
  std::int64_t at(std::uint32_t role, std::size_t k) const { return times_[role * count() + k]; }
  std::uint32_t ranks() const {
    std::uint32_t sum = 0;
    for (const std::uint32_t n : roles_.count) sum += n;
    return sum;
  }

  const Beside beside_;
  const engine::Roles& roles_;                                       // of the rows
  std::vector<std::int64_t> times_, begins_, ends_;                  // by role and kernel
  std::vector<std::array<std::size_t, graph::kStreamCount>> first_;  // by role: where a stream's transfers have got to
  std::vector<SharedTime> shared_;                                   // beside one transfer; kept to allocate once
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
  const Losses losses(beside_of(state, graph, device), undisturbed->roles());
  return Slowed{losses.added_to(std::move(lowered), graph.graph.tasks.size()), losses.longest()};
}

void slow_overlaps(const report::LoopPlay& play, const SharedDevice& device) {
  if (!may_overlap(play.costed->graph)) return;
  Losses(beside_of(play, device), *play.roles).add_to(*play.player);
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
