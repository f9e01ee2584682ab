#include "sim/pipeline/lower.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/threads/stop.hpp"
#include "sim/engine/program/alike.hpp"

namespace distsim::pipeline {
namespace {

constexpr std::size_t kFewestStreams =
    static_cast<std::size_t>(graph::Stream::p2p);  // those of point-to-point messages come last, where there are any

constexpr StreamId stream_id(graph::Stream s) { return StreamId(static_cast<std::uint32_t>(s)); }

engine::Groups groups_of(const graph::Partition& p) {
  if (p.each == 1) return engine::Groups{p.size, p.stride, p.listed_offsets, p.listed_members};
  return groups_of(graph::listed_by_rank(p));
}

/// The groups of places of ranks that do the same; nothing where places would have to meet in part.
std::optional<engine::Groups> groups_of_places(const graph::Partition& p, std::uint32_t ranks,
                                               const engine::Alike& alike) {
  if (p.each == alike.each && !p.listed_offsets.empty())
    return engine::groups_of_places({p.size, p.stride, p.listed_offsets, p.listed_members}, ranks / alike.each,
                                    {1, alike.repeats});
  return engine::groups_of_places(groups_of(p), ranks, alike);
}

class Lowering {
 public:
  Lowering(const graph::CostedGraph& costed, const LaunchModel& launch)
      : costed_(costed), graph_(costed.graph), launch_(launch), rows_of_(graph_.ops.size()) {}

  Result<LoweredLoop> run() {
    prepare();
    TRY_ASSIGN(launches_, seconds_of_launches());
    TRY(overhead());
    for (std::uint32_t t = 0; t < graph_.tasks.size(); ++t) {
      end_if_stopped();
      TRY(lower_task(TaskId(t)));
    }
    for (const StepId s : host_waits_) out_.loop.carried.emplace_back(StepId(0), s);
    return std::move(out_);
  }

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;

  /// Of a task, which those that share its ops have too.
  struct Rows {
    TaskId task;
    std::uint32_t device = kNone, launch = kNone, later_launches = kNone;
    Duration launches;  ///< on a rank that does them
  };

  void prepare() {
    engine::Loop& loop = out_.loop;
    std::uint32_t streams = kFewestStreams;
    for (const graph::Task& task : graph_.tasks)
      streams = std::max(streams, static_cast<std::uint32_t>(task.stream) + 1);
    loop.streams = streams;
    const bool by_place = places_of_groups();
    loop.each = by_place ? graph_.alike : 1;
    loop.repeats = by_place ? graph_.repeats : 1;
    loop.ranks = graph_.ranks / loop.each / loop.repeats;
    if (!by_place) {
      loop.groups.clear();
      for (const graph::Partition& p : graph_.partitions) loop.groups.push_back(groups_of(p));
    }
    const std::size_t tasks = graph_.tasks.size();
    loop.steps.reserve(tasks * 2 + tasks / 4);  // a host step and a device step each, as eager frameworks have
    loop.wait_offsets.reserve(tasks * 2 + tasks / 4);
    loop.waits.reserve(tasks * 4);
    out_.origins.reserve(tasks * 2 + tasks / 4);
    device_step_ = IdVector<TaskId, StepId>(tasks);
  }

  bool places_of_groups() {
    for (const graph::Partition& p : graph_.partitions) {
      auto groups = groups_of_places(p, graph_.ranks, {graph_.alike, graph_.repeats});
      if (!groups) return false;
      out_.loop.groups.push_back(std::move(*groups));
    }
    return true;
  }

  /// Start of an iteration: the loop's own host time, and the graph launch where there is one.
  Result<void> overhead() {
    const workload::FrameworkSpec& f = launch_.framework;
    double seconds = f.host.per_step.seconds() * launch_.host.launch_factor();
    if (f.host.cuda_graph) seconds += f.host.graph_launch.seconds() * launch_.host.launch_factor();
    seconds += detours_of_latest(launch_.host, seconds + launches_, graph_.ranks);
    TRY_ASSIGN(const Duration d, Duration::from_seconds(seconds));
    graph_launch_ = add(stream_id(graph::Stream::host), add_row(engine::Row(d.ps())), engine::Step::kNoGroup,
                        {TaskId(), report::StepRole::step_overhead});
    return {};
  }

  /// Host time of an iteration's launches, on a rank that does all of them.
  Result<double> seconds_of_launches() {
    double seconds = 0;
    for (std::uint32_t t = 0; t < graph_.tasks.size(); ++t) {
      const graph::Task& task = graph_.tasks[TaskId(t)];
      Rows& rows = rows_of_[task.first_op.value()];
      if (!rows.task.valid() || !alike(graph_.tasks[rows.task], task)) TRY(fill(rows, TaskId(t), task));
      seconds += rows.launches.seconds();
    }
    return seconds;
  }

