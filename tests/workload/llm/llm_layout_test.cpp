// A language model split over GPUs: bytes of each dimension by hand, conservation over the ways to split, memory,
// refusals.
#include <algorithm>

#include "../tasks_by_name.hpp"
#include "llm_fixtures.hpp"
#include "sim/workload/llm/llm_plan.hpp"
#include "sim/workload/specs/step_mode.hpp"

namespace distsim::workload {
namespace {

ModelSpec small() { return small_llm(2, 64); }

TEST(LlmLayout, TensorParallelReducesTwiceABlockAndPass) {
  // Forward: 2 a block, 1 after the embedding. Backward: 2 a block, 1 before the head. 4 + 1 + 4 + 1 = 10 a micro-step;
  // 3 fp32 a token at the loss, each way. 8 replicas take 64 samples by 4 at a time: 2 micro-steps.
  ModelSpec m = small();
  m.parallel.tensor = 2;
  const auto bytes = bytes_of_first_rank(built_llm(m));
  EXPECT_EQ(bytes.at("tensor.all_reduce"), 20 * kActivations + 2 * 2 * 3 * 4 * 32 * 4);
}

TEST(LlmLayout, SequenceParallelGathersAndScattersInstead) {
  // Every all-reduce becomes a scatter and a gather; the inputs of split products are gathered again in the backward
  // pass: twice a block and once for the head.
  ModelSpec m = small();
  m.parallel.tensor = 2;
  m.parallel.sequence_parallel = true;
  const auto bytes = bytes_of_first_rank(built_llm(m));
  EXPECT_EQ(bytes.at("tensor.reduce_scatter"), 20 * kActivations);
  EXPECT_EQ(bytes.at("tensor.all_gather"), (20 + 10) * kActivations);
}

TEST(LlmLayout, ContextParallelPassesKeysAndValuesAround) {
  // 4 contexts: a block gathers keys and values of 4 x 32 tokens, 2 x 64 wide; their gradients too on the way back.
  ModelSpec m = small();
  m.parallel.context = 4;
  m.parallel.context_exchange = ContextExchange::all_gather;
  const auto bytes = bytes_of_first_rank(built_llm(m));
  const std::int64_t keys = 4 * 32 * 2 * 64 * 2, micro_steps = 64 / (4 * 4);
  EXPECT_EQ(bytes.at("context.all_gather"), 2 * keys * micro_steps);
  EXPECT_EQ(bytes.at("context.reduce_scatter"), 2 * keys * micro_steps);
  m.parallel.context_exchange = ContextExchange::ulysses;
  // Queries, keys, values and results of a rank's 32 tokens, there and back.
  EXPECT_EQ(bytes_of_first_rank(built_llm(m)).at("context.all_to_all"), 2 * 2 * (4 * 8 * 4 * 64 * 2) * micro_steps);
}

TEST(LlmLayout, ReplicasSumTheirGradients) {
  // A block, tensor 2: qkv 64 x 96 + 96, projection 32 x 64 + 64, up 64 x 128 + 128, down 128 x 64 + 64, norms 4 x 64;
  // embedding 64 x 64, positions 32 x 64, last norm 2 x 64.
  const std::int64_t block = 64 * 96 + 96 + 32 * 64 + 64 + 64 * 128 + 128 + 128 * 64 + 64 + 4 * 64;
  ModelSpec m = small();
  m.parallel.tensor = 2;
  const auto bytes = bytes_of_first_rank(built_llm(m));
  EXPECT_EQ(bytes.at("gradients"), 2 * (2 * block + 64 * 64 + 32 * 64 + 2 * 64)) << "once an iteration, 2 bytes each";
}

TEST(LlmLayout, ExpertsExchangeTheirTokens) {
  // 4 experts on 4 GPUs, 2 a token: all-to-all of 2 x activations; there and back, forward and backward, 2 blocks, 64 /
  // (16 x 4) = 1 micro-step.
  ModelSpec m = small();
  m.as<LlmSpec>().experts = 4;
  m.parallel.expert = 4;
  const Workload w = built_llm(m);
  EXPECT_EQ(bytes_of_first_rank(w).at("expert.all_to_all"), 8 * 2 * kActivations);
  // Gradients of an expert are summed over the 4 GPUs that hold it, 4 apart; all others over 16.
  for_each_group(w.graph, [&](const graph::Task& task, const std::vector<std::uint32_t>& members) {
    if (w.graph.names[task.name] == "gradients.experts") {
      EXPECT_EQ(members.size(), 4u);
      EXPECT_EQ(members[1] - members[0], 4u);
    }
    if (w.graph.names[task.name] == "gradients") {
      EXPECT_EQ(members.size(), 16u);
    }
  });
}

TEST(LlmLayout, ExpertsOfWholeRanksGiveTheirTokensToAll) {
  // Tensor 2, an expert on one rank: each sends half of the tokens to the experts, so that all gather results, and on the way
  // back gradients, once a block. Attention reduces once a block and pass, as do embedding and head; a shared expert too.
  ModelSpec m = small();
  m.as<LlmSpec>().experts = 4;
  m.parallel.tensor = 2;
  m.parallel.expert = 4;
  const std::int64_t steps = 2, blocks = 2, loss = 2 * steps * 3 * 4 * 32 * 4;
  const auto bytes = bytes_of_first_rank(built_llm(m));
  EXPECT_EQ(bytes.at("tensor.all_gather"), steps * blocks * 2 * kActivations);
  EXPECT_EQ(bytes.at("tensor.all_reduce"), steps * (2 * blocks + 2) * kActivations + loss);
  m.as<LlmSpec>().shared_expert_ffn_hidden = 128;
  EXPECT_EQ(bytes_of_first_rank(built_llm(m)).at("tensor.all_reduce"), steps * (4 * blocks + 2) * kActivations + loss);
  m.parallel.sequence_parallel = true;  // all have their own tokens from the start
  m.as<LlmSpec>().shared_expert_ffn_hidden = 0;
  EXPECT_EQ(bytes_of_first_rank(built_llm(m)).at("tensor.reduce_scatter"), steps * (2 * blocks + 2) * kActivations);
}

TEST(LlmLayout, SplitWeightsAreGatheredForEachPass) {
  // Forward and backward all weights; gradients scattered in each of 3 micro-steps and added to the shard in two, or summed
  // whole and scattered once.
  ModelSpec m = small();
  m.global_batch = 3 * 64;
  m.parallel.shard = StateSplit::weights;
  FrameworkSpec f;
  for (const bool each : {true, false}) {
    f.gradients.each_micro_step = each;
    const Workload w = built_llm(m, 2, f);
    const auto bytes = bytes_of_first_rank(w);
    const double all = static_cast<double>(w.dense_parameters) * 2;
    EXPECT_NEAR(static_cast<double>(bytes.at("weights.gather")), 3 * 2 * all, 0.01 * all);
    EXPECT_NEAR(static_cast<double>(bytes.at("gradients")), (each ? 3 : 1) * all, 0.01 * all);
    EXPECT_EQ(find(w.graph, "gradients.accumulate") != nullptr, each);
    const std::int64_t whole = 4 * w.dense_parameters;  // fp32
    EXPECT_NEAR(static_cast<double>(w.memory.at(0).gradients), static_cast<double>(each ? whole / 16 : whole), 32);
  }
}

/// The same of gradients that are split while weights are whole.
TEST(LlmLayout, SplitGradientsAreScatteredInEachMicroStepOrSummedWhole) {
  ModelSpec m = small();
  m.global_batch = 3 * 64;
  m.parallel.shard = StateSplit::gradients;
  FrameworkSpec f;
  for (const bool each : {true, false}) {
    f.gradients.each_micro_step = each;
    const Workload w = built_llm(m, 2, f);
    const double all = static_cast<double>(w.dense_parameters) * 2;
    EXPECT_NEAR(static_cast<double>(bytes_of_first_rank(w).at("gradients")), (each ? 3 : 1) * all, 0.01 * all);
    EXPECT_EQ(find(w.graph, "gradients.accumulate") != nullptr, each);
    const std::int64_t whole = 4 * w.dense_parameters;  // fp32
    EXPECT_NEAR(static_cast<double>(w.memory.at(0).gradients), static_cast<double>(each ? whole / 16 : whole), 32);
  }
}

/// Even those of a single micro-step, for the optimizer did not run: within the products' kernels or behind them, or to the
/// shard once it is reduced.
TEST(LlmLayout, WithoutOptimizerGradientsAreAddedToThoseThatAreThere) {
  const auto weights_of_sums = [](const Workload& w) {
    std::int64_t sum = 0;
    for (const graph::Op& op : w.graph.ops) {
      if (const auto* e = std::get_if<graph::Elementwise>(&op)) sum += e->elements;
    }
    return sum;
  };
  ModelSpec m = small();
  m.global_batch = 64;
  for (const StateSplit shard : {StateSplit::none, StateSplit::optimizer, StateSplit::gradients, StateSplit::weights}) {
    m.parallel.shard = shard;
    m.as<StepSpec>().mode = StepMode::train;
    const Workload trains = built_llm(m);
    m.as<StepSpec>().mode = StepMode::forward_backward;
    const Workload adds = built_llm(m);
    const bool owns = shard >= StateSplit::gradients;
    EXPECT_EQ(find(trains.graph, "gradients.accumulate"), nullptr);
    EXPECT_EQ(find(adds.graph, "gradients.accumulate") != nullptr, owns);
    EXPECT_EQ(adds.memory.at(0).gradients, trains.memory.at(0).gradients);
    const std::int64_t norm =
        std::get<graph::Elementwise>(trains.graph.ops[find(trains.graph, "optimizer.norm")->first_op]).elements;
    if (!owns) {
      EXPECT_GT(weights_of_sums(adds), weights_of_sums(trains) - norm);
    }
    if (owns) {
      EXPECT_GE(weights_of_sums(adds), weights_of_sums(trains) - norm);
    }
  }
}

/// Memory for shards only: such a framework scatters in each micro-step, too, and says so.
TEST(LlmLayout, WholeGradientsAreNotSummedWhereTheyDoNotFit) {
  ModelSpec m = small_llm(8, 3 * 64);
  m.as<LlmSpec>().hidden = 4096;
  m.parallel.shard = StateSplit::weights;
  FrameworkSpec f;
  f.gradients.each_micro_step = false;
  const auto built = [&](std::int64_t memory) { return build_workload(m, f, {2, 8, Bytes(memory)}).value(); };
  const Workload large = built(80'000'000'000), little = built(6'000'000'000);
  EXPECT_EQ(find(large.graph, "gradients.accumulate"), nullptr);
  EXPECT_NE(find(little.graph, "gradients.accumulate"), nullptr);
  EXPECT_GT(large.memory.at(0).gradients, 15 * little.memory.at(0).gradients);
  EXPECT_TRUE(std::ranges::any_of(little.assumptions, [](const graph::Assumption& a) {
    return a.text.find("gradients are scattered in every micro-step") != std::string::npos;
  }));
}

/// In a pipeline a stage keeps what it has gathered, and sums whole gradients as any other does.
TEST(LlmLayout, StagesSumGradientsAlikeHoweverTheyAreSplit) {
  std::map<StateSplit, double> kernels;
  for (const StateSplit shard : {StateSplit::optimizer, StateSplit::weights}) {
    ModelSpec m = small();
    m.parallel.pipeline = 2;
    m.parallel.shard = shard;
    const auto plan = plan_llm(m, {}, {2, 8, Bytes(80'000'000'000)}, m.global_batch);
    ASSERT_TRUE(plan.ok());
    kernels[shard] = plan->chunk(0).work.backward.kernels;
  }
  EXPECT_EQ(kernels[StateSplit::weights], kernels[StateSplit::optimizer]);
}

/// The last block computes while nothing is gathered: both parts of a pass exchange what one pass would.
TEST(LlmLayout, SplitWeightsLeaveOtherExchangesAlone) {
  for (const std::int64_t layers : {1, 2, 3, 7}) {
    ModelSpec m = small_llm(layers, 192);
    m.as<LlmSpec>().experts = 4;
    m.parallel.tensor = 2;
    m.parallel.context = 2;
    m.parallel.expert = 2;
    const auto whole = bytes_of_first_rank(built_llm(m));
    m.parallel.shard = StateSplit::weights;
    const auto split = bytes_of_first_rank(built_llm(m));
    for (const auto& [name, bytes] : whole) {
      if (name.starts_with("tensor.") || name.starts_with("expert.")) {
        EXPECT_EQ(split.at(name), bytes) << name << " of " << layers;
      }
      if (name.starts_with("context.")) {
        EXPECT_NEAR(static_cast<double>(split.at(name)), static_cast<double>(bytes), 64) << name << " of " << layers;
      }
    }
  }
}

TEST(LlmLayout, AShardGroupNeedsSomethingThatIsSplit) {
  ModelSpec m = small();
  m.parallel.shard = StateSplit::none;
  const Workload without = built_llm(m);
  m.parallel.shard_group = 4;
  const Workload with = built_llm(m);
  EXPECT_EQ(bytes_of_first_rank(with), bytes_of_first_rank(without));
  EXPECT_EQ(with.graph.tasks.size(), without.graph.tasks.size());
  EXPECT_EQ(with.memory.at(0).total(), without.memory.at(0).total());
}

TEST(LlmLayout, AShardGroupSumsItsShardsWithTheOthers) {
  ModelSpec m = small();
  m.parallel.shard = StateSplit::weights;
  m.parallel.shard_group = 4;
  std::map<std::pair<std::size_t, std::uint32_t>, std::int64_t> reduced;
  const Workload w = built_llm(m);
  for_each_group(w.graph, [&](const graph::Task& task, const std::vector<std::uint32_t>& members) {
    const auto& c = std::get<graph::Collective>(w.graph.ops[task.first_op]);
    if (task.phase == graph::Phase::gradient_sync && members.front() == 0)
      reduced[{members.size(), members[1] - members[0]}] += c.bytes * c.times;
  });
  ASSERT_EQ(reduced.size(), 2u) << "within groups of neighbours, then among their 4 copies";
  EXPECT_NEAR(static_cast<double>(reduced.at({4, 4})), static_cast<double>(reduced.at({4, 1})) / 4, 8);
}

TEST(LlmLayout, SplittingSavesMemoryStepByStep) {
  std::int64_t last = INT64_MAX;
  for (const StateSplit shard : {StateSplit::none, StateSplit::optimizer, StateSplit::gradients, StateSplit::weights}) {
    ModelSpec m = small_llm(64, 64);
    m.as<LlmSpec>().hidden = 1024;
    m.parallel.shard = shard;
    const RankMemory memory = built_llm(m).memory.at(0);
    EXPECT_LT(memory.total(), last) << name_of(shard);
    last = memory.total();
  }
}

TEST(LlmLayout, UsefulWorkDoesNotDependOnTheSplit) {
  const double alone = built_llm(small()).model_flops;
  for (const std::int64_t t : {2, 4}) {
    ModelSpec m = small();
    m.parallel.tensor = t;
    EXPECT_NEAR(built_llm(m).model_flops, alone, alone * 1e-9) << t;
    m.parallel.tensor = 1;
    m.parallel.context = t;
    EXPECT_NEAR(built_llm(m).model_flops, alone, alone * 1e-9) << t;
  }
}

/// Forward FLOPs that all ranks run for a micro-batch of each replica, over those of the model.
double work_over_model(const ModelSpec& m) {
  const auto plan = plan_llm(m, {}, {2, 8, Bytes(80'000'000'000)}, m.global_batch);
  EXPECT_TRUE(plan.ok()) << plan.error().text();
  if (!plan) return 0;
  double sum = 0;
  for (const std::uint32_t kind : plan->kind_of) sum += plan->kinds[kind].work.forward_flops;
  return sum * plan->ranks_per_stage() / (model_flops(*plan).forward * plan->data);
}

TEST(LlmLayout, TheWorkOfAllRanksAddsUpToTheModels) {
  ModelSpec dense = small(), experts = small(), mamba = small();
  experts.as<LlmSpec>().experts = 4;
  experts.as<LlmSpec>().top_k = 2;
  mamba.as<LlmSpec>().pattern = "MM";
  mamba.as<LlmSpec>().mamba_heads = 8;
  mamba.as<LlmSpec>().mamba_groups = 8;  // with fewer than GPUs, some do the same work
  mamba.as<LlmSpec>().mamba_head_dim = 16;
  mamba.as<LlmSpec>().mamba_state = 16;
  for (const ModelSpec& model : {dense, experts, mamba}) {
    for (const std::int64_t tensor : {1, 2, 4}) {
      for (const std::int64_t context : {1, 2}) {
        for (const std::int64_t expert_tensor : {1, 2, 4}) {
          const bool has_experts = model.as<LlmSpec>().experts > 0;
          if (expert_tensor > tensor || (!has_experts && expert_tensor > 1)) continue;
          for (const std::int64_t expert : {1, 2, 4}) {
            if (!has_experts && expert > 1) continue;
            ModelSpec m = model;
            m.parallel.tensor = tensor;
            m.parallel.sequence_parallel = tensor > 1;
            m.parallel.context = context;
            m.parallel.expert = expert;
            m.parallel.expert_tensor = has_experts ? expert_tensor : 0;
            const bool routes_twice = has_experts && tensor > 1 && expert_tensor == tensor;  // each GPU all tokens
            const double most = routes_twice ? 0.01 * static_cast<double>(tensor) : 0;
            EXPECT_NEAR(work_over_model(m), 1 + most / 2, most / 2 + 1e-9)
                << "tensor " << tensor << " context " << context << " expert " << expert << " expert_tensor "
                << expert_tensor;
          }
        }
      }
    }
  }
}

TEST(LlmLayout, SharersOfAnExpertGatherTheirTokens) {
  // 4 GPUs with 4 x 32 / 4 tokens each, 2 experts a token; pairs of them share an expert: 2 x 64 routed rows of width 64,
  // gathered before the products and scattered after them, forward and backward, in 2 blocks.
  ModelSpec m = small();
  m.as<LlmSpec>().experts = 4;
  m.as<LlmSpec>().top_k = 2;
  m.parallel.tensor = 4;
  m.parallel.sequence_parallel = true;
  m.parallel.expert = 2;
  m.parallel.expert_tensor = 2;
  const Workload w = built_llm(m);
  const auto bytes = bytes_of_first_rank(w);
  const std::int64_t rows = 4 * 32 / 4 * 2, micro_steps = 64 / (4 * 4);
  EXPECT_EQ(bytes.at("expert_tensor.all_gather"), 2 * 2 * (2 * rows * 64 * 2) * micro_steps);
  EXPECT_EQ(bytes.at("expert_tensor.reduce_scatter"), 2 * 2 * (2 * rows * 64 * 2) * micro_steps);
  for_each_group(w.graph, [&](const graph::Task& task, const std::vector<std::uint32_t>& members) {
    if (w.graph.names[task.name].find("expert_tensor") == std::string::npos) return;
    ASSERT_EQ(members.size(), 2u);
    EXPECT_EQ(members[1], members[0] + 1);
  });
}

TEST(LlmLayout, PaddingAndImbalanceAreNoWorkOfTheModel) {
  ModelSpec m = small();
  m.as<LlmSpec>().experts = 8;
  const double plain = built_llm(m).model_flops;
  m.as<LlmSpec>().imbalance = 1;
  EXPECT_DOUBLE_EQ(built_llm(m).model_flops, plain);
  m.as<LlmSpec>().router = LlmRouter::capacity;
  m.as<LlmSpec>().capacity = 2;
  EXPECT_DOUBLE_EQ(built_llm(m).model_flops, plain);
}

TEST(LlmLayout, AHeadOfKeysIsSentToAllThatNeedIt) {
  // 4 query heads and 1 of keys: with 4 contexts each rank has a query head, and all have the head of keys.
  ModelSpec m = small();
  m.as<LlmSpec>().kv_heads = 1;
  m.parallel.context = 4;
  m.parallel.context_exchange = ContextExchange::ulysses;
  const std::int64_t micro_steps = 64 / (4 * 4), queries = 2 * 64, keys = 4 * 2 * 16;
  EXPECT_EQ(bytes_of_first_rank(built_llm(m)).at("context.all_to_all"),
            2 * 2 * (4 * 8 * (queries + keys) * 2) * micro_steps);
}

TEST(LlmLayout, MambaExchangesTokensForHeads) {
  ModelSpec m = small();
  LlmSpec& s = m.as<LlmSpec>();
  s.pattern = "MM";
  s.mamba_heads = 8;
  s.mamba_groups = 2;
  s.mamba_head_dim = 16;
  s.mamba_state = 16;
  m.parallel.context = 4;
  // Before the scan 2 x 128 of channels, 2 x 16 of state inputs for each of 4 ranks (2 groups, sent twice), a step size a
  // head; after it 128.
  const std::int64_t micro_steps = 64 / (4 * 4), tokens = 4 * 8;
  EXPECT_EQ(bytes_of_first_rank(built_llm(m)).at("context.all_to_all"),
            2 * 2 * tokens * (2 * 128 + 2 * 4 * 16 + 8 + 128) * 2 * micro_steps);
}

TEST(LlmLayout, RefusesWhatHasNoWholeHeadsOrNoSuchModules) {
  const auto refused = [](auto change, const std::string& message) { expect_refused(small(), change, message); };
  const auto mamba = [](ModelSpec& m, std::int64_t heads, std::int64_t groups) {
    LlmSpec& s = m.as<LlmSpec>();
    s.pattern = "MM";
    s.mamba_heads = heads;
    s.mamba_groups = groups;
    s.mamba_head_dim = 16;
    s.mamba_state = 16;
  };
  refused([&](ModelSpec& m) { mamba(m, 6, 2), m.parallel.tensor = 4; },
          "parallel.tensor: found 4, expected a divisor of mamba_heads (6)");
  refused([&](ModelSpec& m) { mamba(m, 12, 3), m.parallel.tensor = 4; },
          "parallel.tensor: found 4, expected a divisor of mamba_groups (3)");
  refused([&](ModelSpec& m) { mamba(m, 4, 1), m.parallel.tensor = 2, m.parallel.context = 4; },
          "parallel.context: found 4, expected a divisor of the Mamba-2 heads (2)");
  const auto split = [](ModelSpec& m, std::int64_t shared, std::int64_t decoder) {
    m.parallel.tensor = 2;
    LlmSpec& s = m.as<LlmSpec>();
    if (shared > 0) s.experts = 4, s.shared_expert_ffn_hidden = shared;
    if (decoder > 0) s.decoder_layers = 1, s.decoder_sequence = decoder;
  };
  refused([&](ModelSpec& m) { split(m, 65, 0); },
          "parallel.tensor: found 2, expected a divisor of shared_expert_ffn_hidden (65)");
  refused([&](ModelSpec& m) { split(m, 0, 9), m.parallel.context = 2; },
          "parallel.context: found 2, expected a divisor of model.llm.decoder_sequence (9)");
  refused([&](ModelSpec& m) { split(m, 0, 9), m.parallel.sequence_parallel = true; },
          "parallel.tensor: found 2, expected a divisor of the 9 tokens of a decoder_sequence that its GPUs share");
  ModelSpec even = small();
  split(even, 64, 10);
  even.parallel.sequence_parallel = true;
  EXPECT_TRUE(build_llm(even).ok()) << build_llm(even).error().text();
  for (const char* module : {"moe", "moe_act", "shared_experts", "mla_up_proj"})
    refused(
        [&](ModelSpec& m) {
          m.parallel.recompute = {RecomputeKind::modules, 0, {module}};
        },
        "parallel.recompute: found " + std::string(module));
}

TEST(LlmLayout, Refusals) {
  const auto refused = [](auto change, const std::string& message) { expect_refused(small(), change, message); };
  refused([](ModelSpec& m) { m.parallel.tensor = 32; }, "expected a divisor of 16 GPUs");
  refused([](ModelSpec& m) { m.parallel.tensor = 8; }, "parallel.tensor: found 8, expected a divisor of heads (4)");
  refused([](ModelSpec& m) { m.parallel.data = 8; }, "parallel.data: found 8, expected 16");
  refused([](ModelSpec& m) { m.parallel.context = 16, m.as<LlmSpec>().sequence = 24; }, "parallel.context: found 16");
  refused([](ModelSpec& m) { m.parallel.expert = 2; },
          "parallel.expert: found 2, expected 1 where there are no experts");
  refused([](ModelSpec& m) { m.parallel.shard_group = 3; }, "parallel.shard_group: found 3, expected a divisor");
  refused([](ModelSpec& m) { m.global_batch = 60; }, "model.global_batch: found 60, expected a multiple of 64");
  refused([](ModelSpec& m) { m.as<LlmSpec>().hidden = 1 << 20, m.as<LlmSpec>().layers = 4096; },
          " EiB of weights, expected less than 1 EiB");
  refused(
      [](ModelSpec& m) {
        m.as<LlmSpec>().sequence = 1 << 14;
        m.global_batch = std::int64_t{1} << 33;
        m.parallel.micro_batch = 1 << 29;
        m.parallel.states_micro_batch = true;
      },
      "parallel.micro_batch: found 536870912, which makes more than ");
  refused([](ModelSpec& m) { m.as<LlmSpec>().hidden = 1 << 16, m.as<LlmSpec>().layers = 64; }, "TB over): optimizer");
}

TEST(LlmLayout, SaysHowTheBatchIsDividedAndWhatWasDecided) {
  ModelSpec m = small();
  m.parallel.tensor = 4;
  m.parallel.recompute = {};
  m.global_batch = 32;
  const auto said = [](const Workload& w, const std::string& text) {
    for (const graph::Assumption& a : w.assumptions)
      if (a.text.find(text) != std::string::npos) return true;
    return false;
  };
  const Workload w = built_llm(m);
  EXPECT_EQ(w.assumptions.front().text, "batch 32: 4 replicas run 2 micro-steps of 4 samples");
  EXPECT_TRUE(said(w, "parallel.shard: none"));
  EXPECT_TRUE(said(w, "parallel.recompute: none, the least that fits"));
}

/// Weights that are gathered first are those that the optimizer of the last iteration has updated: none before its compute
/// tasks have ended.
TEST(LlmLayout, GathersWaitForTheLastUpdate) {
  for (const std::int64_t pipeline : {1, 2}) {
    for (const StateSplit shard : {StateSplit::optimizer, StateSplit::gradients, StateSplit::weights}) {
      ModelSpec m = small_llm(8, 256);
      m.parallel.pipeline = pipeline;
      m.parallel.shard = shard;
      const Workload w = built_llm(m);
      const graph::TaskGraph& g = w.graph;
      int gathers = 0;
      for (TaskId t(0); t < g.tasks.end_id(); t = TaskId(t.value() + 1)) {
        if (!g.names[g.tasks[t].name].starts_with("weights.gather")) continue;
        ++gathers;
        EXPECT_TRUE(std::ranges::any_of(g.dependencies(t),
                                        [&](TaskId dep) { return g.tasks[dep].stream == graph::Stream::compute; }))
            << pipeline << " " << name_of(shard);
      }
      EXPECT_GT(gathers, 0);
    }
  }
}

}  // namespace
}  // namespace distsim::workload
