// A program described by what it does: computation of a measured time and collectives, each step after the one before.
// For host programs, whose kernels no op model knows, and for replaying a profile by hand.
#include "sim/workload/models/program.hpp"

#include <algorithm>
#include <utility>

#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "sim/workload/family.hpp"
#include "sim/workload/graph/iteration.hpp"
#include "sim/workload/graph/micro_steps.hpp"
#include "sim/workload/specs/step_mode.hpp"

namespace distsim::workload {
namespace {

Result<void> read_collective(ProgramStep& step, const ConfigNode& node, const std::string& path) {
  TRY_ASSIGN(const std::string name, schema_detail::read_string(node, path));
  const auto kind = graph::parse_collective(name);
  if (!kind.ok()) return Error{path + ": " + kind.error().what, node.where.text(), kind.error().hint};
  step.collective = *kind;
  return {};
}

Schema<ProgramStep> step_schema() {
  Schema<ProgramStep> s("step", "A computation with a measured time, or a collective.");
  s.optional("name", &ProgramStep::name, "Name in reports.");
  s.optional("compute", &ProgramStep::compute, {0, 1e5},
             "Time of the computation on every rank, as measured; no factor is applied to it.");
  s.custom({"collective", "text", "", "none", "Kind of collective, as in `distsim list collectives`."}, false,
           read_collective);
  s.optional("size", &ProgramStep::size, {0, 1e15}, "Its size, as in the size column of nccl-tests.");
  s.choice("group", &ProgramStep::group,
           {{"all", StepGroup::all}, {"node", StepGroup::node}, {"rails", StepGroup::rails}},
           "Its groups: all ranks, the ranks of each node, or the GPUs with the same local index on all nodes.");
  s.rule([](const ProgramStep& step) -> std::optional<std::string> {
    const bool computes = step.compute > Duration{};
    const bool sized = step.size.value() > 0 || step.collective == graph::CollectiveKind::barrier;
    if (step.collective && !computes && !sized)
      return "size: found 0 B, as where it is not given, expected the size of the collective";
    if (computes != step.collective.has_value()) return std::nullopt;
    if (!computes) return "compute: found 0 s, as where it is not given, expected the step's time, or a collective";
    return "name: found '" + step.name + "' with both, expected compute or collective";
  });
  return s;
}

graph::Partition groups_of(const ProgramStep& step, const ClusterShape& shape) {
  switch (step.group) {
    case StepGroup::all:
      return graph::Partition::strided(shape.ranks(), 1);
    case StepGroup::node:
      return graph::Partition::strided(shape.gpus_per_node, 1);
    case StepGroup::rails:
      return graph::Partition::strided(shape.nodes, shape.gpus_per_node);
  }
  CHECK(false) << "group " << static_cast<int>(step.group);
  return {};
}

bool exchanges(const ProgramStep& step, const ClusterShape& shape) {
  return step.collective && groups_of(step, shape).size > 1;
}

/// A collective of groups of one is called and launched like any other, and takes no time.
void add_step(Iteration& it, const ProgramStep& step, const ClusterShape& shape) {
  if (!exchanges(step, shape)) {
    it.add(step.name, {.stream = graph::Stream::compute, .phase = graph::Phase::forward, .dispatch = {1, 1}},
           {graph::Measured{step.compute}});
    return;
  }
  const bool moves = *step.collective != graph::CollectiveKind::barrier;
  const graph::Collective op{.kind = *step.collective, .bytes = moves ? step.size.value() : 0};
  it.compute_waits_for(
      it.add_collective(step.name, graph::Stream::comm, graph::Phase::exchange, op, groups_of(step, shape)));
}

/// Each step begins after the one before, across iterations too: a mark on the compute stream, which a collective that
/// comes first waits for, and which waits for one that comes last. Nobody calls or launches it, so that it only orders.
void add_mark(Iteration& it, const char* name) {
  it.add(name, {.stream = graph::Stream::compute, .phase = graph::Phase::exchange, .dispatch = {0, 0}},
         {graph::Measured{}});
}

std::string_view name_of(StepGroup group) {
  switch (group) {
    case StepGroup::all:
      return "all";
    case StepGroup::node:
      return "node";
    case StepGroup::rails:
      return "rails";
  }
  return "?";
}

/// Names the first collective of groups of one; empty where there is none.
std::string idle_collectives(const std::vector<ProgramStep>& steps, const ClusterShape& shape) {
  const auto idle = [&](const ProgramStep& step) { return step.collective && !exchanges(step, shape); };
  const auto first = std::ranges::find_if(steps, idle);
  if (first == steps.end()) return "";
  const auto others = static_cast<std::uint64_t>(std::count_if(first + 1, steps.end(), idle));
  const std::string more = others == 0 ? " moves" : " and " + counted(others, "step") + " after it move";
  return "model.program.steps[" + std::to_string(first - steps.begin()) + "] " + in_quotes(first->name) + more +
         " nothing: group " + std::string(name_of(first->group)) + " is one rank on " + std::to_string(shape.nodes) +
         " x " + counted(shape.gpus_per_node, "GPU") + "; only the host's call and launch take time";
}

}  // namespace

Schema<ProgramSpec> program_schema() {
  Schema<ProgramSpec> s("program", "A program described step by step.");
  s.list("steps", &ProgramSpec::steps, step_schema(), false, 10'000);
  return s;
}

namespace {

Result<Workload> build_program(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& shape,
                               const SamplePlan& samples) {
  TRY(only_training(model, "a program"));
  const std::vector<ProgramStep>& steps = model.as<ProgramSpec>().steps;
  if (steps.empty()) return Error{"model.program.steps: found none, expected at least one", "", ""};
  TRY(check_micro_steps(samples.micro_steps, steps.size()));
  Iteration it(shape.ranks(), framework, numerics_of(model.precision, framework));
  if (exchanges(steps.front(), shape)) add_mark(it, "start of the first step");
  for (std::int64_t micro_step = 0; micro_step < samples.micro_steps; ++micro_step) {
    for (const ProgramStep& step : steps) add_step(it, step, shape);
  }
  if (exchanges(steps.back(), shape)) add_mark(it, "end of the last step");
  Workload out;
  out.samples = static_cast<double>(samples.total);
  out.precision = model.precision;
  out.memory = {RankMemory{}};
  out.assumptions.push_back({graph::AssumptionKind::batch, samples.describe()});
  if (std::string idle = idle_collectives(steps, shape); !idle.empty())
    out.assumptions.push_back({graph::AssumptionKind::workload, std::move(idle)});
  TRY_ASSIGN(out.graph, std::move(it).finish());
  return out;
}

constexpr Refusal kProgramRefuses[] = {
    {"{steps: []}", "model.program.steps"},
    {"{steps: [{name: x}]}", "compute: found 0 s"},
    {"{steps: [{name: x, compute: 0 s}]}", "compute: found 0 s"},
    {"{steps: [{name: x, compute: 1 us, collective: all_reduce}]}", "with both"},
    {"{steps: [{collective: all_reduse, size: 1 B}]}", "all_reduse"},
    {"{steps: [{collective: all_reduce}]}", "size"},
};

}  // namespace

extern const ModelFamily program_family;
constinit const ModelFamily program_family{
    .name = "program",
    .sentence = "Steps of measured computation and collectives in sequence: the loop of an MPI program",
    .refuses = kProgramRefuses,
    .add_section = [](Schema<ModelSpec>& s) { add_section(s, program_schema()); },
    .build = build_program,
};

}  // namespace distsim::workload
