#include "sim/report/work_tables.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace distsim::report {
namespace {

/// How many ranks run each variant of a task. Tables are counted once.
class VariantCounts {
 public:
  explicit VariantCounts(const graph::TaskGraph& graph) : graph_(graph), of_table_(graph.rank_tables.size()) {}

  std::uint32_t ranks_running(const graph::Task& task, std::uint32_t variant) {
    if (task.rank_table == graph::Task::kUniform) return variant == 0 ? graph_.ranks : 0;
    std::vector<std::uint32_t>& counts = of_table_[task.rank_table];
    if (counts.empty()) count(graph_.rank_tables[task.rank_table], graph_.alike * graph_.repeats, counts);
    return variant < counts.size() ? counts[variant] : 0;
  }

 private:
  static void count(const std::vector<std::uint32_t>& table, std::uint32_t alike, std::vector<std::uint32_t>& counts) {
    counts.assign(1, 0);
    for (const std::uint32_t v : table) {
      if (v >= counts.size()) counts.resize(v + 1, 0);
      counts[v] += alike;
    }
  }
  const graph::TaskGraph& graph_;
  std::vector<std::vector<std::uint32_t>> of_table_;
};

OpId variant_id(const graph::Task& task, std::uint32_t v) { return OpId(task.first_op.value() + v); }

bool is_absent(const graph::Op& op) { return std::holds_alternative<graph::Absent>(op); }

const graph::Op& first_present(const graph::TaskGraph& graph, const graph::Task& task) {
  for (std::uint32_t v = 0; v < task.variants; ++v) {
    if (!is_absent(graph.ops[variant_id(task, v)])) return graph.ops[variant_id(task, v)];
  }
  return graph.ops[task.first_op];
}

struct KindSums {
  WideTime time = 0;
  double kernels = 0, flops = 0;
};

void add_work(const graph::TaskGraph& graph, const graph::Task& task, VariantCounts& counts, KindSums& sums) {
  for (std::uint32_t v = 0; v < task.variants; ++v) {
    const graph::Op& op = graph.ops[variant_id(task, v)];
    if (is_absent(op)) continue;
    const double ranks = counts.ranks_running(task, v);
    sums.kernels += ranks * task.dispatch.kernels;
    sums.flops += ranks * graph::flops_of(op);
  }
}

OpKindTime op_row(std::string_view kind, const KindSums& s, std::uint32_t ranks) {
  OpKindTime row;
  row.kind = kind;
  row.time = mean_of(s.time, ranks);
  row.kernels = static_cast<std::uint32_t>(std::lround(s.kernels / ranks));
  const double seconds = static_cast<double>(s.time) * 1e-12;
  row.tflops = seconds > 0 ? s.flops / seconds * 1e-12 : 0;
  return row;
}

struct CollectiveSums {
  CollectiveTime row;
  std::vector<StepId> steps;
  bool same_name = true;
  std::int64_t call_bytes = 0;  ///< of the first call
  double calls = 0, bytes = 0;  ///< mean over ranks, of which maybe only those of one pipeline stage take part
  WideTime total = 0, waiting = 0;
  graph::CollectiveKind kind = graph::CollectiveKind::barrier;
};

/// `share`: of the ranks, those that take part.
void add_call(CollectiveSums& sums, const graph::Collective& collective, const graph::Cost& cost,
              const std::string& name, double share) {
  const bool first = sums.calls == 0;
  if (first) {
    sums.row.name = name;
    sums.row.kind = graph::name_of(collective.kind);
    sums.kind = collective.kind;
  }
  sums.same_name = sums.same_name && sums.row.name == name;
  const std::int64_t bytes = even_size(collective, sums.row.group_size);
  if (first) sums.call_bytes = bytes;
  sums.row.equal_calls = sums.row.equal_calls && bytes == sums.call_bytes;
  const double calls = share * static_cast<double>(collective.times);  // a task may stand for those of many layers
  sums.calls += calls;
  sums.bytes += calls * static_cast<double>(bytes);
  if (first || cost.basis > sums.row.basis) {
    sums.row.basis = cost.basis;
    sums.row.source = cost.source;
  }
}

CollectiveTime finish(const CollectiveSums& sums, const std::string& stem, std::uint32_t ranks) {
  CollectiveTime row = sums.row;
  if (!sums.same_name) {
    row.name = stem;
    while (row.name.size() > 1 && std::string_view(" *_-#.:/").find(row.name.back()) != std::string_view::npos)
      row.name.pop_back();
  }
  row.total = mean_of(sums.total, ranks);
  row.waiting = mean_of(sums.waiting, ranks);
  const double seconds = row.total.seconds();
  if (seconds > 0) row.busbw = sums.bytes / seconds * graph::busbw_factor(sums.kind, row.group_size);
  row.calls = static_cast<std::uint32_t>(std::clamp(std::round(sums.calls), 1.0, 4294967295.0));
  row.bytes = row.equal_calls ? row.calls * sums.call_bytes : std::llround(sums.bytes);
  return row;
}

/// Times of a sequence by the kinds of its ops, each with its part of `time`.
void add_sequence(const graph::CostedGraph& costed, const graph::Task& task, VariantCounts& counts, WideTime time,
                  std::map<std::string_view, KindSums>& kinds) {
  for (std::uint32_t v = 0; v < task.variants; ++v) {
    const OpId id = variant_id(task, v);
    const auto* sequence = std::get_if<graph::Sequence>(&costed.graph.ops[id]);
    if (sequence == nullptr) continue;
    const double whole = costed.costs[id].mean.seconds(), ranks = counts.ranks_running(task, v);
    double all_ranks = 0;
    for (std::uint32_t w = 0; w < task.variants; ++w)
      all_ranks += counts.ranks_running(task, w) * costed.costs[variant_id(task, w)].mean.seconds();
    for (const graph::SequencePart& part : costed.graph.sequences[static_cast<std::size_t>(sequence->index)]) {
      KindSums& of_kind = kinds[graph::kind_of(costed.graph.ops[part.op])];
      const double seconds = costed.costs[part.op].mean.seconds() * part.times;
      if (whole > 0 && all_ranks > 0)
        of_kind.time += static_cast<WideTime>(static_cast<double>(time) * ranks * seconds / all_ranks);
      of_kind.kernels += ranks * part.times;
      of_kind.flops += ranks * part.times * graph::flops_of(costed.graph.ops[part.op]);
    }
  }
}

}  // namespace

