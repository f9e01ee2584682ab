// Pipelined Megatron models: messages by hand, conservation over the ways to cut, memory by stage, refusals.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "sim/workload/llm/megatron_spec.hpp"
#include "sim/workload/registry.hpp"
#include "sim/workload/workload.hpp"

namespace distsim::workload {
namespace {

/// 8 blocks of width 64, 4 heads, 32 tokens, 128 words; 16 bit. 4 stages on 16 GPUs: 4 replicas of 16 micro-batches
/// of 4.
ModelSpec small() {
  ModelSpec m;
  m.name = "small";
  m.family = find_family("megatron");
  m.global_batch = 256;
  m.precision = Precision::bf16;
  m.optimizer = graph::OptimizerKind::adam;
  m.as<MegatronSpec>().layers = 8;
  m.as<MegatronSpec>().hidden = 64;
  m.as<MegatronSpec>().heads = 4;
  m.as<MegatronSpec>().sequence = 32;
  m.as<MegatronSpec>().vocabulary = 128;
  m.as<MegatronSpec>().micro_batch = 4;
  m.as<MegatronSpec>().pipeline = 4;
  return m;
}
Result<Workload> build(const ModelSpec& m, std::uint32_t nodes = 2, const FrameworkSpec& framework = {}) {
  return build_workload(m, framework, {nodes, 8, Bytes(80'000'000'000)});
}
FrameworkSpec without_overlap() {
  FrameworkSpec f;
  f.gradients.overlap = false;
  return f;
}
Workload built(const ModelSpec& m, std::uint32_t nodes = 2) {
  auto w = build(m, nodes);
  EXPECT_TRUE(w.ok()) << w.error().text();
  return *std::move(w);
}
constexpr std::int64_t kActivations = 4 * 32 * 64 * 2;  // micro-batch x tokens x width x 2 bytes

bool takes_part(const graph::TaskGraph& g, TaskId t, std::uint32_t rank) {
  return !std::holds_alternative<graph::Absent>(g.ops[OpId(g.tasks[t].first_op.value() + g.variant_of(t, rank))]);
}

/// Calls visit(task, members) for every group of more than one that takes part in a collective.
template <class Visit>
void for_each_group(const graph::TaskGraph& g, Visit visit) {
  for (TaskId t(0); t < g.tasks.end_id(); t = TaskId(t.value() + 1)) {
    if (!g.tasks[t].partition.valid()) continue;
    const graph::Partition& p = g.partitions[g.tasks[t].partition];
    std::map<std::uint32_t, std::vector<std::uint32_t>> groups;
    for (std::uint32_t r = 0; r < g.ranks && p.listed_offsets.empty(); ++r)
      groups[r / (p.size * p.stride) * p.stride + r % p.stride].push_back(r);
    for (std::uint32_t i = 0; i + 1 < p.listed_offsets.size(); ++i)
      groups[i].assign(p.listed_members.begin() + p.listed_offsets[i],
                       p.listed_members.begin() + p.listed_offsets[i + 1]);
    for (const auto& [number, members] : groups) {
      if (members.size() > 1 && takes_part(g, t, members.front())) visit(g.tasks[t], members);
    }
  }
}

/// Messages by (stage of the one end, of the other): each way of an exchange counts one.
std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> messages(const Workload& w, std::uint32_t width) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> out;
  for_each_group(w.graph, [&](const graph::Task& task, const std::vector<std::uint32_t>& members) {
    if (!task.between_stages || task.phase == graph::Phase::gradient_sync) return;
    EXPECT_EQ(members.size(), 2u);
    EXPECT_EQ(members[0] % width, members[1] % width);
    out[{members[0] / width, members[1] / width}] += w.graph.names[task.name] == "pipeline.both_ways" ? 2 : 1;
  });
  return out;
}

TEST(MegatronPipeline, EveryMicroBatchGoesThereAndBackOnce) {
  for (const auto schedule : {PipelineSchedule::gpipe, PipelineSchedule::one_f_one_b}) {
    ModelSpec m = small();
    m.as<MegatronSpec>().schedule = schedule;
    const auto sent = messages(built(m), 4);
    ASSERT_EQ(sent.size(), 3u);
    for (const auto& [stages, count] : sent) {
      EXPECT_EQ(stages.second, stages.first + 1);
      EXPECT_EQ(count, 4 * 2 * 16) << "4 ranks per stage, 2 ways, 16 micro-batches";
    }
  }
}

TEST(MegatronPipeline, ChunksPassOnFromTheLastStageToTheFirst) {
  ModelSpec m = small();
  m.as<MegatronSpec>().schedule = PipelineSchedule::interleaved;
  m.as<MegatronSpec>().virtual_stages = 2;
  const auto sent = messages(built(m), 4);
  const std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> expected = {
      {{0, 1}, 4 * 2 * 16 * 2}, {{1, 2}, 4 * 2 * 16 * 2}, {{2, 3}, 4 * 2 * 16 * 2}, {{0, 3}, 4 * 2 * 16}};
  EXPECT_EQ(sent, expected) << "chunks - 1 messages a way, of which one returns to stage 0";
}

TEST(MegatronPipeline, AMessageIsTheShareOfTheActivationsThatARankHolds) {
  for (const bool sequence_parallel : {false, true}) {
    ModelSpec m = small();
    m.as<MegatronSpec>().tensor = 2;
    m.as<MegatronSpec>().sequence_parallel = sequence_parallel;
    const Workload w = built(m);
    std::set<std::int64_t> sizes;
    for_each_group(w.graph, [&](const graph::Task& task, const auto&) {
      if (task.between_stages && task.phase != graph::Phase::gradient_sync)
        sizes.insert(std::get<graph::Collective>(w.graph.ops[task.first_op]).bytes);
    });
    EXPECT_EQ(sizes, std::set<std::int64_t>{sequence_parallel ? kActivations / 2 : kActivations});
  }
}

TEST(MegatronPipeline, PairsOnOneNodeAreTasksOfTheirOwn) {
  // 16 GPUs, 4 per stage: stages 0, 1 and 2, 3 share a node; 1 and 2 do not.
  const Workload w = built(small());
  std::map<const graph::Task*, std::set<bool>> on_one_node;
  for_each_group(w.graph, [&](const graph::Task& task, const std::vector<std::uint32_t>& members) {
    if (task.between_stages && task.phase != graph::Phase::gradient_sync)
      on_one_node[&task].insert(members[0] / 8 == members[1] / 8);
  });
  EXPECT_GT(on_one_node.size(), 0u);
  for (const auto& [task, kinds] : on_one_node) EXPECT_EQ(kinds.size(), 1u);
}

TEST(MegatronPipeline, EndsSumTheirWordEmbeddings) {
  const Workload w = built(small());
  int sums = 0;
  for_each_group(w.graph, [&](const graph::Task& task, const std::vector<std::uint32_t>& members) {
    if (!task.between_stages || task.phase != graph::Phase::gradient_sync) return;
    ++sums;
    EXPECT_EQ(members[1] - members[0], 12u);
    const auto& c = std::get<graph::Collective>(w.graph.ops[task.first_op]);
    EXPECT_EQ(c.kind, graph::CollectiveKind::all_reduce);
    EXPECT_EQ(c.bytes, 128 * 64 * graph::size_of(c.dtype));
  });
  EXPECT_EQ(sums, 4);
}

/// Gradients that a rank's replicas sum, in elements.
std::map<std::uint32_t, std::int64_t> gradients_of_ranks(const Workload& w) {
  std::map<std::uint32_t, std::int64_t> out;
  for_each_group(w.graph, [&](const graph::Task& task, const std::vector<std::uint32_t>& members) {
    if (task.between_stages || task.phase != graph::Phase::gradient_sync) return;
    const auto& c = std::get<graph::Collective>(w.graph.ops[task.first_op]);
    for (const std::uint32_t r : members) out[r] += c.bytes / graph::size_of(c.dtype);
  });
  return out;
}

TEST(MegatronPipeline, StagesTogetherSumTheGradientsOfTheModel) {
  ModelSpec whole = small();
  whole.as<MegatronSpec>().pipeline = 1;
  const std::int64_t all = gradients_of_ranks(built(whole)).at(0);
  for (const auto& [schedule, chunks] : {std::pair{PipelineSchedule::gpipe, 1},
                                         {PipelineSchedule::one_f_one_b, 1},
                                         {PipelineSchedule::interleaved, 2}}) {
    for (const std::int64_t zero : {0, 1, 3}) {
      ModelSpec m = small();
      m.as<MegatronSpec>().schedule = schedule;
      m.as<MegatronSpec>().virtual_stages = chunks;
      m.as<MegatronSpec>().zero = zero;
      const auto of_rank = gradients_of_ranks(built(m));
      std::int64_t sum = 0;
      for (std::uint32_t stage = 0; stage < 4; ++stage) sum += of_rank.at(stage * 4);
      EXPECT_EQ(sum, all + 128 * 64) << "and the last stage's copy of the word embedding";
    }
  }
}

TEST(MegatronPipeline, WithoutOverlapAStageSumsInOnePieceAfterItsLastPass) {
  for (const auto& [schedule, chunks] : {std::pair{PipelineSchedule::gpipe, 1},
                                         {PipelineSchedule::one_f_one_b, 1},
                                         {PipelineSchedule::interleaved, 2}}) {
    ModelSpec m = small();
    m.as<MegatronSpec>().schedule = schedule;
    m.as<MegatronSpec>().virtual_stages = chunks;
    FrameworkSpec one_shot;
    one_shot.gradients.sync = GradientSync::one_shot;
    for (const FrameworkSpec& framework : {without_overlap(), one_shot}) {
      const Workload w = build(m, 2, framework).value();
      EXPECT_EQ(gradients_of_ranks(w), gradients_of_ranks(built(m))) << "the same gradients";
      for (std::uint32_t rank = 0; rank < 16; rank += 4) {
        int sums = 0;
        for (TaskId t(0); t < w.graph.tasks.end_id(); t = TaskId(t.value() + 1)) {
          if (!takes_part(w.graph, t, rank)) continue;
          const graph::Task& task = w.graph.tasks[t];
          if (task.phase == graph::Phase::gradient_sync && !task.between_stages) ++sums;
          if (sums > 0 && task.stream == graph::Stream::compute) {
            EXPECT_NE(task.phase, graph::Phase::backward) << "rank " << rank;
          }
        }
        EXPECT_EQ(sums, 1) << "rank " << rank;
      }
    }
  }
}

TEST(MegatronPipeline, ReplicasDoNotQueueBehindTensorParallelGroups) {
  for (const std::int64_t zero : {0, 1, 3}) {
    ModelSpec m = small();
    m.as<MegatronSpec>().tensor = 2;
    m.as<MegatronSpec>().zero = zero;
    std::set<graph::Stream> of_tensor, of_replicas;
    const Workload w = built(m);
    for_each_group(w.graph, [&](const graph::Task& task, const std::vector<std::uint32_t>& members) {
      const bool tensor = members[1] - members[0] == 1;
      if (!task.between_stages) (tensor ? of_tensor : of_replicas).insert(task.stream);
    });
    EXPECT_EQ(of_tensor, std::set<graph::Stream>{graph::Stream::comm});
    EXPECT_EQ(of_replicas, std::set<graph::Stream>{graph::Stream::comm.lane(1)}) << "ZeRO " << zero;
  }
}

/// Of the forward products that ranks run.
double product_flops(const Workload& w) {
  double flops = 0;
  for (TaskId t(0); t < w.graph.tasks.end_id(); t = TaskId(t.value() + 1)) {
    const graph::Op& op = w.graph.ops[w.graph.tasks[t].first_op];
    if (w.graph.tasks[t].phase != graph::Phase::forward || !std::holds_alternative<graph::Gemm>(op)) continue;
    for (std::uint32_t r = 0; r < w.graph.ranks; ++r) flops += takes_part(w.graph, t, r) ? graph::flops_of(op) : 0;
  }
  return flops;
}

TEST(MegatronPipeline, WorkAndParametersDoNotDependOnTheCut) {
  ModelSpec whole = small();
  whole.as<MegatronSpec>().pipeline = 1;
  const Workload alone = built(whole);
  for (const std::int64_t p : {2, 4, 8}) {
    for (const bool interleaved : {false, true}) {
      ModelSpec m = small();
      m.as<MegatronSpec>().pipeline = p;
      if (interleaved && p == 8) continue;
      if (interleaved)
        m.as<MegatronSpec>().schedule = PipelineSchedule::interleaved, m.as<MegatronSpec>().virtual_stages = 8 / p;
      const Workload w = built(m);
      EXPECT_NEAR(w.model_flops, alone.model_flops, alone.model_flops * 1e-9) << p;
      EXPECT_NEAR(product_flops(w), product_flops(alone), product_flops(alone) * 1e-9) << p;
      EXPECT_EQ(w.dense_parameters, alone.dense_parameters) << p;
    }
  }
}

TEST(MegatronPipeline, GpipeHoldsAllMicroBatchesAnd1f1bAsManyAsStagesFollow) {
  const auto activations = [](PipelineSchedule schedule, std::uint32_t stage) {
    ModelSpec m = small();
    m.as<MegatronSpec>().schedule = schedule;
    return built(m).memory.at(stage * 4).activations;
  };
  // A stage between the ends holds the same for every micro-batch.
  const std::int64_t one = activations(PipelineSchedule::gpipe, 1) / 16;
  EXPECT_EQ(activations(PipelineSchedule::gpipe, 1), 16 * one);
  EXPECT_EQ(activations(PipelineSchedule::gpipe, 2), 16 * one);
  EXPECT_EQ(activations(PipelineSchedule::one_f_one_b, 1), 3 * one);
  EXPECT_EQ(activations(PipelineSchedule::one_f_one_b, 2), 2 * one);
  EXPECT_GT(activations(PipelineSchedule::one_f_one_b, 0), 4 * one) << "embedding";
  EXPECT_GT(activations(PipelineSchedule::one_f_one_b, 3), one) << "head";
}

TEST(MegatronPipeline, MemoryCheckNamesARankOfTheFullestStage) {
  ModelSpec m = small();
  m.as<MegatronSpec>().vocabulary = 1 << 26;
  const auto w = build(m);
  ASSERT_FALSE(w.ok());
  EXPECT_TRUE(w.error().text().find("rank 0 needs") != std::string::npos ||
              w.error().text().find("rank 12 needs") != std::string::npos)
      << w.error().text();
}

TEST(MegatronPipeline, WhatDoesNotFitIsBuiltWhereMemoryIsNotChecked) {
  ModelSpec m = small();
  m.as<MegatronSpec>().vocabulary = 1 << 26;
  m.memory_check = false;
  const auto w = build(m);
  ASSERT_TRUE(w.ok()) << w.error().text();
  int said = 0;
  for (const graph::Assumption& a : w->assumptions) said += a.text.starts_with("memory check disabled; estimate: ");
  EXPECT_EQ(said, 1);
}

TEST(MegatronPipeline, MixesWithAllOtherSplits) {
  for (const std::int64_t zero : {0, 1, 2, 3}) {
    for (const bool experts : {false, true}) {
      for (const bool checkpointing : {false, true}) {
        ModelSpec m = small();
        m.as<MegatronSpec>().tensor = 2;
        m.as<MegatronSpec>().sequence_parallel = true;
        m.as<MegatronSpec>().pipeline = 2;
        m.as<MegatronSpec>().schedule = PipelineSchedule::interleaved;
        m.as<MegatronSpec>().virtual_stages = 2;
        m.as<MegatronSpec>().zero = zero;
        m.as<MegatronSpec>().activation_checkpointing = checkpointing;
        if (experts) m.as<MegatronSpec>().experts = m.as<MegatronSpec>().expert = 4;
        const Workload w = built(m);
        EXPECT_EQ(w.graph.alike, 8u);
        for_each_group(w.graph, [&](const graph::Task& task, const std::vector<std::uint32_t>& members) {
          if (task.between_stages) return;
          for (const std::uint32_t r : members) EXPECT_EQ(r / 8, members.front() / 8) << "within a stage";
        });
      }
    }
  }
}

TEST(MegatronPipeline, ABatchMayBeSmallerThanTheNumberOfGpus) {
  ModelSpec m = small();
  m.as<MegatronSpec>().tensor = 4;
  m.global_batch = 8;
  EXPECT_EQ(built(m).samples, 8);
}

TEST(MegatronPipeline, Refusals) {
  const auto refused = [](auto change, const std::string& message) {
    ModelSpec m = small();
    change(m);
    const auto w = build(m);
    ASSERT_FALSE(w.ok()) << message;
    EXPECT_NE(w.error().text().find(message), std::string::npos) << w.error().text();
  };
  refused([](ModelSpec& m) { m.as<MegatronSpec>().tensor = 8; },
          "model.megatron.tensor: found 8 x pipeline 4, expected a divisor of 16 GPUs");
  refused([](ModelSpec& m) { m.global_batch = 250; }, "model.global_batch: found 250, expected a multiple of 16");
  refused([](ModelSpec& m) { m.global_batch = 4 * 4 * 100'000; },
          "model.megatron.micro_batch: found 4, which makes 100000 micro-steps on 4 stages, expected fewer");
  refused([](ModelSpec& m) { m.global_batch = std::int64_t{1} << 40; }, "expected fewer");
  refused(
      [](ModelSpec& m) {
        m.as<MegatronSpec>().schedule = PipelineSchedule::interleaved;
        m.as<MegatronSpec>().virtual_stages = 2;
        m.global_batch = 32;
      },
      "model.megatron.schedule: found interleaved with 2 micro-batches per replica (global_batch 32), expected a multiple of 4 stages");
}

}  // namespace
}  // namespace distsim::workload
