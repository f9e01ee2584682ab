#include "sim/workload/graph/iteration.hpp"

#include <utility>

namespace distsim::workload {
namespace {

/// The product, or the cast of its result.
bool is_weight_gradient(const LayerOp& op) {
  const graph::Gemm* product = std::get_if<graph::Gemm>(&op.op);
  return product != nullptr ? product->pass == graph::Pass::backward_weight : op.casts_gradient;
}

}  // namespace

LayerStack::LayerStack(const LayerFactory& factory, const SampleSplit& split) {
  for (const std::int64_t samples : split.sizes()) by_size.push_back(factory(samples));
}

const LayerStack& LayerStacks::of(const SampleSplit& split) {
  const auto [it, is_new] = stacks_.try_emplace(split.sizes());
  if (is_new) it->second = LayerStack(factory_, split);
  return it->second;
}

Iteration::Iteration(std::uint32_t ranks, const FrameworkSpec& framework, const Numerics& numerics, std::uint32_t alike)
    : ranks_(ranks), framework_(framework), numerics_(numerics), graph_(ranks, alike) {}

TaskId Iteration::add(std::string_view name, const graph::TaskGraphBuilder::Options& options,
                      std::vector<graph::Op> ops, std::uint32_t rank_table, std::vector<TaskId> deps) {
  const bool on_compute = options.stream == graph::Stream::compute;
  if (on_compute) {
    deps.insert(deps.end(), compute_waits_.begin(), compute_waits_.end());
    compute_waits_.clear();
  }
  TaskId task;
  if (restriction_ != graph::Task::kUniform) {
    CHECK(ops.size() == 1) << "a restricted task has one op for all that run it";
    graph::TaskGraphBuilder::Options restricted = options;
    restricted.skipped_where_absent = true;
    ops.emplace_back(graph::Absent{});
    task = graph_.add_per_rank(name, restricted, std::move(ops), restriction_, deps);
  } else if (ops.size() == 1) {
    task = graph_.add(name, options, std::move(ops.front()), deps);
  } else {
    task = graph_.add_per_rank(name, options, std::move(ops), rank_table, deps);
  }
  if (on_compute) last_compute_ = task;
  return task;
}

std::uint32_t Iteration::table_of(const SampleSplit& split) {
  return split.uniform() ? graph::Task::kUniform : graph_.add_rank_table(split.variant_of_rank());
}

TaskId Iteration::add_collective(std::string_view name, graph::Stream stream, graph::Phase phase,
                                 graph::Collective collective, const graph::Partition& groups,
                                 std::vector<TaskId> deps) {
  if (ranks_ == 1) return {};
  if (last_compute_.valid()) deps.push_back(last_compute_);
  graph::TaskGraphBuilder::Options options{stream, phase, {1, 1}};
  options.skipped_where_absent = restriction_ != graph::Task::kUniform;
  return graph_.add_collective(name, options, std::move(collective), graph_.add_partition(groups), deps, restriction_);
}

TaskId Iteration::add_between_stages(std::string_view name, graph::Stream stream, graph::Phase phase,
                                     graph::Collective collective, PartitionId groups, std::uint32_t rank_table) {
  graph::TaskGraphBuilder::Options options{stream, phase, {1, 1}};
  options.skipped_where_absent = rank_table != graph::Task::kUniform;
  options.between_stages = true;
  std::vector<TaskId> deps;
  if (last_compute_.valid()) deps.push_back(last_compute_);
  return graph_.add_collective(name, options, std::move(collective), groups, deps, rank_table);
}

void Iteration::compute_waits_for(TaskId task) {
  if (task.valid()) compute_waits_.push_back(task);
}

/// Nobody calls or launches it, so that it only orders.
void Iteration::add_mark(std::string_view name) {
  add(name, {graph::Stream::compute, graph::Phase::other, {0, 0}}, {graph::Absent{}});
}

void Iteration::begin_after_last_iteration() {
  if (!last_compute_.valid() && ranks_ > 1) add_mark("iteration.begin");
}

Result<graph::TaskGraph> Iteration::finish() && {
  if (!compute_waits_.empty()) add_mark("iteration.end");
  return std::move(graph_).finish();
}

void Iteration::repeat_since(TaskId first) {
  CHECK(compute_waits_.empty()) << "a repeated part ends with something that compute still waits for";
  const TaskId last = graph_.end_id();
  graph_.repeat(first, last);
  if (last_compute_.valid() && last_compute_ >= first)
    last_compute_ = TaskId(last_compute_.value() + last.value() - first.value());
}

void Iteration::add_ops(const LayerStack& stack, std::size_t index, const SampleSplit& split, graph::Phase phase,
                        bool backward) {
  const auto ops_of = [&](std::size_t size) -> const std::vector<LayerOp>& {
    const Layer& layer = stack.by_size[size][index];
    return backward ? layer.backward : layer.forward;
  };
  const std::uint32_t table = stack.by_size.size() > 1 ? table_of(split) : graph::Task::kUniform;
  std::size_t fullest = 0;
  for (std::size_t size = 1; size < stack.by_size.size(); ++size)
    if (ops_of(size).size() > ops_of(fullest).size()) fullest = size;
  std::vector<std::size_t> next(stack.by_size.size(), 0);
  for (const LayerOp& op : ops_of(fullest)) {
    std::vector<graph::Op> variants;
    for (std::size_t size = 0; size < stack.by_size.size(); ++size) {
      // A size may lack a kernel: the heads of one sample are in their order already.
      const std::vector<LayerOp>& ops = ops_of(size);
      const bool has = next[size] < ops.size() && ops[next[size]].name == op.name;
      variants.push_back(has ? ops[next[size]++].op : graph::Op(graph::Absent{}));
    }
    const graph::TaskGraphBuilder::Options options{graph::Stream::compute, phase, op.dispatch, op.blocks_host};
    if (holding_ && backward && is_weight_gradient(op))
      held_back_.push_back({op.name, options, std::move(variants), table});
    else
      add(op.name, options, std::move(variants), table);
  }
  for (std::size_t size = 0; size < stack.by_size.size(); ++size)
    CHECK(next[size] == ops_of(size).size()) << "layers of different sizes differ in kind";
}

void Iteration::add_held_back() {
  holding_ = false;
  for (HeldBack& h : held_back_) add(h.name, h.options, std::move(h.ops), h.rank_table);
  held_back_.clear();
}

void Iteration::add_forward(const LayerStack& stack, std::size_t index, const SampleSplit& split, graph::Phase phase) {
  add_ops(stack, index, split, phase, false);
}

void Iteration::add_backward(const LayerStack& stack, std::size_t index, const SampleSplit& split) {
  add_ops(stack, index, split, graph::Phase::backward, true);
}

void Iteration::add_forward(const LayerStack& stack, const SampleSplit& split) {
  for (std::size_t i = 0; i < stack.depth(); ++i) add_forward(stack, i, split);
}

}  // namespace distsim::workload
