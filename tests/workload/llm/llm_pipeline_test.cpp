// Pipelined language models: messages by hand, conservation over the ways to cut, memory by stage, refusals.
#include <set>

#include "llm_fixtures.hpp"

namespace distsim::workload {
namespace {

/// 4 stages on 16 GPUs: 4 replicas of 16 micro-batches of 4.
ModelSpec small_pipeline(PipelineSchedule schedule = PipelineSchedule::one_f_one_b, std::int64_t chunks = 1) {
  ModelSpec m = small_llm(8, 256);
  m.parallel.pipeline = 4;
  m.parallel.schedule = schedule;
  m.parallel.virtual_stages = chunks;
  return m;
}
const std::pair<PipelineSchedule, std::int64_t> kSchedules[] = {{PipelineSchedule::gpipe, 1},
                                                                {PipelineSchedule::one_f_one_b, 1},
                                                                {PipelineSchedule::interleaved, 2},
                                                                {PipelineSchedule::zero_bubble, 1}};

/// Between stages there are also the sums over the word embedding's copies and of the gradients' norm.
bool is_message(const graph::Task& task) {
  return task.between_stages && (task.phase == graph::Phase::forward || task.phase == graph::Phase::backward);
}

/// Messages by (stage of the one end, of the other): each way of an exchange counts one.
std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> messages(const Workload& w, std::uint32_t width) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> out;
  for_each_group(w.graph, [&](const graph::Task& task, const std::vector<std::uint32_t>& members) {
    if (!is_message(task)) return;
    EXPECT_EQ(members.size(), 2u);
    EXPECT_EQ(members[0] % width, members[1] % width);
    out[{members[0] / width, members[1] / width}] += w.graph.names[task.name] == "pipeline.both_ways" ? 2 : 1;
  });
  return out;
}

TEST(LlmPipeline, EveryMicroBatchGoesThereAndBackOnce) {
  for (const auto schedule : {PipelineSchedule::gpipe, PipelineSchedule::one_f_one_b, PipelineSchedule::zero_bubble,
                              PipelineSchedule::dualpipe}) {
    const auto sent = messages(built_llm(small_pipeline(schedule)), 4);
    ASSERT_EQ(sent.size(), 3u);
    for (const auto& [stages, count] : sent) {
      EXPECT_EQ(stages.second, stages.first + 1);
      EXPECT_EQ(count, 4 * 2 * 16) << "4 ranks per stage, 2 ways, 16 micro-batches";
    }
  }
}

TEST(LlmPipeline, ChunksPassOnFromTheLastStageToTheFirst) {
  const auto sent = messages(built_llm(small_pipeline(PipelineSchedule::interleaved, 2)), 4);
  const std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> expected = {
      {{0, 1}, 4 * 2 * 16 * 2}, {{1, 2}, 4 * 2 * 16 * 2}, {{2, 3}, 4 * 2 * 16 * 2}, {{0, 3}, 4 * 2 * 16}};
  EXPECT_EQ(sent, expected) << "chunks - 1 messages a way, of which one returns to stage 0";
}

TEST(LlmPipeline, AMessageIsTheShareOfTheActivationsThatARankHolds) {
  for (const bool sequence_parallel : {false, true}) {
    ModelSpec m = small_pipeline();
    m.parallel.tensor = 2;
    m.parallel.sequence_parallel = sequence_parallel;
    const Workload w = built_llm(m);
    std::set<std::int64_t> sizes;
    for_each_group(w.graph, [&](const graph::Task& task, const auto&) {
      if (is_message(task)) sizes.insert(std::get<graph::Collective>(w.graph.ops[task.first_op]).bytes);
    });
    EXPECT_EQ(sizes, std::set<std::int64_t>{sequence_parallel ? kActivations / 2 : kActivations});
  }
}

TEST(LlmPipeline, EndsSumTheirWordEmbeddings) {
  const Workload w = built_llm(small_pipeline());
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

TEST(LlmPipeline, StagesTogetherSumTheGradientsOfTheModel) {
  ModelSpec whole = small_pipeline();
  whole.parallel.pipeline = 1;
  const std::int64_t all = gradients_of_ranks(built_llm(whole)).at(0);
  for (const auto& [schedule, chunks] : kSchedules) {
    for (const StateSplit shard : {StateSplit::none, StateSplit::optimizer, StateSplit::weights}) {
      ModelSpec m = small_pipeline(schedule, chunks);
      m.parallel.shard = shard;
      const auto of_rank = gradients_of_ranks(built_llm(m));
      std::int64_t sum = 0;
      for (std::uint32_t stage = 0; stage < 4; ++stage) sum += of_rank.at(stage * 4);
      EXPECT_EQ(sum, all + 128 * 64) << "and the last stage's copy of the word embedding";
    }
  }
}

TEST(LlmPipeline, ReplicasDoNotQueueBehindTensorParallelGroups) {
  for (const StateSplit shard : {StateSplit::none, StateSplit::optimizer, StateSplit::weights}) {
    ModelSpec m = small_pipeline();
    m.parallel.tensor = 2;
    m.parallel.shard = shard;
    std::set<graph::Stream> of_tensor, of_replicas;
    const Workload w = built_llm(m);
    for_each_group(w.graph, [&](const graph::Task& task, const std::vector<std::uint32_t>& members) {
      const bool tensor = members.size() == 2 && members[1] - members[0] == 1;
      if (!task.between_stages) (tensor ? of_tensor : of_replicas).insert(task.stream);
    });
    EXPECT_EQ(of_tensor, std::set<graph::Stream>{graph::Stream::comm});
    EXPECT_EQ(of_replicas, std::set<graph::Stream>{graph::Stream::comm.lane(1)}) << name_of(shard);
  }
}

/// Of all products that ranks run forward.
double product_flops(const Workload& w) {
  double flops = 0;
  for (TaskId t(0); t < w.graph.tasks.end_id(); t = TaskId(t.value() + 1)) {
    if (w.graph.tasks[t].phase != graph::Phase::forward) continue;
    for (std::uint32_t r = 0; r < w.graph.ranks; ++r) {
      const graph::Op& op = w.graph.ops[OpId(w.graph.tasks[t].first_op.value() + w.graph.variant_of(t, r))];
      const auto* sequence = std::get_if<graph::Sequence>(&op);
      if (sequence == nullptr) continue;
      for (const graph::SequencePart& part : w.graph.sequences[static_cast<std::size_t>(sequence->index)]) {
        const bool product = std::holds_alternative<graph::Gemm>(w.graph.ops[part.op]);
        flops += product ? part.times * graph::flops_of(w.graph.ops[part.op]) : 0;
      }
    }
  }
  return flops;
}

TEST(LlmPipeline, WorkAndParametersDoNotDependOnTheCut) {
  ModelSpec whole = small_pipeline();
  whole.parallel.pipeline = 1;
  const Workload alone = built_llm(whole);
  for (const std::int64_t p : {2, 4, 8}) {
    for (const bool interleaved : {false, true}) {
      if (interleaved && p == 8) continue;
      ModelSpec m = small_pipeline(interleaved ? PipelineSchedule::interleaved : PipelineSchedule::one_f_one_b,
                                   interleaved ? 8 / p : 1);
      m.parallel.pipeline = p;
      const Workload w = built_llm(m);
      EXPECT_NEAR(w.model_flops, alone.model_flops, alone.model_flops * 1e-9) << p;
      EXPECT_NEAR(product_flops(w), product_flops(alone), product_flops(alone) * 1e-9) << p;
      EXPECT_EQ(w.dense_parameters, alone.dense_parameters) << p;
    }
  }
}

TEST(LlmPipeline, GpipeHoldsAllMicroBatchesAnd1f1bAsManyAsStagesFollow) {
  const auto activations = [](PipelineSchedule schedule, std::uint32_t stage) {
    return built_llm(small_pipeline(schedule)).memory.at(stage * 4).activations;
  };
  // A stage between the ends holds the same for every micro-batch.
  const std::int64_t one = activations(PipelineSchedule::gpipe, 1) / 16;
  EXPECT_EQ(activations(PipelineSchedule::gpipe, 1), 16 * one);
  EXPECT_EQ(activations(PipelineSchedule::gpipe, 2), 16 * one);
  EXPECT_EQ(activations(PipelineSchedule::one_f_one_b, 1), 3 * one);
  EXPECT_EQ(activations(PipelineSchedule::one_f_one_b, 2), 2 * one);
  EXPECT_GE(activations(PipelineSchedule::one_f_one_b, 0), 4 * one) << "embedding";
  EXPECT_GT(activations(PipelineSchedule::one_f_one_b, 3), one) << "head";
}

TEST(LlmPipeline, ZeroBubbleHoldsWhatThe1f1bOfTheFirstStageHolds) {
  const Workload zero = built_llm(small_pipeline(PipelineSchedule::zero_bubble)), one = built_llm(small_pipeline());
  EXPECT_EQ(zero.memory.at(0).activations, one.memory.at(0).activations);
  EXPECT_EQ(zero.memory.at(4).activations * 3, one.memory.at(4).activations * 4) << "4 micro-batches instead of 3";
  EXPECT_EQ(zero.memory.at(4).weights, one.memory.at(4).weights);
}

TEST(LlmPipeline, DualPipeHoldsWeightsTwiceAndSumsTheirGradientsOverBothStages) {
  const Workload dual = built_llm(small_pipeline(PipelineSchedule::dualpipe)), one = built_llm(small_pipeline());
  const auto weights = [](const Workload& w, std::uint32_t stage) { return w.memory.at(stage * 4).weights; };
  EXPECT_EQ(weights(dual, 0), weights(one, 0) + weights(one, 3));
  EXPECT_EQ(weights(dual, 1), 2 * weights(one, 1));
  EXPECT_EQ(weights(dual, 3), weights(dual, 0));
  EXPECT_EQ(dual.memory.at(4).activations * 4,
            built_llm(small_pipeline(PipelineSchedule::zero_bubble)).memory.at(4).activations * 5);
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> sums;
  for_each_group(dual.graph, [&](const graph::Task& task, const std::vector<std::uint32_t>& members) {
    if (!task.between_stages || task.phase != graph::Phase::gradient_sync) return;
    EXPECT_EQ(dual.graph.names[task.name], "gradients.copies");
    ++sums[{members[0] / 4, members[1] / 4}];
  });
  EXPECT_EQ(sums, (std::map<std::pair<std::uint32_t, std::uint32_t>, int>{{{0, 3}, 4}, {{1, 2}, 4}}));
  EXPECT_EQ(dual.model_flops, one.model_flops);
  EXPECT_NEAR(product_flops(dual), product_flops(one), product_flops(one) * 1e-9);
}

TEST(LlmPipeline, MemoryCheckNamesARankOfTheFullestStage) {
  ModelSpec m = small_pipeline();
  m.as<LlmSpec>().vocabulary = 1 << 26;
  const auto w = build_llm(m);
  ASSERT_FALSE(w.ok());
  EXPECT_TRUE(w.error().text().find("rank 0 needs") != std::string::npos ||
              w.error().text().find("rank 12 needs") != std::string::npos)
      << w.error().text();
  m.memory_check = false;
  const auto built = build_llm(m);
  ASSERT_TRUE(built.ok()) << built.error().text();
  int said = 0;
  for (const graph::Assumption& a : built->assumptions) said += a.text.starts_with("memory check disabled; estimate: ");
  EXPECT_EQ(said, 1);
}

TEST(LlmPipeline, MixesWithAllOtherSplits) {
  for (const StateSplit shard : {StateSplit::none, StateSplit::optimizer, StateSplit::gradients, StateSplit::weights}) {
    for (const bool experts : {false, true}) {
      for (const RecomputeKind recompute : {RecomputeKind::none, RecomputeKind::full}) {
        ModelSpec m = small_pipeline(PipelineSchedule::interleaved, 2);
        m.parallel.tensor = 2;
        m.parallel.sequence_parallel = true;
        m.parallel.pipeline = 2;
        m.parallel.shard = shard;
        m.parallel.recompute.kind = recompute;
        if (experts) m.as<LlmSpec>().experts = m.parallel.expert = 4;
        const Workload w = built_llm(m);
        EXPECT_EQ(w.graph.alike, 8u);
        for_each_group(w.graph, [&](const graph::Task& task, const std::vector<std::uint32_t>& members) {
          if (task.between_stages) return;
          for (const std::uint32_t r : members) EXPECT_EQ(r / 8, members.front() / 8) << "within a stage";
        });
      }
    }
  }
}

/// A number of blocks of each stage is that number, however many chunks it has.
TEST(LlmPipeline, RecomputesAsManyBlocksOfAStageAsAskedFor) {
  const auto repeated = [](std::int64_t blocks, std::int64_t virtual_stages) {
    ModelSpec m = small_pipeline(virtual_stages > 1 ? PipelineSchedule::interleaved : PipelineSchedule::one_f_one_b,
                                 virtual_stages);
    m.as<LlmSpec>().layers = 16;
    m.parallel.pipeline = 2;
    m.parallel.recompute = {RecomputeKind::full, blocks, {}};
    return built_llm(m).repeated_flops;
  };
  const double one = repeated(1, 1);
  EXPECT_GT(one, 0);
  for (const std::int64_t virtual_stages : {1, 2, 4}) {
    for (std::int64_t blocks = 1; blocks <= 8; ++blocks)
      EXPECT_NEAR(repeated(blocks, virtual_stages), static_cast<double>(blocks) * one, 1e-9 * one) << virtual_stages;
    EXPECT_EQ(repeated(8, virtual_stages), repeated(0, virtual_stages)) << "all";
  }
}

/// Chunks that have fewer blocks than their share leave it to the others of their stage: 8 blocks of the first stage, 6 of the
/// second, are all computed again where 8 are asked for.
TEST(LlmPipeline, RecomputesAsManyBlocksOfAStageOfUnevenChunks) {
  ModelSpec m = small_pipeline(PipelineSchedule::interleaved, 2);
  m.as<LlmSpec>().layers = 14;
  m.parallel.pipeline = 2;
  m.parallel.stage_layers = {7, 3, 1, 3};
  const auto repeated = [&](std::int64_t blocks) {
    m.parallel.recompute = {RecomputeKind::full, blocks, {}};
    return built_llm(m).repeated_flops;
  };
  const double one = repeated(1) / 2;  // on each of two stages
  for (std::int64_t blocks = 1; blocks <= 8; ++blocks) {
    const auto all = static_cast<double>(blocks + std::min<std::int64_t>(blocks, 6));
    EXPECT_NEAR(repeated(blocks), all * one, 1e-9 * all * one) << blocks;
  }
  EXPECT_EQ(repeated(8), repeated(0)) << "all";
  m.parallel.recompute = {RecomputeKind::full, 9, {}};
  EXPECT_NE(build_llm(m).error().text().find("found 9, expected at most 8, the blocks of a stage"), std::string::npos);
}

TEST(LlmPipeline, BlocksThatDoNotDivideAreDealtAndSaid) {
  ModelSpec m = small_pipeline();
  m.as<LlmSpec>().layers = 14;  // with embedding and loss 16
  bool said = false;
  for (const graph::Assumption& a : built_llm(m).assumptions) said = said || a.text.starts_with("embedding and loss");
  EXPECT_TRUE(said);
  m.as<LlmSpec>().layers = 9;
  EXPECT_NE(built_llm(m).placement, "");
  m.parallel.stage_layers = {3, 2, 2, 2};
  EXPECT_TRUE(build_llm(m).ok());
  m.parallel.stage_layers = {3, 3, 2, 2};
  EXPECT_NE(build_llm(m).error().text().find("parallel.stage_layers: found 4 numbers with a sum of 10"),
            std::string::npos);
}

TEST(LlmPipeline, Refusals) {
  const auto refused = [](auto change, const std::string& message) {
    expect_refused(small_pipeline(), change, message);
  };
  refused([](ModelSpec& m) { m.parallel.tensor = 8; },
          "found tensor 8 x context 1 x pipeline 4, expected a divisor of 16 GPUs");
  refused([](ModelSpec& m) { m.as<LlmSpec>().layers = 1; },
          "parallel.pipeline: found 4, expected at most model.llm.layers (1)");
  refused([](ModelSpec& m) { m.global_batch = 250; }, "model.global_batch: found 250, expected a multiple of 16");
  refused([](ModelSpec& m) { m.global_batch = std::int64_t{1} << 31; },
          "expected at most 1000000 passes through stages");
  refused([](ModelSpec& m) { m.parallel.virtual_stages = 2; }, "parallel.virtual_stages: found 2, expected 1");
  refused(
      [](ModelSpec& m) {
        m.parallel.schedule = PipelineSchedule::interleaved;
        m.parallel.virtual_stages = 2;
        m.global_batch = 32;
      },
      "parallel.schedule: found interleaved with 2 micro-batches per replica, expected a multiple of 4 stages");
  const auto dualpipe = [&](auto change, const std::string& message) {
    expect_refused(small_pipeline(PipelineSchedule::dualpipe), change, message);
  };
  dualpipe(
      [](ModelSpec& m) { m.global_batch = 96; },
      "parallel.schedule: found dualpipe with 6 micro-batches per replica, expected an even number of at least 8, two "
      "for each stage");
  dualpipe([](ModelSpec& m) { m.global_batch = 144; }, "found dualpipe with 9 micro-batches per replica");
  dualpipe([](ModelSpec& m) { m.parallel.pipeline = 1; },
           "parallel.schedule: found dualpipe with pipeline 1, expected at least 2 stages");
  dualpipe([](ModelSpec& m) { m.parallel.virtual_stages = 2; }, "parallel.virtual_stages: found 2, expected 1");
}

}  // namespace
}  // namespace distsim::workload
