#include "sim/graph/task_graph.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace distsim::graph {

std::string_view name_of(Stream stream) {
  static constexpr std::array<std::string_view, kStreamCount> kNames{"host", "compute", "comm", "comm2",
                                                                     "copy", "p2p",     "p2p2", "p2p3"};
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

namespace {

using Broken = std::optional<std::string>;

Broken broken_listed_groups(const Partition& p, std::uint32_t ranks) {
  if (p.listed_offsets.size() < 2 || p.listed_offsets.front() != 0 ||
      p.listed_offsets.back() != p.listed_members.size()) {
    return "group offsets do not span the members";
  }
  if (!std::is_sorted(p.listed_offsets.begin(), p.listed_offsets.end())) return "group offsets decrease";
  if (p.listed_members.size() != ranks) {
    return "found " + std::to_string(p.listed_members.size()) + " members, expected each of the " +
           std::to_string(ranks) + " ranks once";
  }
  std::vector<bool> seen(ranks, false);
  for (const std::uint32_t rank : p.listed_members) {
    if (rank >= ranks) return "rank " + std::to_string(rank) + " of " + std::to_string(ranks);
    if (seen[rank]) return "rank " + std::to_string(rank) + " is in two groups";
    seen[rank] = true;
  }
  return {};
}

Broken broken_partition(const Partition& p, std::uint32_t ranks) {
  if (!p.listed_offsets.empty()) return broken_listed_groups(p, ranks);
  if (p.size == 0 || p.stride == 0) return "empty group";
  const std::uint64_t block = std::uint64_t{p.size} * p.stride;
  if (ranks % block != 0) {
    return "groups of " + std::to_string(p.size) + " ranks " + std::to_string(p.stride) + " apart do not divide " +
           std::to_string(ranks) + " ranks";
  }
  return {};
}

bool all_groups_have(const Partition& p, std::size_t members) {
  if (p.listed_offsets.empty()) return p.size == members;
  for (std::size_t g = 0; g + 1 < p.listed_offsets.size(); ++g) {
    if (p.listed_offsets[g + 1] - p.listed_offsets[g] != members) return false;
  }
  return true;
}

Broken broken_sizes(const Collective& c, const Partition& p) {
  if (c.bytes < 0) return "negative bytes";
  if (c.send_bytes.size() != c.recv_bytes.size()) return "send and receive sizes are not of one length";
  if (c.send_bytes.empty()) return {};
  if (!all_groups_have(p, c.send_bytes.size()))
    return "sizes for " + std::to_string(c.send_bytes.size()) + " members do not fit the groups";
  std::uint64_t balance = 0;  // unsigned, so that absurd sizes wrap instead of overflowing
  for (std::size_t i = 0; i < c.send_bytes.size(); ++i) {
    if (c.send_bytes[i] < 0 || c.recv_bytes[i] < 0) return "negative size of member " + std::to_string(i);
    balance += static_cast<std::uint64_t>(c.send_bytes[i]) - static_cast<std::uint64_t>(c.recv_bytes[i]);
  }
  if (balance != 0)
    return "members send " + std::to_string(static_cast<std::int64_t>(balance)) + " bytes more than they receive";
  return {};
}

bool runs_as(const TaskGraph& g, const Task& task, auto is) {
  for (std::uint32_t v = 0; v < task.variants; ++v) {
    if (is(g.ops[OpId(task.first_op.value() + v)])) return true;
  }
  return false;
}

Broken broken_collective(const TaskGraph& g, const Task& task) {
  if (!runs_as(g, task, [](const Op& op) { return std::holds_alternative<Collective>(op); })) {
    return task.partition.valid() ? Broken("has groups but is no collective") : Broken();
  }
  const auto absent = [&](std::uint32_t v) {
    return std::holds_alternative<Absent>(g.ops[OpId(task.first_op.value() + v)]);
  };
  if (absent(0) || task.variants > 2 || (task.variants == 2 && !absent(1))) {
    return "a collective has one op for all ranks, or none of them; sizes differ through send_bytes and recv_bytes";
  }
  if (!task.partition.valid() || task.partition.value() >= g.partitions.size()) return "a collective without groups";
  return broken_sizes(std::get<Collective>(g.ops[task.first_op]), g.partitions[task.partition]);
}

/// Calls visit(first, second) for neighbours in each group, until it returns false; says whether it never did.
bool all_neighbours(const Partition& p, std::uint32_t ranks, auto visit) {
  for (std::size_t g = 0; g + 1 < p.listed_offsets.size(); ++g) {
    for (std::uint32_t i = p.listed_offsets[g] + 1; i < p.listed_offsets[g + 1]; ++i) {
      if (!visit(p.listed_members[i - 1], p.listed_members[i])) return false;
    }
  }
  if (!p.listed_offsets.empty()) return true;
  for (std::uint32_t r = 0; r + p.stride < ranks; ++r) {
    const bool neighbours = r / p.stride % p.size + 1 < p.size;
    if (neighbours && !visit(r, r + p.stride)) return false;
  }
  return true;
}

/// Members of a group take part together or not at all. Looks at each pair of groups and table once.
Broken broken_absences(const TaskGraph& g) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  for (const Task& task : g.tasks) {
    if (!task.partition.valid() || task.rank_table == Task::kUniform ||
        !seen.insert({task.partition.value(), task.rank_table}).second)
      continue;
    const auto& table = g.rank_tables[task.rank_table];
    if (!all_neighbours(g.partitions[task.partition], g.ranks, [&](auto a, auto b) { return table[a] == table[b]; })) {
      return "task " + g.names[task.name] + ": some members of a group take part and others do not";
    }
  }
  return {};
}

Broken broken_likeness(const TaskGraph& g) {
  if (g.alike == 0 || g.ranks % g.alike != 0)
    return std::to_string(g.alike) + " ranks alike do not divide " + std::to_string(g.ranks);
  for (const auto& table : g.rank_tables) {
    for (std::uint32_t r = 0; g.alike > 1 && r < table.size(); ++r) {
      if (table[r] != table[r / g.alike * g.alike])
        return "rank " + std::to_string(r) + " is not like those it should be like";
    }
  }
  return {};
}

/// Number of variants that a table of ranks asks for; its length is checked too.
struct TableNeed {
  std::size_t ranks = 0;
  std::uint64_t variants = 0;
};

std::vector<TableNeed> needs_of(const std::vector<std::vector<std::uint32_t>>& tables) {
  std::vector<TableNeed> needs;
  for (const auto& table : tables) {
    const std::uint64_t variants = table.empty() ? 0 : std::uint64_t{*std::max_element(table.begin(), table.end())} + 1;
    needs.push_back({table.size(), variants});
  }
  return needs;
}

Broken broken_variants(const TaskGraph& g, const Task& task, const std::vector<TableNeed>& needs) {
  if (task.variants == 0 || std::uint64_t{task.first_op.value()} + task.variants > g.ops.size()) return "no ops";
  if (task.rank_table == Task::kUniform)
    return task.variants == 1 ? Broken() : Broken("several ops and no table of ranks");
  if (task.rank_table >= needs.size()) return "no such table of ranks";
  const TableNeed& need = needs[task.rank_table];
  if (need.ranks != g.ranks)
    return "table of " + std::to_string(need.ranks) + " ranks, expected " + std::to_string(g.ranks);
  if (need.variants > task.variants) {
    return "a rank runs op " + std::to_string(need.variants - 1) + ", the last is " + std::to_string(task.variants - 1);
  }
  return {};
}

Broken broken_dependencies(const TaskGraph& g, TaskId t) {
  for (const TaskId dep : g.dependencies(t)) {
    if (!dep.valid() || dep >= t) return "depends on a task that is not before it";
  }
  return {};
}

Broken broken_task(const TaskGraph& g, TaskId t, const std::vector<TableNeed>& needs) {
  if (auto broken = broken_dependencies(g, t)) return broken;
  if (auto broken = broken_variants(g, g.tasks[t], needs)) return broken;
  return broken_collective(g, g.tasks[t]);
}

}  // namespace

