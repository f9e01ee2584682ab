// What is proposed where a model does not fit.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <regex>
#include <vector>

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
    if (key == "micro_batch") m.parallel.micro_batch = std::stoll(value), m.parallel.states_micro_batch = true;
    if (key == "tensor") m.parallel.tensor = std::stoll(value);
    if (key == "pipeline") m.parallel.pipeline = std::stoll(value);
    if (key == "expert") m.parallel.expert = std::stoll(value);
    if (key == "context") m.parallel.context = std::stoll(value);
  }
  return m;
}

/// The ways that a hint names.
std::vector<std::string> ways_of(const std::string& hint) {
  const std::string begin = "it fits with ", between = ", or ";
  std::vector<std::string> out;
  if (hint.find(begin) != 0) return out;
  for (std::size_t at = begin.size(); at != std::string::npos;) {
    const std::size_t end = hint.find(between, at);
    out.push_back(hint.substr(at, end - at));
    at = end == std::string::npos ? end : end + between.size();
  }
  return out;
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

TEST(LlmFitting, SaysThatNothingOfWhatWasTriedFits) {
  ModelSpec m = llama_of_a_node(8, 1);
  m.as<LlmSpec>().layers = 4096;
  EXPECT_EQ(
      changes_that_fit(m, fused_framework(), kFittingNode, 64),
      "no smaller micro-batch, recomputation, sharding or larger split that was tried fits: use more GPUs, or search "
      "all layouts with distsim plan");
}

/// Sharding or a split alone does not suffice for 26 billion weights with long sequences, all GPUs on the tensors do.
TEST(LlmFitting, SplitsByAllGPUs) {
  ModelSpec m = llama_of_a_node(1, 1);
  m.as<LlmSpec>().layers = 128;
  m.parallel.recompute = {RecomputeKind::full, 0, {}};
  ASSERT_FALSE(fits(m));
  const std::string hint = changes_that_fit(m, fused_framework(), kFittingNode, 64);
  EXPECT_NE(hint.find("--set parallel.tensor=8 --set parallel.sequence_parallel=true"), std::string::npos) << hint;
}

/// Whatever is changed together, up to what all levers do at once: where that fits, a way is named; each fits, and none holds
/// another one.
TEST(LlmFitting, FindsWhatFitsByChangesTogether) {
  std::mt19937 random(7);
  const auto below = [&](std::uint32_t n) { return static_cast<std::int64_t>(random() % n); };
  std::size_t together = 0;
  for (int i = 0; i < 150; ++i) {
    ModelSpec m = llama_of_a_node(std::int64_t{1} << below(3), std::int64_t{1} << below(3));
    m.as<LlmSpec>().layers = 32 + 16 * below(8);
    m.as<LlmSpec>().hidden = 1024 * (4 + below(4));
    m.as<LlmSpec>().sequence = 4096 << below(4);
    if (below(2) == 0) m.parallel.recompute = {RecomputeKind::none, 0, {}};
    if (fits(m)) continue;
    const std::string hint = changes_that_fit(m, fused_framework(), kFittingNode, 64);
    const auto ways = ways_of(hint);
    for (const std::string& way : ways) {
      EXPECT_TRUE(fits(with_sets(m, way))) << way;
      together += std::ranges::count(way, '=') > 3 ? 1 : 0;
      for (const std::string& other : ways) EXPECT_TRUE(&way == &other || other.find(way + " ") != 0) << hint;
    }
    if (!ways.empty()) continue;
    for (std::int64_t tensor = m.parallel.tensor; tensor <= 8; tensor *= 2) {
      ModelSpec least = m;
      least.parallel.recompute = {RecomputeKind::full, 0, {}};
      least.parallel.micro_batch = 1;
      least.parallel.tensor = tensor;
      least.parallel.sequence_parallel = true;
      for (const StateSplit shard : {StateSplit::none, StateSplit::optimizer, StateSplit::weights}) {
        least.parallel.shard = shard;
        EXPECT_FALSE(fits(least)) << "tensor " << tensor << ", shard " << name_of(shard) << ": " << hint;
      }
    }
  }
  EXPECT_GT(together, 5u);
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
