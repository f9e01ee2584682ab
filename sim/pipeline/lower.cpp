#include "sim/pipeline/lower.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace distsim::pipeline {
namespace {

constexpr std::size_t kFewestStreams =
    static_cast<std::size_t>(graph::Stream::p2p);  // those of point-to-point messages come last, where there are any

constexpr StreamId stream_id(graph::Stream s) { return StreamId(static_cast<std::uint32_t>(s)); }

engine::Groups groups_of(const graph::Partition& p) {
  return engine::Groups{p.size, p.stride, p.listed_offsets, p.listed_members};
}

class Lowering {
 public:
  Lowering(const graph::CostedGraph& costed, const LaunchModel& launch)
      : costed_(costed), graph_(costed.graph), launch_(launch) {}

  Result<Lowered> run(std::uint16_t iterations) {
    prepare(iterations);
    TRY_ASSIGN(launches_, seconds_of_launches());
    for (std::uint16_t i = 0; i < iterations; ++i) TRY(iteration(i));
    out_.iterations = iterations;
    return std::move(out_);
  }

 private:
  void prepare(std::uint16_t iterations) {
    out_.program.ranks = graph_.ranks;
    std::size_t streams = kFewestStreams;
    for (const graph::Task& task : graph_.tasks) streams = std::max(streams, static_cast<std::size_t>(task.stream) + 1);
    out_.program.streams = static_cast<std::uint32_t>(streams);
    const std::size_t tasks = graph_.tasks.size() * iterations;
    out_.program.steps.reserve(tasks * 2);  // a host step and a device step each, as eager frameworks have
    out_.origins.reserve(tasks * 2);
    durations_.reserve(graph_.tasks.size());
    for (const graph::Partition& p : graph_.partitions) out_.program.groups.push_back(groups_of(p));
    for (const graph::Task& task : graph_.tasks) durations_.push_back(device_row(task));
  }

  Result<void> iteration(std::uint16_t i) {
    device_step_ = IdVector<TaskId, StepId>(graph_.tasks.size());
    started_.assign(graph::kStreamCount, false);
    TRY(overhead(i));
    for (std::uint32_t t = 0; t < graph_.tasks.size(); ++t) TRY(lower_task(TaskId(t), i));
    return {};
  }

  /// Start of an iteration: the loop's own host time, and the graph launch where there is one.
  Result<void> overhead(std::uint16_t i) {
    const workload::FrameworkSpec& f = launch_.framework;
    double seconds = f.host.per_step.seconds() * launch_.host.launch_factor();
    if (f.host.cuda_graph) seconds += f.host.graph_launch.seconds() * launch_.host.launch_factor();
    seconds += detours_of_latest(launch_.host, seconds + launches_, graph_.ranks);
    TRY_ASSIGN(const Duration d, Duration::from_seconds(seconds));
    graph_launch_ = add(stream_id(graph::Stream::host), engine::Row(d.ps()), engine::Step::kNoGroup, take_host_waits(),
                        {TaskId(), report::StepRole::step_overhead, i});
    return {};
  }

  /// Host time of an iteration's launches, on a rank that does all of them.
  Result<double> seconds_of_launches() const {
    double seconds = 0;
    for (const graph::Task& task : graph_.tasks) {
      if (launch_.framework.host.cuda_graph || task.stream == graph::Stream::host) continue;
      TRY_ASSIGN(const Duration d, dispatch_time(task));
      seconds += d.seconds();
    }
    return seconds;
  }

  Result<void> lower_task(TaskId id, std::uint16_t i) {
    const graph::Task& task = graph_.tasks[id];
    waits_.clear();
    for (const TaskId dep : graph_.dependencies(id)) waits_.push_back(device_step_[dep]);
    if (task.stream == graph::Stream::host) {
      for (const StepId s : take_host_waits()) waits_.push_back(s);
      device_step_[id] = add(stream_id(graph::Stream::host), durations_[id], engine::Step::kNoGroup, waits_,
                             {id, report::StepRole::host_work, i});
      return {};
    }
    if (!runs_by_itself(task)) TRY(launch_from_host(id, task, i));
    const std::uint32_t group = task.partition.valid() ? task.partition.value() : engine::Step::kNoGroup;
    device_step_[id] = add(stream_id(task.stream), durations_[id], group, waits_, {id, report::StepRole::device, i});
    if (later_launches_ != Duration()) {
      add(stream_id(graph::Stream::host), launch_row(task, later_launches_), engine::Step::kNoGroup, {},
          {id, report::StepRole::host_dispatch, i});
      later_launches_ = Duration();
    }
    if (task.blocks_host) host_waits_.push_back(device_step_[id]);
    return {};
  }