TaskGraphBuilder::TaskGraphBuilder(std::uint32_t ranks, std::uint32_t alike) {
  graph_.ranks = ranks;
  graph_.alike = alike;
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

TaskId TaskGraphBuilder::add(std::string_view name, const Options& options, Op op, std::span<const TaskId> deps) {
  std::vector<Op> one;
  one.push_back(std::move(op));
  return push(name, options, std::move(one), deps);
}

std::uint32_t TaskGraphBuilder::add_rank_table(std::vector<std::uint32_t> variant_of_rank) {
  const auto found = std::find(graph_.rank_tables.begin(), graph_.rank_tables.end(), variant_of_rank);
  const auto index = static_cast<std::uint32_t>(found - graph_.rank_tables.begin());
  if (found == graph_.rank_tables.end()) graph_.rank_tables.push_back(std::move(variant_of_rank));
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
  if (graph_.ranks == 0) return Error{"task graph: found 0 ranks, expected at least 1", "", ""};
  for (const Partition& p : graph_.partitions) {
    if (const auto broken = broken_partition(p, graph_.ranks))
      return Error{"groups of a collective: " + *broken, "", ""};
  }
  const std::vector<TableNeed> needs = needs_of(graph_.rank_tables);
  for (std::uint32_t t = 0; t < graph_.tasks.size(); ++t) {
    if (const auto broken = broken_task(graph_, TaskId(t), needs)) {
      return Error{"task " + std::to_string(t) + " '" + graph_.names[graph_.tasks[TaskId(t)].name] + "': " + *broken,
                   "", ""};
    }
  }
  if (const auto broken = broken_likeness(graph_)) return Error{"task graph: " + *broken, "", ""};
  if (const auto broken = broken_absences(graph_)) return Error{*broken, "", ""};
  return std::move(graph_);
}

}  // namespace distsim::graph
