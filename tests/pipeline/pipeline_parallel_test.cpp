// Pipelines as programs: with equal stages and free messages the idle share is that of the closed forms, on every
// evaluator; messages cost what their links cost.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "config_fixture.hpp"
#include "sim/engine/events/irregular_evaluator.hpp"
#include "sim/engine/program/alike.hpp"
#include "sim/engine/rows/row_evaluator.hpp"
#include "sim/engine/timeline/verify.hpp"
#include "sim/pipeline/lower.hpp"
#include "sim/workload/llm/llm_spec.hpp"
#include "sim/workload/registry.hpp"
#include "sim/workload/workload.hpp"

namespace distsim::pipeline {
namespace {

LaunchModel no_launches() {
  LaunchModel m;
  m.framework.host.per_op = m.framework.host.per_op_backward = m.framework.host.per_launch = m.framework.host.per_step =
      Duration();
  m.launch.kernel_gap = Duration();
  return m;
}

struct Case {
  workload::PipelineSchedule schedule;
  std::int64_t stages, virtual_stages, micro_batches, tensor = 1, nodes = 2;
  bool overlap = false;
  workload::RankOrder order = workload::RankOrder::tp_cp_ep_dp_pp;
};
constexpr auto kMapped = workload::RankOrder::tp_cp_ep_pp_dp;

graph::TaskGraph graph_of(const Case& c, const workload::FrameworkSpec& framework = {}) {
  workload::ModelSpec m;
  m.name = "small";
  m.family = workload::find_family("llm");
  m.precision = workload::Precision::bf16;
  m.optimizer = graph::OptimizerKind::adam;
  workload::LlmSpec& llm = m.as<workload::LlmSpec>();
  llm.layers = c.stages * c.virtual_stages;
  llm.hidden = 64;
  llm.heads = 4;
  llm.sequence = 32;
  llm.vocabulary = 128;
  llm.tied_embeddings = true;
  m.parallel.tensor = c.tensor;
  m.parallel.pipeline = c.stages;
  m.parallel.schedule = c.schedule;
  m.parallel.virtual_stages = c.virtual_stages;
  m.parallel.order = c.order;
  m.parallel.overlap_pipeline = c.overlap ? workload::Switch::on : workload::Switch::off;
  m.global_batch = c.micro_batches * c.nodes * 8 / (c.stages * c.tensor);
  auto w = workload::build_workload(m, framework, {static_cast<std::uint32_t>(c.nodes), 8, Bytes(80'000'000'000)});
  EXPECT_TRUE(w.ok()) << w.error().text();
  return std::move(w->graph);
}

std::int64_t pass_ps(const std::string& name, std::int64_t weights_ps) {
  if (name == "forward") return 1000;
  return name == "backward.weights" ? weights_ps : name == "backward.inputs" ? 2000 - weights_ps : 2000;
}

/// A pass takes 1 ns forward and 2 ns backward, of which weights take as given, a message as given; all else is free. So is what replicas sum, if not
/// given.
graph::CostedGraph costed_messages(graph::TaskGraph graph, std::int64_t message_ps, std::int64_t sum_ps = 0,
                                   std::int64_t weights_ps = 1000) {
  graph::CostedGraph out;
  out.costs = IdVector<OpId, graph::Cost>(graph.ops.size());
  for (const graph::Task& task : graph.tasks) {
    const bool sum = task.phase == graph::Phase::gradient_sync && !task.between_stages;
    const bool message =
        task.between_stages && (task.phase == graph::Phase::forward || task.phase == graph::Phase::backward);
    const bool pass = std::holds_alternative<graph::Sequence>(graph.ops[task.first_op]);
    const std::int64_t ps = sum       ? sum_ps
                            : message ? message_ps
                            : pass    ? pass_ps(graph.names[task.name], weights_ps)
                                      : 0;
    const Duration d = Duration::picoseconds(ps);
    for (std::uint32_t v = 0; v < task.variants; ++v) {
      const OpId id(task.first_op.value() + v);
      if (!std::holds_alternative<graph::Absent>(graph.ops[id])) out.costs[id] = {d, d, d, graph::Basis::analytic, ""};
    }
  }
  out.graph = std::move(graph);
  return out;
}

std::int64_t busy(const engine::Program& program, std::uint32_t rank) {
  std::int64_t sum = 0;
  for (const engine::Step& step : program.steps)
    sum += step.stream.value() == static_cast<std::uint32_t>(graph::Stream::compute) ? step.duration.at(rank) : 0;
  return sum;
}

const Case kCases[] = {{workload::PipelineSchedule::gpipe, 4, 1, 8},
                       {workload::PipelineSchedule::one_f_one_b, 4, 1, 8},
                       {workload::PipelineSchedule::one_f_one_b, 8, 1, 3},
                       {workload::PipelineSchedule::gpipe, 2, 1, 5},
                       {workload::PipelineSchedule::interleaved, 4, 2, 8},
                       {workload::PipelineSchedule::interleaved, 2, 3, 4},
                       {workload::PipelineSchedule::one_f_one_b, 2, 1, 4, 4},
                       {workload::PipelineSchedule::interleaved, 2, 2, 2, 2},
                       {workload::PipelineSchedule::interleaved, 3, 2, 6, 2, 3},
                       {workload::PipelineSchedule::one_f_one_b, 3, 1, 4, 1, 3},
                       {workload::PipelineSchedule::interleaved, 4, 2, 8, 1, 2, true},
                       {workload::PipelineSchedule::interleaved, 3, 2, 6, 2, 3, true},
                       {workload::PipelineSchedule::one_f_one_b, 4, 1, 8, 1, 2, false, kMapped},
                       {workload::PipelineSchedule::gpipe, 2, 1, 5, 4, 2, false, kMapped},
                       {workload::PipelineSchedule::interleaved, 3, 2, 6, 2, 3, true, kMapped}};
const Case kSplitCases[] = {{workload::PipelineSchedule::zero_bubble, 4, 1, 8},
                            {workload::PipelineSchedule::zero_bubble, 3, 1, 4, 1, 3},
                            {workload::PipelineSchedule::dualpipe, 4, 1, 8},
                            {workload::PipelineSchedule::dualpipe, 2, 1, 4, 4},
                            {workload::PipelineSchedule::zero_bubble, 3, 1, 4, 1, 3, false, kMapped},
                            {workload::PipelineSchedule::dualpipe, 4, 1, 8, 2, 2, false, kMapped}};

TEST(PipelineParallel, IdleShareOfTheClosedForms) {
  for (const Case& c : kCases) {
    const graph::CostedGraph graph = costed_messages(graph_of(c), 0);
    const Lowered lowered = lower(graph, no_launches(), 3).value();
    const engine::Timeline timeline = engine::evaluate_rows(lowered.program).value();
    const std::int64_t work = busy(lowered.program, 0) / 3;
    for (std::uint32_t r = 0; r < lowered.program.ranks; ++r)
      ASSERT_EQ(busy(lowered.program, r), 3 * work) << "stages are not equal";
    const report::Report report = report::analyse({&graph, &lowered.program, &lowered.origins, &timeline, 3}, {});
    const std::int64_t slots = c.micro_batches * c.virtual_stages;
    EXPECT_EQ(report.iteration.ps() * slots, work * (slots + c.stages - 1))
        << c.stages << " stages x " << c.virtual_stages << ", " << c.micro_batches << " micro-batches";
    EXPECT_EQ(report.compute.ps(), work);
    EXPECT_EQ(report.idle.ps(), report.iteration.ps() - work) << "the bubble is idle time";
  }
}

/// Of the papers' tables: (p - 1) (F + B - 2 W), and at most (p / 2 - 1) (F&B + B - 3 W), F&B being F + B here: a pass of a pair
/// begins as soon as its own input is there, so that it may be less.
TEST(PipelineParallel, SplitBackwardPassesFillTheBubble) {
  const auto idle = [](workload::PipelineSchedule schedule, std::int64_t p, std::int64_t m, std::int64_t weights_ps) {
    const graph::CostedGraph graph = costed_messages(graph_of({schedule, p, 1, m}), 0, 0, weights_ps);
    const Lowered lowered = lower(graph, no_launches(), 3).value();
    const engine::Timeline timeline = engine::evaluate_rows(lowered.program).value();
    const report::Report report = report::analyse({&graph, &lowered.program, &lowered.origins, &timeline, 3}, {});
    EXPECT_EQ(report.compute.ps(), m * 3000) << "every micro-batch once";
    EXPECT_EQ(report.idle.ps(), report.iteration.ps() - m * 3000);
    return report.idle.ps();
  };
  for (const std::int64_t p : {2, 4, 8}) {
    for (const std::int64_t m : {2 * p, 3 * p, 5 * p}) {
      for (const std::int64_t w : {1000, 900, 700})
        EXPECT_EQ(idle(workload::PipelineSchedule::zero_bubble, p, m, w), (p - 1) * (3000 - 2 * w)) << p << " " << m;
      for (const std::int64_t w : {1000, 800}) {
        const std::int64_t found = idle(workload::PipelineSchedule::dualpipe, p, m, w);
        EXPECT_LE(found, (p / 2 - 1) * (3000 + 2000 - 3 * w)) << p << " " << m;
        EXPECT_GE(found, (p / 2 - 1) * 1000) << p << " " << m;
        if (p == 8 && w == 1000) {
          EXPECT_EQ(found, 3 * 2000) << m;
        }
      }
      EXPECT_EQ(idle(workload::PipelineSchedule::one_f_one_b, p, m, 1000), (p - 1) * 3000);
    }
  }
}

TEST(PipelineParallel, ReplicasCostNoMoreThanOneStagesGradients) {
  // Were they in a line with the collectives of tensor-parallel groups, every stage upstream would wait for them as
  // well.
  const auto iteration = [](const Case& c, const workload::FrameworkSpec& framework, std::int64_t sum_ps) {
    const graph::CostedGraph graph = costed_messages(graph_of(c, framework), 0, sum_ps);
    const Lowered lowered = lower(graph, no_launches(), 3).value();
    const engine::Timeline timeline = engine::evaluate_rows(lowered.program).value();
    return report::analyse({&graph, &lowered.program, &lowered.origins, &timeline, 3}, {}).iteration.ps();
  };
  workload::FrameworkSpec after;
  after.gradients.overlap = false;
  for (const Case& c : {Case{workload::PipelineSchedule::gpipe, 4, 1, 8, 2},
                        {workload::PipelineSchedule::one_f_one_b, 4, 1, 8, 2},
                        {workload::PipelineSchedule::interleaved, 4, 2, 8, 2}}) {
    const std::int64_t sum_ps = 100'000, pieces = c.virtual_stages;  // a chunk each
    EXPECT_LE(iteration(c, after, sum_ps) - iteration(c, after, 0), pieces * sum_ps) << c.stages << " stages";
    EXPECT_GE(iteration(c, after, sum_ps) - iteration(c, after, 0), sum_ps) << c.stages << " stages";
    EXPECT_LE(iteration(c, {}, sum_ps) - iteration(c, {}, 0), pieces * sum_ps) << c.stages << " stages";
  }
}

TEST(PipelineParallel, EvaluatorsAgreeAndStagesStandForTheirRanks) {
  std::vector<Case> cases(std::begin(kCases), std::end(kCases));
  cases.insert(cases.end(), std::begin(kSplitCases), std::end(kSplitCases));
  for (const Case& c : cases) {
    const graph::CostedGraph graph = costed_messages(graph_of(c), 700);
    const Lowered lowered = lower(graph, no_launches(), 2).value();
    const engine::Program& program = lowered.program;
    const auto of_stage = program.ranks / static_cast<std::uint32_t>(c.stages);
    const auto tensor = static_cast<std::uint32_t>(c.tensor);
    EXPECT_EQ(engine::alike_ranks(program),
              (c.order == kMapped ? engine::Alike{tensor, of_stage / tensor} : engine::Alike{of_stage, 1}));
    const engine::Timeline rows = engine::evaluate_rows(program).value();
    EXPECT_TRUE(engine::verify(program, rows).ok());
    EXPECT_EQ(engine::evaluate_rows(engine::spread_out(program)).value().digest, rows.digest);
    const engine::IrregularTimeline lists = engine::evaluate_irregular(engine::expand(program).value()).value();
    EXPECT_EQ(lists.makespan, rows.makespan);
    for (std::uint32_t s = 0; s < program.steps.size(); s += 7) {
      for (std::uint32_t r = 0; r < program.ranks; ++r) {
        ASSERT_EQ(lists.steps[StepId(r * static_cast<std::uint32_t>(program.steps.size()) + s)].end,
                  rows.end[StepId(s)].at(r));
      }
    }
  }
}

TEST(PipelineParallel, OverlappedMessagesAreHiddenButAtTheEnds) {
  // A message takes half of a forward pass. In the steady state each is sent during a backward or forward pass.
  const auto time = [](std::int64_t micro_batches, std::int64_t message, bool overlap) {
    const graph::CostedGraph graph = costed_messages(
        graph_of({workload::PipelineSchedule::interleaved, 4, 2, micro_batches, 1, 2, overlap}), message);
    return engine::evaluate_rows(lower(graph, no_launches(), 1)->program)->makespan.ps();
  };
  EXPECT_EQ(time(8, 0, true), time(8, 0, false));
  EXPECT_LT(time(8, 500, true), time(8, 500, false));
  EXPECT_EQ(time(16, 500, true) - time(12, 500, true), time(16, 0, true) - time(12, 0, true))
      << "four more micro-batches cost only their passes";
  EXPECT_GT(time(16, 500, false) - time(12, 500, false), time(16, 0, false) - time(12, 0, false))
      << "or their messages too";
}

TEST(PipelineParallel, TheReportCountsTheCallsOfARank) {
  // A block a stage, 4 micro-batches: each rank sums its projections four times, though either stage does so in passes
  // of its own.
  const graph::CostedGraph graph =
      costed_messages(graph_of({workload::PipelineSchedule::one_f_one_b, 2, 1, 4, 4}), 1'000);
  const Lowered lowered = lower(graph, no_launches(), 2).value();
  const engine::Timeline timeline = engine::evaluate_rows(lowered.program).value();
  const report::Report report = report::analyse({&graph, &lowered.program, &lowered.origins, &timeline, 2}, {});
  std::uint32_t messages = 0;
  double rate = 0;
  for (const report::CollectiveTime& c : report.collectives) {
    if (c.name == "tensor.all_reduce" && c.bytes % (32 * 64 * 2) == 0) {
      EXPECT_GT(c.calls, 0u);
    }
    if (c.kind != "send_recv") continue;
    messages += c.calls * (c.name == "pipeline.both_ways" ? 2 : 1);
    rate = std::max(rate, c.busbw);
  }
  EXPECT_EQ(messages, 8u) << "four there, four back, and both stages take part in each";
  EXPECT_NEAR(rate, 32 * 64 * 2 / 1e-9, 1) << "a message of 4 KiB in 1 ns";
}

TEST(PipelineParallel, AMicroBatchPaysEveryMessageThereAndBack) {
  for (const auto schedule : {workload::PipelineSchedule::gpipe, workload::PipelineSchedule::one_f_one_b}) {
    const graph::CostedGraph graph = costed_messages(graph_of({schedule, 4, 1, 1}), 5'000);
    const Lowered lowered = lower(graph, no_launches(), 1).value();
    EXPECT_EQ(engine::evaluate_rows(lowered.program).value().makespan.ps(),
              4 * busy(lowered.program, 0) + 2 * 3 * 5'000);
  }
}

TEST(PipelineParallel, OtherStagesDoNotLaunchATask) {
  LaunchModel launch = no_launches();
  launch.framework.host.per_launch = Duration::microseconds(1);
  const graph::CostedGraph graph = costed_messages(graph_of({workload::PipelineSchedule::one_f_one_b, 2, 1, 1}), 0);
  const Lowered lowered = lower(graph, launch, 1).value();
  std::int64_t launches[2] = {0, 0}, expected[2] = {0, 0};
  std::set<std::uint32_t> seen;  // a sequence is launched in two steps
  for (StepId s(0); s < lowered.program.steps.end_id(); s = StepId(s.value() + 1)) {
    const report::StepOrigin& o = lowered.origins[s];
    if (o.role != report::StepRole::host_dispatch) continue;
    const graph::Task& task = graph.graph.tasks[o.task];
    for (const std::uint32_t stage : {0, 1}) {
      const std::uint32_t rank = stage * 8;
      launches[stage] += lowered.program.steps[s].duration.at(rank);
      const bool absent = std::holds_alternative<graph::Absent>(
          graph.graph.ops[OpId(task.first_op.value() + graph.graph.variant_of(o.task, rank))]);
      if (!seen.contains(o.task.value())) expected[stage] += absent ? 0 : task.dispatch.kernels * 1'000'000;
    }
    seen.insert(o.task.value());
  }
  EXPECT_EQ(launches[0], expected[0]);
  EXPECT_EQ(launches[1], expected[1]);
  EXPECT_NE(launches[0], launches[1]) << "embedding here, head there";
}

class PipelineKeys : public test::ConfigFixture {};

TEST_F(PipelineKeys, BadValuesAreRefusedInOneLine) {
  write("models/gpt.yaml", "kind: llm\nglobal_batch: 256\nllm: {layers: 12}\n");
  write("x.yaml", "cluster: {system: boxes, nodes: 4}\nmodel: {name: gpt}\n");
  const auto refused = [&](const std::vector<std::string>& sets, const std::string& message) {
    std::vector<std::string> keys;
    for (const std::string& s : sets) keys.push_back("parallel." + s);
    const std::string text = error_with_sets(keys);
    EXPECT_NE(text.find(message), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos);
  };
  refused({"pipeline=0"}, "pipeline: found '0'");
  refused({"schedule=zigzag"}, "schedule: found 'zigzag', expected one of automatic, gpipe, 1f1b, interleaved");
  refused({"recompute=some"}, "recompute: found 'some', expected automatic, none, selective");
  refused({"sequence_parallel=2"}, "sequence_parallel: found '2', expected one of false, true");
  const std::string moved = error_with_sets({"model.megatron.tensor=8"});
  EXPECT_NE(moved.find("model.megatron: found an old key, expected model.llm"), std::string::npos) << moved;
}

}  // namespace
}  // namespace distsim::pipeline
