// What every task graph keeps to: groups, variants, tables of ranks, dependencies.
#include <algorithm>
#include <optional>
#include <set>

#include "sim/graph/task_graph.hpp"

namespace distsim::graph {
namespace {

using Broken = std::optional<std::string>;

Broken broken_listed_groups(const Partition& p, std::uint32_t ranks) {
  if (p.listed_offsets.size() < 2 || p.listed_offsets.front() != 0 ||
      p.listed_offsets.back() != p.listed_members.size()) {
    return "group offsets do not span the members";
  }
  if (!std::is_sorted(p.listed_offsets.begin(), p.listed_offsets.end())) return "group offsets decrease";
  if (p.each == 0 || ranks % p.each != 0)
    return "blocks of " + std::to_string(p.each) + " ranks do not divide " + std::to_string(ranks);
  ranks /= p.each;
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
  if (c.times < 1) return "a collective that does not run once";
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

/// The ops of a sequence come before it; they are kernels, or what the GPU waits for on the host between them.
Broken broken_sequence(const TaskGraph& g, const Task& task) {
  for (std::uint32_t v = 0; v < task.variants; ++v) {
    const OpId id(task.first_op.value() + v);
    const auto* sequence = std::get_if<Sequence>(&g.ops[id]);
    if (sequence == nullptr) continue;
    if (sequence->index < 0 || static_cast<std::size_t>(sequence->index) >= g.sequences.size())
      return "no such sequence";
    for (const SequencePart& part : g.sequences[static_cast<std::size_t>(sequence->index)]) {
      if (!part.op.valid() || part.op >= id) return "a sequence of ops that are not before it";
      const Work work = work_of(g.ops[part.op]);
      if (work != Work::kernel && work != Work::host) return "a sequence of what is neither kernel nor host work";
      if (!(part.times >= 0)) return "an op that runs less than 0 times";
    }
  }
  return {};
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

/// Calls visit(first, second) for neighbours in each group, until it returns false; says whether it never did. Of blocks that
/// are listed the first ranks stand for all: `alike` neighbours are not told apart.
bool all_neighbours(const Partition& p, std::uint32_t ranks, std::uint32_t alike, auto visit) {
  for (std::size_t g = 0; g + 1 < p.listed_offsets.size(); ++g) {
    for (std::uint32_t i = p.listed_offsets[g] + 1; i < p.listed_offsets[g + 1]; ++i) {
      for (std::uint32_t k = 0; k < p.each; k += alike) {
        if (!visit(p.listed_members[i - 1] * p.each + k, p.listed_members[i] * p.each + k)) return false;
      }
    }
  }
  if (!p.listed_offsets.empty() || alike % (std::uint64_t{p.size} * p.stride) == 0) return true;
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
    const auto variant = [&](std::uint32_t rank) { return g.variant_of_table(task.rank_table, rank); };
    if (!all_neighbours(g.partitions[task.partition], g.ranks, g.alike,
                        [&](auto a, auto b) { return variant(a) == variant(b); })) {
      return "task " + g.names[task.name] + ": some members of a group take part and others do not";
    }
  }
  return {};
}

Broken broken_likeness(const TaskGraph& g) {
  if (g.alike == 0 || g.repeats == 0 || g.ranks % (std::uint64_t{g.alike} * g.repeats) != 0)
    return std::to_string(g.alike) + " ranks alike" +
           (g.repeats == 1 ? "" : ", " + std::to_string(g.repeats) + " times,") + " do not divide " +
           std::to_string(g.ranks);
  return {};
}

/// Number of variants that a table of ranks asks for; its length is checked too.
struct TableNeed {
  std::size_t places = 0;
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
  if (need.places * g.alike * g.repeats != g.ranks)
    return "table of " + std::to_string(need.places * g.alike * g.repeats) + " ranks, expected " +
           std::to_string(g.ranks);
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

/// Tasks that share their ops (TaskGraphBuilder::add_like) are looked at once.
class Checked {
 public:
  explicit Checked(const TaskGraph& g) : g_(g), by_op_(g.ops.size(), kNone) {}
  bool as_before(TaskId t) {
    const Task& task = g_.tasks[t];
    if (task.first_op.value() >= by_op_.size()) return false;
    std::uint32_t& known = by_op_[task.first_op.value()];
    if (known == kNone) {
      known = t.value();
      return false;
    }
    const Task& like = g_.tasks[TaskId(known)];
    return like.variants == task.variants && like.rank_table == task.rank_table && like.partition == task.partition;
  }

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;
  const TaskGraph& g_;
  std::vector<std::uint32_t> by_op_;
};

Broken broken_task(const TaskGraph& g, TaskId t, const std::vector<TableNeed>& needs, Checked& checked) {
  if (auto broken = broken_dependencies(g, t)) return broken;
  if (checked.as_before(t)) return {};
  if (auto broken = broken_variants(g, g.tasks[t], needs)) return broken;
  if (auto broken = broken_sequence(g, g.tasks[t])) return broken;
  return broken_collective(g, g.tasks[t]);
}

}  // namespace

Result<void> check(const TaskGraph& graph) {
  if (graph.ranks == 0) return Error{"task graph: found 0 ranks, expected at least 1", "", ""};
  for (const Partition& p : graph.partitions) {
    if (const auto broken = broken_partition(p, graph.ranks))
      return Error{"groups of a collective: " + *broken, "", ""};
  }
  const std::vector<TableNeed> needs = needs_of(graph.rank_tables);
  if (const auto broken = broken_likeness(graph)) return Error{"task graph: " + *broken, "", ""};
  Checked checked(graph);
  for (std::uint32_t t = 0; t < graph.tasks.size(); ++t) {
    if (const auto broken = broken_task(graph, TaskId(t), needs, checked)) {
      return Error{"task " + std::to_string(t) + " '" + graph.names[graph.tasks[TaskId(t)].name] + "': " + *broken, "",
                   ""};
    }
  }
  if (const auto broken = broken_absences(graph)) return Error{*broken, "", ""};
  return {};
}

}  // namespace distsim::graph
