// A small job for the tests: tasks with given durations, lowered as an eager framework does (one launch a task), played
// by the row evaluator.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "sim/engine/rows/row_evaluator.hpp"
#include "sim/graph/costed_graph.hpp"
#include "sim/report/report.hpp"

namespace distsim::report {

struct Job {
  graph::CostedGraph costed;
  engine::Program program;
  IdVector<StepId, StepOrigin> origins;
  engine::Timeline timeline;
  std::uint16_t iterations = 1;
  Played played() const { return {&costed, &program, &origins, &timeline, iterations}; }
  Report report(ReportContext context = {}) const { return analyse(played(), std::move(context)); }
};

/// Durations are picoseconds.
class JobBuilder {
 public:
  explicit JobBuilder(std::uint32_t ranks) : ranks_(ranks), builder_(ranks) {}

  /// Host time of each following launch.
  JobBuilder& launch(std::int64_t ps) {
    launch_ = ps;
    return *this;
  }
  /// Spread and basis of each following cost.
  JobBuilder& cost(double low, double high, graph::Basis basis, std::string_view source = "test") {
    low_ = low;
    high_ = high;
    basis_ = basis;
    source_ = source;
    return *this;
  }

  TaskId compute(std::string_view name, std::int64_t ps, std::vector<TaskId> deps = {},
                 graph::Op op = graph::Gemm{1, 10, 10, 10}, graph::Phase phase = graph::Phase::forward,
                 graph::Stream stream = graph::Stream::compute) {
    const TaskId id = builder_.add(name, {stream, phase, {}, false}, std::move(op), deps);
    return note(id, {ps});
  }

  /// Ranks differ: rank r runs gemms of ps_of_rank[r]; 0 is an absent rank.
  TaskId compute_per_rank(std::string_view name, std::vector<std::int64_t> ps_of_rank, std::vector<TaskId> deps = {},
                          graph::Stream stream = graph::Stream::compute) {
    std::vector<graph::Op> variants;
    std::vector<std::uint32_t> table;
    for (std::uint32_t r = 0; r < ranks_; ++r) {
      variants.push_back(ps_of_rank[r] > 0 ? graph::Op(graph::Gemm{1, 10, 10, 10 + r}) : graph::Op(graph::Absent{}));
      table.push_back(r);
    }
    return note(builder_.add_per_rank(name, {stream, graph::Phase::forward, {}, false}, std::move(variants),
                                      std::move(table), deps),
                std::move(ps_of_rank));
  }

  TaskId collective(std::string_view name, std::int64_t ps, std::int64_t bytes, std::vector<TaskId> deps = {},
                    graph::CollectiveKind kind = graph::CollectiveKind::all_reduce,
                    graph::Stream stream = graph::Stream::comm, graph::Partition partition = {}) {
    if (partition.size == 1 && partition.listed_offsets.empty()) partition = graph::Partition::strided(ranks_, 1);
    graph::Collective c;
    c.kind = kind;
    c.bytes = bytes;
    return note(builder_.add_collective(name, {stream, graph::Phase::gradient_sync, {}, false}, c, partition, deps),
                {ps});
  }

  /// Of all ranks, with sizes of its own for each.
  TaskId collective(std::string_view name, std::int64_t ps, graph::Collective c) {
    return note(builder_.add_collective(name, {graph::Stream::comm, graph::Phase::gradient_sync, {}, false},
                                        std::move(c), graph::Partition::strided(ranks_, 1), {}),
                {ps});
  }

  Job play(std::uint16_t iterations, std::int64_t step_overhead = 0) {
    Job job;
    auto graph = std::move(builder_).finish();
    EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : graph.error().text());
    job.costed.graph = std::move(graph).value();
    job.iterations = iterations;
    fill_costs(job);
    job.program.ranks = ranks_;
    job.program.streams = graph::kStreamCount;
    for (const graph::Partition& p : job.costed.graph.partitions)
      job.program.groups.push_back({p.size, p.stride, p.listed_offsets, p.listed_members});
    for (std::uint16_t i = 0; i < iterations; ++i) lower(job, i, step_overhead);
    auto timeline = engine::evaluate_rows(job.program);
    EXPECT_TRUE(timeline.ok()) << (timeline.ok() ? "" : timeline.error().text());
    job.timeline = std::move(timeline).value();
    return job;
  }

 private:
  struct Note {
    std::vector<std::int64_t> ps;
    std::int64_t launch;
    double low, high;
    graph::Basis basis;
    std::string_view source;
  };

  TaskId note(TaskId id, std::vector<std::int64_t> ps) {
    notes_.push_back({std::move(ps), launch_, low_, high_, basis_, source_});
    return id;
  }

  void fill_costs(Job& job) const {
    job.costed.costs = IdVector<OpId, graph::Cost>(job.costed.graph.ops.size());
    for (std::uint32_t t = 0; t < notes_.size(); ++t) {
      const graph::Task& task = job.costed.graph.tasks[TaskId(t)];
      for (std::uint32_t v = 0; v < task.variants; ++v) {
        const Note& n = notes_[t];
        const std::int64_t ps = n.ps[v];
        const auto part = [ps](double share) {
          return Duration::picoseconds(std::llround(static_cast<double>(ps) * share));
        };
        job.costed.costs[OpId(task.first_op.value() + v)] = {part(1), part(1 - n.low), part(1 + n.high), n.basis,
                                                             n.source};
      }
    }
  }

  void lower(Job& job, std::uint16_t iteration, std::int64_t step_overhead) const {
    const graph::TaskGraph& graph = job.costed.graph;
    const StreamId host(static_cast<std::uint32_t>(graph::Stream::host));
    if (step_overhead > 0) {
      job.program.add({host, engine::Row(step_overhead), engine::Step::kNoGroup}, {});
      job.origins.push_back({TaskId(), StepRole::step_overhead, iteration});
    }
    std::vector<StepId> of_task;
    for (std::uint32_t t = 0; t < graph.tasks.size(); ++t) {
      const graph::Task& task = graph.tasks[TaskId(t)];
      std::vector<StepId> waits;
      for (const TaskId d : graph.dependencies(TaskId(t))) waits.push_back(of_task[d.value()]);
      waits.push_back(job.program.add({host, engine::Row(notes_[t].launch), engine::Step::kNoGroup}, {}));
      job.origins.push_back({TaskId(t), StepRole::host_dispatch, iteration});
      const engine::Row row = notes_[t].ps.size() == 1 ? engine::Row(notes_[t].ps[0]) : engine::Row(notes_[t].ps);
      const std::uint32_t group = task.partition.valid() ? task.partition.value() : engine::Step::kNoGroup;
      of_task.push_back(job.program.add({StreamId(static_cast<std::uint32_t>(task.stream)), row, group}, waits));
      job.origins.push_back({TaskId(t), StepRole::device, iteration});
    }
  }

  std::uint32_t ranks_;
  graph::TaskGraphBuilder builder_;
  std::int64_t launch_ = 0;
  double low_ = 0, high_ = 0;
  graph::Basis basis_ = graph::Basis::analytic;
  std::string_view source_ = "test";
  std::vector<Note> notes_;
};

}  // namespace distsim::report