  /// Work of other processes of the host, which go ahead as their queue allows.
  bool runs_by_itself(const graph::Task& task) const {
    const graph::Dispatch& d = task.dispatch;
    return d.framework_ops == 0 && d.kernels == 0 && graph::work_of(graph_.ops[task.first_op]) == graph::Work::host;
  }

  /// Adds to waits_ what makes the device step wait for its launch.
  Result<void> launch_from_host(TaskId id, const graph::Task& task, std::uint16_t i) {
    if (launch_.framework.host.cuda_graph) {
      auto first_of_stream = started_[static_cast<std::size_t>(task.stream)];
      if (!first_of_stream) waits_.push_back(graph_launch_);
      started_[static_cast<std::size_t>(task.stream)] = true;
      return {};
    }
    TRY_ASSIGN(Duration d, dispatch_time(task));
    if (is_sequence(task)) {
      later_launches_ = d;
      d = Duration::picoseconds(d.ps() / std::max<std::int64_t>(1, task.dispatch.kernels));
      later_launches_ = later_launches_ - d;
    }
    waits_.push_back(add(stream_id(graph::Stream::host), launch_row(task, d), engine::Step::kNoGroup, take_host_waits(),
                         {id, report::StepRole::host_dispatch, i}));
    return {};
  }

  Result<Duration> dispatch_time(const graph::Task& task) const {
    const workload::FrameworkSpec& f = launch_.framework;
    const bool forward = task.phase == graph::Phase::forward || task.phase == graph::Phase::input;
    const double per_op = (forward ? f.host.per_op : f.host.per_op_backward).seconds() * f.host.scale;
    const double seconds = task.dispatch.framework_ops * per_op + task.dispatch.kernels * f.host.per_launch.seconds();
    const double scale = launch_.host.launch_factor() * (task.partition.valid() ? launch_.collective_launch : 1);
    return Duration::from_seconds(seconds * scale);
  }

  /// Whose first kernel starts while the host launches the others.
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
    return row_by(task, of_variant);
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
    return task.rank_table == graph::Task::kUniform ? engine::Row(of_variant.front()) : row_by(task, of_variant);
  }

  /// A number by a task's variants: one for all ranks if they are equal. The passes of a pipeline ask for the same row
  /// again and again, and share it.
  engine::Row row_by(const graph::Task& task, const std::vector<std::int64_t>& of_variant) {
    const auto [known, is_new] = rows_.try_emplace({task.rank_table, of_variant});
    if (is_new) known->second = written_out(task, of_variant);
    return known->second;
  }
  engine::Row written_out(const graph::Task& task, const std::vector<std::int64_t>& of_variant) const {
    const auto& table = graph_.rank_tables[task.rank_table];
    std::vector<std::int64_t> values(table.size() / graph_.alike);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = of_variant[table[i * graph_.alike]];
    return engine::Row(std::move(values), graph_.alike);
  }

  StepId add(StreamId stream, engine::Row duration, std::uint32_t group, const std::vector<StepId>& waits,
             report::StepOrigin origin) {
    out_.origins.push_back(origin);
    return out_.program.add(engine::Step{stream, std::move(duration), group}, waits);
  }

  /// Steps that the host must wait for before it goes on; each is waited for once.
  std::vector<StepId> take_host_waits() {
    std::vector<StepId> taken;
    taken.swap(host_waits_);
    return taken;
  }

  const graph::CostedGraph& costed_;
  const graph::TaskGraph& graph_;
  const LaunchModel& launch_;
  Lowered out_;
  std::map<std::pair<std::uint32_t, std::vector<std::int64_t>>, engine::Row>
      rows_;  ///< by table of ranks and numbers of its variants
  IdVector<TaskId, engine::Row> durations_;
  IdVector<TaskId, StepId> device_step_;
  std::vector<bool> started_;
  std::vector<StepId> waits_, host_waits_;
  StepId graph_launch_;
  Duration later_launches_;  ///< of a sequence, while its task is lowered
  double launches_ = 0;      ///< seconds_of_launches
};

}  // namespace

double detours_of_latest(const topology::HostSpec& host, double busy_seconds, std::uint32_t ranks) {
  const double each = host.jitter_rate.value() * busy_seconds;  // detours of one rank
  return host.jitter_time.seconds() * (std::log1p(each * ranks) - std::log1p(each));
}

Result<Lowered> lower(const graph::CostedGraph& costed, const LaunchModel& launch, std::uint16_t iterations) {
  return Lowering(costed, launch).run(iterations);
}

}  // namespace distsim::pipeline
