#include "sim/pipeline/passes/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include "sim/engine/timeline/verify.hpp"

namespace distsim::pipeline {
namespace {

template <class... Args>
Error broken(fmt::format_string<Args...> text, Args&&... args) {
  return {fmt::format(text, std::forward<Args>(args)...), "", ""};
}

Result<void> verify_keys(const ConfigNode& node) {
  std::set<std::string_view> seen;
  for (const ConfigNode::Entry& entry : node.entries) {
    if (!seen.insert(entry.key).second) return broken("config: found the key '{}' twice", entry.key);
    TRY(verify_keys(entry.value));
  }
  for (const ConfigNode& item : node.items) TRY(verify_keys(item));
  return {};
}

Result<void> verify_route(const topology::Topology& topology, std::uint32_t from, std::uint32_t to) {
  const std::vector<topology::Hop> route = topology.route(from, to);
  for (std::size_t i = 0; i < route.size(); ++i) {
    if (i > 0 && !(route[i].from == route[i - 1].to))
      return broken("topology: hop {} from rank {} to rank {} starts where none ends", i, from, to);
    if (!(route[i].bandwidth.value() > 0))
      return broken("topology: hop {} from rank {} to rank {} has no bandwidth", i, from, to);
  }
  return {};
}

Result<void> verify_task(const graph::TaskGraph& g, TaskId id) {
  const graph::Task& task = g.tasks[id];
  const bool has_ops =
      task.variants > 0 && task.first_op.valid() && task.first_op.value() + task.variants <= g.ops.size();
  if (!has_ops) return broken("task {}: {} variants beyond the {} ops", id.value(), task.variants, g.ops.size());
  if (task.name.value() >= g.names.size()) return broken("task {}: no name", id.value());
  if (task.rank_table != graph::Task::kUniform && task.rank_table >= g.rank_tables.size())
    return broken("task {}: no table of ranks {}", id.value(), task.rank_table);
  if (task.partition.valid() && task.partition.value() >= g.partitions.size())
    return broken("task {}: no groups {}", id.value(), task.partition.value());
  for (const TaskId dep : g.dependencies(id)) {
    if (dep >= id) return broken("task {}: depends on the later task {}", id.value(), dep.value());
  }
  return {};
}

Result<void> verify_amount(std::string_view what, double amount) {
  if (std::isfinite(amount) && amount >= 0) return {};
  return broken("workload: found {} {}, expected a finite number of at least 0", amount, what);
}

Result<void> verify_cost(std::uint32_t op, const graph::Cost& c) {
  if (!(Duration() <= c.low && c.low <= c.mean && c.mean <= c.high))
    return broken("cost of op {}: found {} .. {} .. {} ps, expected 0 <= low <= mean <= high", op, c.low.ps(),
                  c.mean.ps(), c.high.ps());
  return {};
}

/// The parts of an iteration sum to it, and communication is hidden at most for as long as it takes.
template <class Parts>
Result<void> verify_parts(std::string_view where, const Parts& p, Duration iteration) {
  const Duration sum = p.compute + p.exposed_comm + p.waiting + p.host_bound + p.idle;
  if (sum != iteration) return broken("report: parts of {} sum to {} ps, expected {}", where, sum.ps(), iteration.ps());
  if (p.hidden_comm > p.comm)
    return broken("report: communication of {} is {} ps, of which {} are hidden", where, p.comm.ps(),
                  p.hidden_comm.ps());
  for (const Duration part : {p.compute, p.exposed_comm, p.hidden_comm, p.waiting, p.host_bound, p.idle}) {
    if (part < Duration()) return broken("report: a part of {} is {} ps", where, part.ps());
  }
  return {};
}

Result<void> verify_path(const report::Report& r) {
  Duration sum;
  for (const report::CriticalStep& step : r.critical_path) sum += step.time;
  if (r.critical_path.empty() || sum == r.iteration) return {};
  return broken("report: the critical cycle takes {} ps, expected the iteration, {}", sum.ps(), r.iteration.ps());
}

}  // namespace

Result<void> verify(const ConfigNode& config) {
  if (config.kind != ConfigNode::Kind::map) return broken("config: found {}, expected a map", config.describe());
  return verify_keys(config);
}

Result<void> verify(const config::Experiment& e) {
  if (e.cluster.nodes < 1 || e.cluster.gpus_per_node < 1)
    return broken("experiment: found {} nodes of {} GPUs, expected at least 1 of each", e.cluster.nodes,
                  e.cluster.gpus_per_node);
  if (e.device.name.empty()) return broken("experiment: the device has no name");
  return verify(e.merged);
}

Result<void> verify(const topology::Topology& t) {
  if (t.ranks() == 0 || t.ranks() != t.nodes() * t.gpus_per_node())
    return broken("topology: found {} ranks on {} nodes of {} GPUs", t.ranks(), t.nodes(), t.gpus_per_node());
  return verify_route(t, 0, t.ranks() - 1);
}

Result<void> verify(const std::shared_ptr<const CostModels>& models) {
  if (!models) return broken("cost models: none");
  return {};
}

Result<void> verify(const graph::TaskGraph& g) {
  if (g.ranks == 0 || g.alike == 0 || g.repeats == 0 || g.ranks % (std::uint64_t{g.alike} * g.repeats) != 0)
    return broken("task graph: found {} ranks, {} alike, {} times", g.ranks, g.alike, g.repeats);
  if (g.dep_offsets.size() != g.tasks.size() + 1 || g.dep_offsets.back() != g.deps.size())
    return broken("task graph: offsets of {} tasks do not list {} dependencies", g.tasks.size(), g.deps.size());
  for (const auto& table : g.rank_tables) {
    if (table.size() * g.alike * g.repeats != g.ranks)
      return broken("task graph: a table of {} ranks, expected {}", table.size() * g.alike * g.repeats, g.ranks);
  }
  for (TaskId t(0); t < g.tasks.end_id(); t = TaskId(t.value() + 1)) TRY(verify_task(g, t));
  return {};
}

Result<void> verify(const workload::Workload& w) {
  TRY(verify(w.graph));
  TRY(verify_amount("samples", w.samples));
  TRY(verify_amount("flops", w.model_flops));
  if (w.memory.size() > 1 && w.memory.size() != w.graph.ranks)
    return broken("workload: memory of {} ranks, expected 1 or {}", w.memory.size(), w.graph.ranks);
  for (const workload::RankMemory& m : w.memory) {
    for (const std::int64_t part : {m.weights, m.gradients, m.optimizer, m.activations, m.embeddings, m.buffers}) {
      if (part < 0) return broken("workload: found {} bytes of memory", part);
    }
  }
  return {};
}

Result<void> verify(const graph::CostedGraph& costed) {
  if (costed.costs.size() != costed.graph.ops.size())
    return broken("costs: found {}, expected one for each of {} ops", costed.costs.size(), costed.graph.ops.size());
  for (std::uint32_t op = 0; op < costed.costs.size(); ++op) TRY(verify_cost(op, costed.costs[OpId(op)]));
  return {};
}

Result<void> verify(const Lowered& lowered) {
  const std::size_t steps = lowered.program.steps.size();
  if (lowered.origins.size() != steps)
    return broken("program: found {} origins, expected one for each of {} steps", lowered.origins.size(), steps);
  if (lowered.iterations == 0 || steps % lowered.iterations != 0)
    return broken("program: found {} steps in {} iterations, expected as many in each", steps, lowered.iterations);
  for (std::size_t s = 0; s < steps; ++s) {
    const report::StepOrigin& origin = lowered.origins[StepId(static_cast<std::uint32_t>(s))];
    if (origin.iteration != s / (steps / lowered.iterations))
      return broken("program: step {} is of iteration {}, out of order", s, origin.iteration);
    if (origin.task.valid() == (origin.role == report::StepRole::step_overhead))
      return broken("program: step {} {} a task", s, origin.task.valid() ? "has" : "lacks");
  }
  return {};
}

Result<void> verify(const engine::Timeline& timeline, const Lowered& lowered) {
  return engine::verify(lowered.program, timeline);
}

Result<void> verify(const report::Report& r) {
  if (!(r.low <= r.iteration && r.iteration <= r.high))
    return broken("report: found {} .. {} .. {} ps, expected low <= iteration <= high", r.low.ps(), r.iteration.ps(),
                  r.high.ps());
  TRY(verify_parts("the mean", r, r.iteration));
  for (const report::RankTime& rank : r.ranks) TRY(verify_parts("a rank", rank, r.iteration));
  return verify_path(r);
}

}  // namespace distsim::pipeline
