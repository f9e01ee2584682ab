// A program described by what it does: computation of a measured time and collectives, each step after the one before.
// For host programs, whose kernels no op model knows, and for replaying a profile by hand.
#include "sim/workload/graph/iteration.hpp"
#include "sim/workload/registry.hpp"

namespace distsim::workload {
namespace {

graph::Partition groups_of(const ProgramStep& step, const ClusterShape& shape) {
  if (step.group == "node") return graph::Partition::strided(shape.gpus_per_node, 1);
  if (step.group == "rails") return graph::Partition::strided(shape.nodes, shape.gpus_per_node);
  return graph::Partition::strided(shape.ranks(), 1);
}

Result<void> add_step(Iteration& it, const ProgramStep& step, const ClusterShape& shape) {
  if (step.collective.empty()) {
    it.add(step.name, {.stream = graph::Stream::compute, .phase = graph::Phase::forward, .dispatch = {1, 1}},
           {graph::Measured{step.compute}});
    return {};
  }
  TRY_ASSIGN(const graph::CollectiveKind kind, graph::parse_collective(step.collective));
  const graph::Partition groups = groups_of(step, shape);
  if (groups.size < 2) return {};  // nobody to talk to
  it.compute_waits_for(it.add_collective(step.name, graph::Stream::comm, graph::Phase::exchange,
                                         graph::Collective{.kind = kind, .bytes = step.size.value()}, groups));
  return {};
}

}  // namespace

Result<Workload> build_program(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& shape,
                               const SamplePlan& samples) {
  const std::vector<ProgramStep>& steps = model.program.steps;
  if (steps.empty()) return Error{"model.program.steps: found none, expected at least one", "", ""};
  Iteration it(shape.ranks(), framework, numerics_of(model.precision, framework));
  for (std::int64_t micro_step = 0; micro_step < samples.micro_steps; ++micro_step) {
    for (const ProgramStep& step : steps) TRY(add_step(it, step, shape));
  }
  Workload out;
  out.samples = static_cast<double>(samples.total);
  out.precision = graph::name_of(it.numerics().matrix);
  out.memory = {RankMemory{}};
  out.assumptions.push_back(samples.describe());
  TRY_ASSIGN(out.graph, std::move(it).finish());
  return out;
}

}  // namespace distsim::workload
