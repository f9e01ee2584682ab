// Iteration: writes the tasks of one training iteration into a TaskGraph, stream by stream. Tasks of one stream run in
// the order in which they are added, so dependencies are given between streams only.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/graph/task_graph.hpp"
#include "sim/workload/layers/layer.hpp"
#include "sim/workload/specs/samples.hpp"

namespace distsim::workload {

/// One layer stack for each size of a SampleSplit (one or two); they differ only in shapes.
struct LayerStack {
  std::vector<std::vector<Layer>> by_size;
  LayerStack() = default;
  LayerStack(const LayerFactory& factory, const SampleSplit& split);
  const std::vector<Layer>& largest() const { return by_size.front(); }
  std::size_t depth() const { return by_size.empty() ? 0 : by_size.front().size(); }
};

/// Stacks by the sizes of a split, built once each.
class LayerStacks {
 public:
  explicit LayerStacks(LayerFactory factory) : factory_(std::move(factory)) {}
  const LayerStack& of(const SampleSplit& split);

 private:
  LayerFactory factory_;
  std::map<std::vector<std::int64_t>, LayerStack> stacks_;
};

class Iteration {
 public:
  /// `alike`: as in TaskGraph.
  Iteration(std::uint32_t ranks, const FrameworkSpec& framework, const Numerics& numerics, std::uint32_t alike = 1);

  std::uint32_t ranks() const { return ranks_; }
  const FrameworkSpec& framework() const { return framework_; }
  const Numerics& numerics() const { return numerics_; }
  LayerContext context() const { return {numerics_, &framework_}; }

  /// Adds a task; on the compute stream it first waits for everything named by compute_waits_for. `ops` has one op for
  /// each variant of the table, or a single one for all ranks.
  TaskId add(std::string_view name, const graph::TaskGraphBuilder::Options& options, std::vector<graph::Op> ops,
             std::uint32_t rank_table = graph::Task::kUniform, std::vector<TaskId> deps = {});
  /// Table of ranks for a split of samples (kUniform where all ranks take as many).
  std::uint32_t table_of(const SampleSplit& split);
  std::uint32_t table_of(std::vector<std::uint32_t> variant_of_rank) {
    return graph_.add_rank_table(std::move(variant_of_rank));
  }

  /// A collective on a communication stream, after the last compute task and `deps`. With one rank there is none:
  /// returns an invalid id.
  TaskId add_collective(std::string_view name, graph::Stream stream, graph::Phase phase, graph::Collective collective,
                        const graph::Partition& groups, std::vector<TaskId> deps = {});

  /// From here on, only the ranks that the table maps to 0 run tasks (it maps the others to 1), until it is kUniform
  /// again. The others neither run nor launch them.
  void restrict_to(std::uint32_t rank_table) { restriction_ = rank_table; }
  /// A collective between stages of a pipeline, for the ranks that the table gives 0: waiting for each other counts as
  /// idle time.
  TaskId add_between_stages(std::string_view name, graph::Stream stream, graph::Phase phase,
                            graph::Collective collective, PartitionId groups, std::uint32_t rank_table);
  PartitionId add_partition(const graph::Partition& partition) { return graph_.add_partition(partition); }

  /// Forward or backward ops of layer `index` of a stack, on every rank.
  void add_forward(const LayerStack& stack, std::size_t index, const SampleSplit& split,
                   graph::Phase phase = graph::Phase::forward);
  void add_backward(const LayerStack& stack, std::size_t index, const SampleSplit& split);
  void add_forward(const LayerStack& stack, const SampleSplit& split);
  /// From now on add_backward holds weight gradients (products marked Pass::backward_weight) back; add_held_back adds
  /// them, and holds no more.
  void hold_weight_gradients_back() { holding_ = true; }
  void add_held_back();

  /// Repeats what has been added since `first`, sharing its ops: a micro-step like the one before.
  void repeat_since(TaskId first);
  TaskId end_id() const { return graph_.end_id(); }

  /// The next compute task waits for `task`; invalid ids are ignored. What comes last holds back the next iteration: see
  /// finish.
  void compute_waits_for(TaskId task);
  /// Where no compute task is there yet: a mark that takes no time, so that a collective that comes first begins after the
  /// last iteration's compute tasks.
  void begin_after_last_iteration();
  TaskId last_compute() const { return last_compute_; }

  graph::Stream exchange_stream() const { return graph::Stream::comm; }
  graph::Stream gradient_stream() const {
    return framework_.gradients.separate_stream ? graph::Stream::comm.lane(1) : graph::Stream::comm;
  }
  graph::Partition world() const { return graph::Partition::strided(ranks_, 1); }

  /// What compute still waits for is waited for by a last mark on the compute stream, which takes no time.
  Result<graph::TaskGraph> finish() &&;

 private:
  struct HeldBack {
    std::string name;
    graph::TaskGraphBuilder::Options options;
    std::vector<graph::Op> ops;
    std::uint32_t rank_table;
  };
  void add_mark(std::string_view name);
  void add_ops(const LayerStack& stack, std::size_t index, const SampleSplit& split, graph::Phase phase, bool backward);

  std::uint32_t ranks_;
  const FrameworkSpec& framework_;
  Numerics numerics_;
  graph::TaskGraphBuilder graph_;
  TaskId last_compute_;
  std::vector<TaskId> compute_waits_;
  bool holding_ = false;
  std::vector<HeldBack> held_back_;
  std::uint32_t restriction_ = graph::Task::kUniform;
};

}  // namespace distsim::workload
