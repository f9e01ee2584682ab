#include "sim/study/plan/layouts/layout_space.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "small_llm.hpp"

namespace distsim::study {
namespace {

using test::experiment_of;
using test::held_values;
using test::llm_text;
using test::site_with;

/// 8 GPUs, 32 heads: tensor, context and pipeline are divisors of 8 whose product divides 8: with exponents that sum to at
/// most 3 there are 20. Tensor above 1 (10 of them): with and without sequence parallel; context above 1: two exchanges.
TEST(LayoutSpace, GridsAreCountedByHand) {
  const LayoutSite site =
      site_with(experiment_of(llm_text("llama3_8b", "megatron_core", "dgx_h100", 1, 32)), HeldValues());
  SpaceCounts counts;
  // by tensor t and context c, pipelines that are left: t=1: c=1: 4, c>1: 3+2+1; t=2: 3, 2+1; t=4: 2, 1; t=8: 1
  const int plain = 4 + 2 * (3 + 2 + 1);
  const int split = 2 * (3 + 2 * (2 + 1)) + 2 * (2 + 2 * 1) + 2 * 1;
  EXPECT_EQ(site.space.grids(counts).size(), static_cast<std::size_t>(plain + split));
}

TEST(LayoutSpace, HeldKeysHaveTheirValuesOnly) {
  const LayoutSite site =
      site_with(experiment_of(llm_text("llama3_8b", "megatron_core", "dgx_h100", 1, 32)),
                held_values({{"tensor", {"2", "3"}}, {"context", {"1"}}, {"pipeline", {"1", "2"}}}));
  SpaceCounts counts;
  std::set<std::int64_t> tensors;
  for (const auto& grid : site.space.grids(counts)) tensors.insert(grid.tensor);
  EXPECT_EQ(tensors, (std::set<std::int64_t>{2}));
  EXPECT_EQ(counts.undivided, 2);  // 3 with either pipeline
}

/// Frameworks that only shard have one grid.
TEST(LayoutSpace, OffersWhatTheFrameworkDoes) {
  const LayoutSite site =
      site_with(experiment_of(llm_text("llama3_8b", "fsdp1_llm_foundry", "dgx_h100", 2, 64)), HeldValues());
  SpaceCounts counts;
  const auto grids = site.space.grids(counts);
  ASSERT_EQ(grids.size(), 1u);
  const auto shapes = site.space.shapes(grids.front());
  EXPECT_EQ(shapes.size(), 3u * 2);  // micro-batches 1, 2, 4 of 64 samples on 16 replicas; none or full recomputation
  // gradients and weights, over all 16 or over the 8 of a node
  EXPECT_EQ(site.space.layouts(shapes.front()).size(), 4u);
}

std::size_t orders_of(const LayoutSite& site, std::int64_t tensor, std::int64_t pipeline, std::int64_t expert) {
  SpaceCounts counts;
  for (const auto& grid : site.space.grids(counts)) {
    if (grid.tensor != tensor || grid.pipeline != pipeline || grid.expert != expert || grid.context != 1) continue;
    if (expert > 1 && grid.expert_tensor != 1) continue;
    std::set<workload::RankOrder> orders;
    for (const auto& layout : site.space.layouts(site.space.shapes(grid).front())) orders.insert(layout.order);
    return orders.size();
  }
  return 0;
}

/// Where it matters and the GPUs that split experts keep together.
TEST(LayoutSpace, OrdersAreOfferedWhereTheyMatter) {
  const auto e = experiment_of(llm_text("mixtral_8x7b", "megatron_core", "dgx_h100", 4, 64));
  const LayoutSite site = site_with(e, HeldValues());
  EXPECT_EQ(orders_of(site, 2, 4, 1), 2u);
  EXPECT_EQ(orders_of(site, 2, 4, 2), 2u);
  EXPECT_EQ(orders_of(site, 2, 4, 4), 1u) << "experts over two replicas";
  EXPECT_EQ(orders_of(site, 2, 1, 1), 1u) << "one stage";
  EXPECT_EQ(orders_of(site, 1, 32, 1), 1u) << "one replica";
  const LayoutSite held = site_with(e, held_values({{"order", {"tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp"}}}));
  EXPECT_EQ(orders_of(held, 2, 4, 4), 2u) << "as given, and refused later";
  EXPECT_EQ(orders_of(held, 2, 1, 1), 1u);
  const auto alone = experiment_of(llm_text("mixtral_8x7b", "megatron_core", "dgx_h100", 1, 64));
  EXPECT_EQ(orders_of(site_with(alone, HeldValues()), 2, 2, 1), 1u) << "NVLink between all";
  const auto other = experiment_of(llm_text("mixtral_8x7b", "fsdp2_torchtitan", "dgx_h100", 4, 64));
  EXPECT_EQ(orders_of(site_with(other, HeldValues()), 2, 4, 1), 1u) << "no switch for it";
}

TEST(LayoutSpace, CountsSpacesThatNobodyCanVisit) {
  std::vector<std::string> numbers;
  for (int i = 1; i <= 10'000; ++i) numbers.push_back(std::to_string(i));
  const LayoutSite site = site_with(experiment_of(llm_text("llama3_8b", "megatron_core", "dgx_h100", 1, 32)),
                                    held_values({{"tensor", numbers}, {"context", numbers}, {"pipeline", numbers}}));
  SpaceCounts counts;
  const std::size_t grids = site.space.grids(counts).size();
  EXPECT_LT(grids, 100u);
  EXPECT_NEAR(counts.undivided, 1e12, 100);
}

TEST(BalancedChunks, MakeTheLargestLeast) {
  const std::vector<double> ones(10, 1);
  EXPECT_EQ(balanced_chunks(ones, 2, 0, 0), (std::vector<std::int64_t>{5, 5}));
  EXPECT_EQ(balanced_chunks(ones, 2, 0, 2), (std::vector<std::int64_t>{6, 4}));
  EXPECT_EQ(balanced_chunks(ones, 4, 1, 1), (std::vector<std::int64_t>{2, 3, 3, 2}));
  EXPECT_TRUE(balanced_chunks(ones, 11, 0, 0).empty());
  const auto heavy = balanced_chunks({1, 1, 1, 5, 1, 1}, 3, 0, 0);
  EXPECT_EQ(std::accumulate(heavy.begin(), heavy.end(), std::int64_t{0}), 6);
}

TEST(LayoutKeys, ReadAndWriteTheSame) {
  for (const LayoutKey& key : layout_keys()) {
    const workload::ParallelSpec defaults;
    const auto again = read_layout_values(key, {key.text(defaults)});
    if (key.name == "recompute") continue;  // automatic has no word
    ASSERT_TRUE(again.ok()) << key.name << again.error().text();
    EXPECT_EQ(key.text(again->front()), key.text(defaults)) << key.name;
  }
}

}  // namespace
}  // namespace distsim::study