  Result<void> lower_task(TaskId id) {
    const graph::Task& task = graph_.tasks[id];
    Rows* const rows = &rows_of_[task.first_op.value()];
    if (!alike(graph_.tasks[rows->task], task)) TRY(fill(*rows, id, task));
    waits_.clear();
    for (const TaskId dep : graph_.dependencies(id)) waits_.push_back(device_step_[dep]);
    if (task.stream == graph::Stream::host) {
      take_host_waits();
      device_step_[id] =
          add(stream_id(graph::Stream::host), rows->device, engine::Step::kNoGroup, {id, report::StepRole::host_work});
      return {};
    }
    if (!runs_by_itself(task)) launch_from_host(id, task, *rows);
    const std::uint32_t group = task.partition.valid() ? task.partition.value() : engine::Step::kNoGroup;
    device_step_[id] = add(stream_id(task.stream), rows->device, group, {id, report::StepRole::device});
    if (rows->later_launches != kNone && !runs_by_itself(task)) {
      waits_.clear();
      add(stream_id(graph::Stream::host), rows->later_launches, engine::Step::kNoGroup,
          {id, report::StepRole::host_dispatch});
    }
    if (task.blocks_host || blocks_launches()) host_waits_.push_back(device_step_[id]);
    return {};
  }

  /// CUDA_LAUNCH_BLOCKING=1. A sequence of kernels, each of which waits for its launch, takes as long as all launches and then
  /// all kernels.
  bool blocks_launches() const { return launch_.framework.host.launch_blocking && !launch_.framework.host.cuda_graph; }

  /// Work of other processes of the host, which go ahead as their queue allows.
  bool runs_by_itself(const graph::Task& task) const {
    const graph::Dispatch& d = task.dispatch;
    return d.framework_ops == 0 && d.kernels == 0 && graph::work_of(graph_.ops[task.first_op]) == graph::Work::host;
  }

  /// Adds to waits_ what makes the device step wait for its launch.
  void launch_from_host(TaskId id, const graph::Task& task, const Rows& rows) {
    if (launch_.framework.host.cuda_graph) {
      auto first_of_stream = started_[static_cast<std::size_t>(task.stream)];
      if (!first_of_stream) waits_.push_back(graph_launch_);
      started_[static_cast<std::size_t>(task.stream)] = true;
      return;
    }
    std::swap(waits_, of_device_);
    waits_.clear();
    take_host_waits();
    const StepId launch =
        add(stream_id(graph::Stream::host), rows.launch, engine::Step::kNoGroup, {id, report::StepRole::host_dispatch});
    std::swap(waits_, of_device_);
    waits_.push_back(launch);
  }

  /// Durations of a task's steps, which are worked out once for those that share ops.
  Result<void> fill(Rows& rows, TaskId id, const graph::Task& task) {
    rows = {id, add_row(device_row(task)), kNone, kNone, {}};
    if (launch_.framework.host.cuda_graph || task.stream == graph::Stream::host) return {};
    TRY_ASSIGN(rows.launches, dispatch_time(task));
    Duration first = rows.launches;
    if (is_sequence(task) && !blocks_launches()) {  // whose first kernel starts while the host launches the others
      first = Duration::picoseconds(first.ps() / std::max<std::int64_t>(1, task.dispatch.kernels));
      if (rows.launches != first) rows.later_launches = add_row(launch_row(task, rows.launches - first));
    }
    rows.launch = add_row(launch_row(task, first));
    return {};
  }

  static bool alike(const graph::Task& a, const graph::Task& b) {
    return a.variants == b.variants && a.rank_table == b.rank_table && a.stream == b.stream && a.phase == b.phase &&
           a.partition == b.partition && a.dispatch.kernels == b.dispatch.kernels &&
           a.dispatch.framework_ops == b.dispatch.framework_ops && a.skipped_where_absent == b.skipped_where_absent;
  }

  Result<Duration> dispatch_time(const graph::Task& task) const {
    const workload::FrameworkSpec& f = launch_.framework;
    const bool forward = task.phase == graph::Phase::forward || task.phase == graph::Phase::input;
    const double per_op = (forward ? f.host.per_op : f.host.per_op_backward).seconds() * f.host.scale;
    const double seconds = task.dispatch.framework_ops * per_op + task.dispatch.kernels * f.host.per_launch.seconds();
    const double scale = launch_.host.launch_factor() * (task.partition.valid() ? launch_.collective_launch : 1);
    return Duration::from_seconds(seconds * scale);
  }

  bool is_sequence(const graph::Task& task) const {
    return std::holds_alternative<graph::Sequence>(graph_.ops[task.first_op]);
  }

  /// The host's time for a launch: none on ranks that skip it.
  engine::Row launch_row(const graph::Task& task, Duration launch) {
    if (!task.skipped_where_absent || task.rank_table == graph::Task::kUniform) return engine::Row(launch.ps());
    std::vector<std::int64_t> of_variant(task.variants);
    for (std::uint32_t v = 0; v < task.variants; ++v) {
      const bool absent = std::holds_alternative<graph::Absent>(graph_.ops[OpId(task.first_op.value() + v)]);
      of_variant[v] = absent ? 0 : launch.ps();
    }
    return by_place(task, of_variant);
  }

