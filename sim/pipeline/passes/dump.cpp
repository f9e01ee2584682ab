#include "sim/pipeline/passes/dump.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "collectives/collective_models.hpp"

namespace distsim::pipeline {
namespace {

/// Of a dump: names and texts of an experiment may hold line breaks.
std::string line(std::string_view text) { return printable(text, std::string::npos) + "\n"; }

std::string row_text(const engine::Row& row) {
  if (row.uniform()) return fmt::format("{}", row.scalar());
  const auto [lo, hi] = std::minmax_element(row.values().begin(), row.values().end());
  return fmt::format("{}..{}", *lo, *hi);
}

std::string id_list(std::span<const TaskId> ids) {
  std::string out;
  for (const TaskId id : ids) out += fmt::format("{}{}", out.empty() ? "" : ",", id.value());
  return out.empty() ? "-" : out;
}

std::string task_line(const graph::TaskGraph& g, TaskId id) {
  const graph::Task& t = g.tasks[id];
  return line(fmt::format("{:4} {:<8} {:<13} {} | {}{} | after {}", id.value(), graph::name_of(t.stream),
                          graph::name_of(t.phase), g.names[t.name], graph::describe(g.ops[t.first_op]),
                          t.variants > 1 ? " (and " + counted(t.variants - 1, "variant") + ")" : "",
                          id_list(g.dependencies(id))));
}

}  // namespace

std::string dump(const config::Experiment& e) { return dump(e.merged); }

std::string dump(const std::shared_ptr<const CostModels>& models) { return models->topology.dump(); }

std::string dump(const workload::Workload& w) {
  std::string out =
      fmt::format("ranks {}  samples {}  model flops {:.6g}  dense parameters {}  embedding parameters {}\n",
                  w.graph.ranks, w.samples, w.model_flops, w.dense_parameters, w.embedding_parameters);
  for (const auto& a : w.assumptions) out += line("assumption: " + a.text);
  if (!w.placement.empty()) out += w.placement + "\n";
  for (std::uint32_t t = 0; t < w.graph.tasks.size(); ++t) out += task_line(w.graph, TaskId(t));
  return out;
}

std::string dump(const graph::CostedGraph& costed) {
  std::string out;
  for (std::uint32_t t = 0; t < costed.graph.tasks.size(); ++t) {
    const graph::Task& task = costed.graph.tasks[TaskId(t)];
    for (std::uint32_t v = 0; v < task.variants; ++v) {
      const OpId id(task.first_op.value() + v);
      const graph::Cost& c = costed.costs[id];
      out += line(fmt::format("{:4}.{:<3} {:10.3f} us ({:.3f} .. {:.3f}) {:<12} {} | {} | {}", t, v, c.mean.us(),
                              c.low.us(), c.high.us(), graph::name_of(c.basis), costed.graph.names[task.name],
                              graph::describe(costed.graph.ops[id]), c.source));
    }
  }
  return out;
}

std::string dump(const Lowered& lowered) {
  const engine::Program& p = lowered.program;
  std::string out = fmt::format("ranks {}  streams {}  steps {}  iterations {}\n", p.ranks, p.streams, p.steps.size(),
                                lowered.iterations);
  for (std::uint32_t s = 0; s < p.steps.size(); ++s) {
    const engine::Step& step = p.steps[StepId(s)];
    std::string waits;
    for (const StepId w : p.waits_of(StepId(s))) waits += fmt::format("{}{}", waits.empty() ? "" : ",", w.value());
    out += fmt::format(
        "{:5} stream {} duration_ps {} task {} iteration {} group {} waits {}\n", s, step.stream.value(),
        row_text(step.duration),
        lowered.origins[StepId(s)].task.valid() ? std::to_string(lowered.origins[StepId(s)].task.value()) : "-",
        lowered.origins[StepId(s)].iteration, step.group == engine::Step::kNoGroup ? "-" : std::to_string(step.group),
        waits.empty() ? "-" : waits);
  }
  return out;
}

std::string dump(const engine::Timeline& t) {
  std::string out = fmt::format("ranks {}  makespan_ps {}  digest {:016x}\n", t.ranks, t.makespan.ps(), t.digest);
  for (std::uint32_t s = 0; s < t.end.size(); ++s) {
    out += fmt::format("{:5} ready {} start {} end {}\n", s, row_text(t.ready[StepId(s)]), row_text(t.start[StepId(s)]),
                       row_text(t.end[StepId(s)]));
  }
  return out;
}

std::string dump(const std::vector<graph::Assumption>& assumptions) {
  std::string out;
  for (const graph::Assumption& a : assumptions)
    out += line(fmt::format("assumption ({}): {}", name_of(a.kind), a.text));
  return out;
}

std::string size_text(const workload::Workload& w) {
  return counted(w.graph.tasks.size(), "task") + ", " + counted(w.graph.ranks, "rank");
}

std::string size_text(const Lowered& lowered) {
  return counted(lowered.program.steps.size(), "step") + ", " + counted(lowered.iterations, "iteration");
}

std::string dump(const report::Report& report) { return report::to_json(report) + "\n"; }

}  // namespace distsim::pipeline