Duration mean_of(WideTime sum, std::uint32_t n) {
  return Duration::picoseconds(static_cast<std::int64_t>((sum + n / 2) / n));
}

std::string stem_of(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit)
      out += c;
    else if (out.empty() || out.back() != '*')
      out += '*';
  }
  return out;
}

std::int64_t even_size(const graph::Collective& c, std::uint32_t members) {
  if (c.send_bytes.empty() || members < 2) return c.bytes;
  const std::int64_t most =
      std::max(std::ranges::max(c.send_bytes), c.recv_bytes.empty() ? 0 : std::ranges::max(c.recv_bytes));
  return static_cast<std::int64_t>(
      std::llround(static_cast<double>(most) * members / (members - 1)));  // the vectors leave a member's own share out
}

std::uint32_t group_size_of(const graph::Partition& p) {
  std::uint32_t size = p.listed_offsets.empty() ? p.size : 0;
  for (std::size_t g = 1; g < p.listed_offsets.size(); ++g)
    size = std::max(size, p.listed_offsets[g] - p.listed_offsets[g - 1]);
  return size;
}

std::vector<OpKindTime> op_table(const Played& p, const SteadyState& state, std::span<const StepSums> sums) {
  const graph::TaskGraph& graph = p.costed->graph;
  std::map<std::string_view, KindSums> kinds;
  VariantCounts counts(graph);
  for (std::size_t i = 0; i < state.steps.size(); ++i) {
    if (state.steps[i].collective || state.steps[i].prepares) continue;
    const graph::Task& task = graph.tasks[state.steps[i].task];
    const graph::Op& op = first_present(graph, task);
    if (is_absent(op)) continue;  // a mark that only orders
    if (std::holds_alternative<graph::Sequence>(op)) {
      add_sequence(*p.costed, task, counts, sums[i].time, kinds);
      continue;
    }
    KindSums& of_kind = kinds[graph::kind_of(op)];
    of_kind.time += sums[i].time;
    add_work(graph, task, counts, of_kind);
  }
  std::vector<OpKindTime> out;
  for (const auto& [kind, of_kind] : kinds) out.push_back(op_row(kind, of_kind, graph.ranks));
  std::ranges::stable_sort(out, [](const OpKindTime& a, const OpKindTime& b) { return a.time > b.time; });
  return out;
}

std::vector<CollectiveRow> collective_rows(const Played& p, const SteadyState& state, std::span<const StepSums> sums) {
  const graph::TaskGraph& graph = p.costed->graph;
  std::map<std::tuple<std::string, graph::CollectiveKind, std::uint32_t>, CollectiveSums> rows;
  VariantCounts counts(graph);
  for (std::size_t i = 0; i < state.steps.size(); ++i) {
    const DeviceStep& d = state.steps[i];
    if (!d.collective) continue;
    const graph::Task& task = graph.tasks[d.task];
    const auto& collective = std::get<graph::Collective>(graph.ops[task.first_op]);  // one op for all ranks
    const std::string& name = graph.names[task.name];
    const std::uint32_t group = group_size_of(graph.partitions[task.partition]);
    const auto [it, is_new] = rows.try_emplace({stem_of(name), collective.kind, group});
    CollectiveSums& row = it->second;
    if (is_new) row.row.group_size = group;
    add_call(row, collective, p.costed->costs[task.first_op], name,
             static_cast<double>(counts.ranks_running(task, 0)) / graph.ranks);
    row.total += sums[i].time;
    row.waiting += sums[i].waiting;
    row.steps.push_back(d.step);
  }
  std::vector<CollectiveRow> out;
  for (const auto& [key, row] : rows) out.push_back({finish(row, std::get<0>(key), graph.ranks), row.steps});
  std::ranges::stable_sort(out,
                           [](const CollectiveRow& a, const CollectiveRow& b) { return a.time.total > b.time.total; });
  return out;
}

}  // namespace distsim::report
