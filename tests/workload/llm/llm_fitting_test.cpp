// What is proposed where a model does not fit.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <regex>

#include "../shipped_models.hpp"
#include "llm_fixtures.hpp"
#include "sim/workload/llm/llm_fitting.hpp"
#include "sim/workload/llm/llm_plan.hpp"

namespace distsim::workload {
namespace {

const ClusterShape kFittingNode{1, 8, Bytes(80'000'000'000)};

ModelSpec llama_of_a_node(std::int64_t tensor, std::int64_t micro_batch) {
  ModelSpec m = small_llm(32, 64);
  LlmSpec& s = m.as<LlmSpec>();
  s.hidden = 4096, s.heads = 32, s.sequence = 4096, s.vocabulary = 32000, s.gated = true, s.ffn_hidden = 11008;
  s.norm = LlmNorm::rms, s.positions = LlmPositions::rope, s.bias = LlmBias::none;
  m.parallel.tensor = tensor;
  m.parallel.micro_batch = micro_batch;
  m.parallel.shard = StateSplit::none;
  return m;
}

FrameworkSpec fused_framework() {
  FrameworkSpec f;
  f.kernels.attention = AttentionKernels::flash;
  f.kernels.fuse_elementwise = true;
  return f;
}

bool fits(const ModelSpec& m) { return build_workload(m, fused_framework(), kFittingNode).ok(); }

/// "--set parallel.micro_batch=1 --set parallel.recompute=full" as a model.
ModelSpec with_sets(ModelSpec m, const std::string& sets) {
  const std::map<std::string, StateSplit> shards{
      {"optimizer", StateSplit::optimizer}, {"gradients", StateSplit::gradients}, {"weights", StateSplit::weights}};
  const std::regex setting("--set parallel\\.(\\w+)=(\\w+)");
  for (std::sregex_iterator it(sets.begin(), sets.end(), setting), end; it != end; ++it) {
    const std::string key = (*it)[1], value = (*it)[2];
    if (key == "recompute") m.parallel.recompute = {RecomputeKind::full, 0, {}};
    if (key == "sequence_parallel") m.parallel.sequence_parallel = true;
    if (key == "shard") m.parallel.shard = shards.at(value);
    if (key == "micro_batch") m.parallel.micro_batch = std::stoll(value);
    if (key == "tensor") m.parallel.tensor = std::stoll(value);
    if (key == "pipeline") m.parallel.pipeline = std::stoll(value);
  }
  return m;
}

/// 6.7 billion weights need 16 bytes each: 108 GB of 80.
TEST(LlmFitting, EveryProposedChangeFits) {
  const ModelSpec m = llama_of_a_node(1, 1);
  const auto refused = build_workload(m, fused_framework(), kFittingNode);
  ASSERT_FALSE(refused.ok());
  std::string hint = refused.error().hint;
  ASSERT_EQ(hint.find("it fits with --set parallel."), 0u) << hint;
  EXPECT_EQ(hint.find("parallel.recompute=full,"), std::string::npos) << "alone it does not help: " << hint;
  int proposed = 0;
  for (std::size_t end = 0; end != std::string::npos; hint.erase(0, end + 1), ++proposed) {
    end = hint.find(", or ");
    EXPECT_TRUE(fits(with_sets(m, hint.substr(0, end)))) << hint.substr(0, end);
    if (end == std::string::npos) break;
  }
  EXPECT_EQ(proposed, 2) << "three changes";
}

/// Of a micro-batch of 8 activations do not fit, of 4 or less they do: that comes first.
TEST(LlmFitting, TheSmallestChangeComesFirst) {
  ModelSpec m = llama_of_a_node(4, 16);
  ASSERT_FALSE(fits(m));
  std::int64_t size = 16;
  while (size > 1 && !fits(m)) m.parallel.micro_batch = size /= 2;
  ASSERT_TRUE(fits(m));
  m.parallel.micro_batch = 16;
  const std::string hint = changes_that_fit(m, fused_framework(), kFittingNode, 64);
  EXPECT_EQ(hint.find("it fits with --set parallel.micro_batch=" + std::to_string(size)), 0u) << hint;
}

TEST(LlmFitting, SaysThatNothingFits) {
  ModelSpec m = llama_of_a_node(8, 1);
  m.as<LlmSpec>().layers = 4096;
  EXPECT_NE(changes_that_fit(m, fused_framework(), kFittingNode, 64).find("use more GPUs"), std::string::npos);
}

/// Where it is left open how many blocks a stage computes again, one fewer does not fit.
TEST(LlmFitting, RecomputesTheLeastBlocksThatFit) {
  std::mt19937 random(1);
  const auto below = [&](std::uint32_t n) { return static_cast<std::int64_t>(random() % n); };
  std::size_t some = 0;
  for (int i = 0; i < 400; ++i) {
    ModelSpec m = llama_of_a_node(std::int64_t{1} << below(3), std::int64_t{1} << below(3));
    m.as<LlmSpec>().layers = 16 + 8 * below(4);
    m.as<LlmSpec>().hidden = 1024 * (1 + below(5));
    m.parallel.pipeline = std::int64_t{1} << below(2);
    m.parallel.virtual_stages = m.parallel.pipeline > 1 && below(2) == 0 ? 2 : 1;
    if (m.parallel.virtual_stages > 1) m.parallel.schedule = PipelineSchedule::interleaved;
    m.parallel.shard = below(2) == 0 ? StateSplit::optimizer : StateSplit::weights;
    if (m.parallel.pipeline == 1) m.parallel.prefetch = below(5);
    m.parallel.recompute.kind = RecomputeKind::automatic;
    const auto plan = plan_llm(m, fused_framework(), kFittingNode, m.global_batch);
    if (!plan.ok() || plan->parallel.recompute.kind != RecomputeKind::full || !fits(*plan)) continue;
    const std::int64_t found = plan->parallel.recompute.layers;
    const std::int64_t blocks = m.as<LlmSpec>().layers / m.parallel.pipeline;
    for (const std::int64_t fewer : {(found == 0 ? blocks : found) - 1, (found == 0 ? blocks : found) / 2}) {
      ModelSpec less = m;
      less.parallel.recompute = {fewer == 0 ? RecomputeKind::none : RecomputeKind::full, fewer, {}};
      const auto tried = plan_llm(less, fused_framework(), kFittingNode, m.global_batch);
      ASSERT_TRUE(tried.ok()) << tried.error().text();
      EXPECT_FALSE(fits(*tried)) << fewer << " of " << blocks << " blocks instead of " << found;
    }
    ++some;
  }
  EXPECT_GT(some, 20u);
}

}  // namespace
}  // namespace distsim::workload
