#include "sim/graph/task_graph.hpp"

#include <algorithm>
#include <utility>

namespace distsim::graph {

std::string_view name_of(Stream stream) {
  static constexpr std::array<std::string_view, kStreamCount> kNames{"host", "compute", "comm", "comm2",  "copy",
                                                                     "p2p",  "p2p2",    "p2p3", "loader", "loader2"};
  return kNames[stream.number()];
}

std::string_view name_of(Phase phase) {
  switch (phase) {
    case Phase::input:
      return "input";
    case Phase::forward:
      return "forward";
    case Phase::backward:
      return "backward";
    case Phase::exchange:
      return "exchange";
    case Phase::gradient_sync:
      return "gradient_sync";
    case Phase::optimizer:
      return "optimizer";
    case Phase::other:
      return "other";
  }
  CHECK(false) << "phase " << static_cast<int>(phase);
  return "";
}

Partition listed_by_rank(const Partition& p) {
  if (p.each == 1) return p;
  Partition out;
  out.listed_offsets = {0};
  out.listed_members.reserve(p.listed_members.size() * p.each);
  for (std::size_t g = 0; g + 1 < p.listed_offsets.size(); ++g) {
    for (std::uint32_t i = 0; i < p.each; ++i) {
      for (std::uint32_t m = p.listed_offsets[g]; m < p.listed_offsets[g + 1]; ++m)
        out.listed_members.push_back(p.listed_members[m] * p.each + i);
      out.listed_offsets.push_back(static_cast<std::uint32_t>(out.listed_members.size()));
    }
  }
  return out;
}

TaskGraphBuilder::TaskGraphBuilder(std::uint32_t ranks, std::uint32_t alike, std::uint32_t repeats) {
  graph_.ranks = ranks;
  graph_.alike = alike;
  graph_.repeats = repeats;
}

NameId TaskGraphBuilder::intern(std::string_view name) {
  const auto [it, is_new] = name_ids_.try_emplace(std::string(name));
  if (is_new) it->second = graph_.names.push_back(it->first);
  return it->second;
}

TaskId TaskGraphBuilder::push(std::string_view name, const Options& options, std::vector<Op> variants,
                              std::span<const TaskId> deps) {
  Task task;
  task.name = intern(name);
  task.stream = options.stream;
  task.phase = options.phase;
  task.dispatch = options.dispatch;
  task.blocks_host = options.blocks_host;
  task.skipped_where_absent = options.skipped_where_absent;
  task.between_stages = options.between_stages;
  task.first_op = graph_.ops.end_id();
  task.variants = static_cast<std::uint32_t>(variants.size());
  for (Op& op : variants) graph_.ops.push_back(std::move(op));
  graph_.deps.insert(graph_.deps.end(), deps.begin(), deps.end());
  graph_.dep_offsets.push_back(static_cast<std::uint32_t>(graph_.deps.size()));
  return graph_.tasks.push_back(task);
}

Sequence TaskGraphBuilder::add_sequence(std::span<const std::pair<Op, double>> parts) {
  Sequence sequence;
  sequence.index = static_cast<std::int64_t>(graph_.sequences.size());
  std::vector<SequencePart>& list = graph_.sequences.emplace_back();
  for (const auto& [op, times] : parts) {
    sequence.flops += flops_of(op) * times;
    list.push_back({graph_.ops.push_back(op), times});
  }
  return sequence;
}

TaskId TaskGraphBuilder::add(std::string_view name, const Options& options, Op op, std::span<const TaskId> deps) {
  std::vector<Op> one;
  one.push_back(std::move(op));
  return push(name, options, std::move(one), deps);
}

std::uint32_t TaskGraphBuilder::add_rank_table(std::vector<std::uint32_t> variant_of_place) {
  const auto found = std::find(graph_.rank_tables.begin(), graph_.rank_tables.end(), variant_of_place);
  const auto index = static_cast<std::uint32_t>(found - graph_.rank_tables.begin());
  if (found == graph_.rank_tables.end()) graph_.rank_tables.push_back(std::move(variant_of_place));
  return index;
}

TaskId TaskGraphBuilder::add_per_rank(std::string_view name, const Options& options, std::vector<Op> variants,
                                      std::uint32_t rank_table, std::span<const TaskId> deps) {
  const TaskId task = push(name, options, std::move(variants), deps);
  graph_.tasks[task].rank_table = rank_table;
  return task;
}

TaskId TaskGraphBuilder::add_per_rank(std::string_view name, const Options& options, std::vector<Op> variants,
                                      std::vector<std::uint32_t> variant_of_rank, std::span<const TaskId> deps) {
  return add_per_rank(name, options, std::move(variants), add_rank_table(std::move(variant_of_rank)), deps);
}

PartitionId TaskGraphBuilder::add_partition(const Partition& partition) {
  const auto& known = graph_.partitions.raw();
  const auto found = std::find(known.begin(), known.end(), partition);
  return found == known.end() ? graph_.partitions.push_back(partition)
                              : PartitionId(static_cast<std::uint32_t>(found - known.begin()));
}

TaskId TaskGraphBuilder::add_collective(std::string_view name, const Options& options, Collective collective,
                                        PartitionId partition, std::span<const TaskId> deps, std::uint32_t rank_table) {
  std::vector<Op> variants;
  variants.push_back(std::move(collective));
  if (rank_table != Task::kUniform) variants.push_back(Absent{});
  const TaskId task = push(name, options, std::move(variants), deps);
  graph_.tasks[task].rank_table = rank_table;
  graph_.tasks[task].partition = partition;
  return task;
}

TaskId TaskGraphBuilder::add_like(TaskId earlier, std::span<const TaskId> deps) {
  graph_.deps.insert(graph_.deps.end(), deps.begin(), deps.end());
  graph_.dep_offsets.push_back(static_cast<std::uint32_t>(graph_.deps.size()));
  const Task task = graph_.tasks[earlier];
  return graph_.tasks.push_back(task);
}

void TaskGraphBuilder::repeat(TaskId first, TaskId last) {
  CHECK(first <= last && last <= graph_.tasks.end_id()) << "tasks " << first.value() << " .. " << last.value();
  const std::uint32_t offset = graph_.tasks.end_id().value() - first.value();
  for (TaskId t = first; t < last; t = TaskId(t.value() + 1)) {
    for (std::uint32_t d = graph_.dep_offsets[t.value()]; d < graph_.dep_offsets[t.value() + 1]; ++d) {
      const TaskId dep = graph_.deps[d];
      graph_.deps.push_back(dep < first ? dep : TaskId(dep.value() + offset));
    }
    graph_.dep_offsets.push_back(static_cast<std::uint32_t>(graph_.deps.size()));
    graph_.tasks.push_back(graph_.tasks[t]);
  }
}

Result<TaskGraph> TaskGraphBuilder::finish() && {
  TRY(check(graph_));
  return std::move(graph_);
}

}  // namespace distsim::graph