  /// Duration of a task's step on every rank: kernel time and the gaps between its kernels.
  engine::Row device_row(const graph::Task& task) {
    const Duration gap =
        launch_.framework.host.cuda_graph ? launch_.launch.graph_kernel_gap : launch_.launch.kernel_gap;
    std::vector<std::int64_t> of_variant(task.variants);
    for (std::uint32_t v = 0; v < task.variants; ++v) {
      const OpId id(task.first_op.value() + v);
      const bool gaps = graph::has_kernels(graph_.ops[id]) && task.stream == graph::Stream::compute;
      of_variant[v] = costed_.costs[id].mean.ps() + (gaps ? gap.ps() * task.dispatch.kernels : 0);
    }
    return task.rank_table == graph::Task::kUniform ? engine::Row(of_variant.front()) : by_place(task, of_variant);
  }

  /// A number by a task's variants.
  engine::Row by_place(const graph::Task& task, const std::vector<std::int64_t>& of_variant) const {
    const auto& table = graph_.rank_tables[task.rank_table];
    const std::uint32_t repeated = graph_.alike / out_.loop.each;
    std::vector<std::int64_t> values(out_.loop.ranks);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = of_variant[table[i / repeated % table.size()]];
    return engine::Row(std::move(values));
  }

  std::uint32_t add_row(engine::Row row) {
    out_.loop.rows.push_back(std::move(row));
    return static_cast<std::uint32_t>(out_.loop.rows.size() - 1);
  }

  /// After waits_.
  StepId add(StreamId stream, std::uint32_t row, std::uint32_t group, report::StepOrigin origin) {
    out_.origins.push_back(origin);
    return out_.loop.add({stream, row, group}, waits_);
  }

  /// Steps that the host must wait for before it goes on; each is waited for once.
  void take_host_waits() {
    waits_.insert(waits_.end(), host_waits_.begin(), host_waits_.end());
    host_waits_.clear();
  }

  const graph::CostedGraph& costed_;
  const graph::TaskGraph& graph_;
  const LaunchModel& launch_;
  LoweredLoop out_;
  std::vector<Rows> rows_of_;  ///< by first op
  IdVector<TaskId, StepId> device_step_;
  std::array<bool, graph::kStreamCount> started_{};
  std::vector<StepId> waits_, of_device_, host_waits_;
  StepId graph_launch_;
  double launches_ = 0;  ///< seconds_of_launches
};

/// Iterations one after the other.
class Unrolling {
 public:
  Unrolling(const LoweredLoop& lowered, const graph::TaskGraph& graph) : from_(lowered), loop_(lowered.loop) {
    out_.program.ranks = graph.ranks;
    out_.program.streams = loop_.streams;
    for (const graph::Partition& p : graph.partitions) out_.program.groups.push_back(groups_of(p));
    for (const engine::Row& row : loop_.rows) rows_.push_back(row.with_each(loop_.each, loop_.repeats));
  }

  Lowered run(std::uint16_t iterations) {
    out_.program.steps.reserve(loop_.steps.size() * iterations);
    out_.program.waits.reserve(loop_.waits.size() * iterations);
    out_.origins.reserve(loop_.steps.size() * iterations);
    for (std::uint16_t i = 0; i < iterations; ++i) iteration(i);
    out_.iterations = iterations;
    return std::move(out_);
  }

 private:
  void iteration(std::uint16_t i) {
    const auto steps = static_cast<std::uint32_t>(loop_.steps.size());
    auto carried = loop_.carried.begin();
    for (StepId s(0); s < loop_.steps.end_id(); s = StepId(s.value() + 1)) {
      end_if_stopped();
      waits_.clear();
      for (const StepId wait : loop_.waits_of(s)) waits_.emplace_back(wait.value() + i * steps);
      for (; carried != loop_.carried.end() && carried->first == s; ++carried)
        if (i > 0) waits_.emplace_back(carried->second.value() + (i - 1u) * steps);
      const engine::Loop::Step& step = loop_.steps[s];
      report::StepOrigin origin = from_.origins[s];
      origin.iteration = i;
      out_.origins.push_back(origin);
      out_.program.add(engine::Step{step.stream, rows_[step.row], step.group}, waits_);
    }
  }

  const LoweredLoop& from_;
  const engine::Loop& loop_;
  Lowered out_;
  std::vector<engine::Row> rows_;
  std::vector<StepId> waits_;
};

}  // namespace

double detours_of_latest(const topology::HostSpec& host, double busy_seconds, std::uint32_t ranks) {
  const double each = host.jitter_rate.value() * busy_seconds;  // detours of one rank
  return host.jitter_time.seconds() * (std::log1p(each * ranks) - std::log1p(each));
}

Result<LoweredLoop> lower_loop(const graph::CostedGraph& costed, const LaunchModel& launch) {
  return Lowering(costed, launch).run();
}

Result<Lowered> lower(const graph::CostedGraph& costed, const LaunchModel& launch, std::uint16_t iterations) {
  TRY_ASSIGN(const LoweredLoop loop, lower_loop(costed, launch));
  return Unrolling(loop, costed.graph).run(iterations);
}

}  // namespace distsim::pipeline
