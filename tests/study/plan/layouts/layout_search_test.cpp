#include "sim/study/plan/layouts/layout_search.hpp"

#include <gtest/gtest.h>

#include <set>

#include "small_llm.hpp"

namespace distsim::study {
namespace {

using test::experiment_of;
using test::held_values;
using test::llm_text;
using test::site_with;

std::vector<LayoutSite> small_sites(const char* framework, const char* mode = "train") {
  std::vector<LayoutSite> out;
  out.push_back(site_with(experiment_of(llm_text("llama3_8b", framework, "dgx_h100", 1, 16, mode)),
                          held_values({{"micro_batch", {"1", "2"}}, {"recompute", {"none", "full"}}})));
  return out;
}

SearchResult search_with(const std::vector<LayoutSite>& sites, const SearchOptions& options) {
  pipeline::CostModelCache cache;
  return search_layouts(sites, options, {}, cache, [] {}).value();
}

void expect_same(const SearchResult& a, const SearchResult& b) {
  ASSERT_EQ(a.best.size(), b.best.size());
  for (std::size_t i = 0; i < a.best.size(); ++i) {
    EXPECT_EQ(a.best[i].iteration, b.best[i].iteration) << i;
    EXPECT_TRUE(same_layout(a.best[i].layout, b.best[i].layout)) << i;
  }
}

/// Pruning loses nothing: the best are those of an exhaustive search, in the same order, whatever a step consists of.
TEST(LayoutSearch, FindsWhatExhaustiveSearchFinds) {
  for (const char* mode : {"train", "forward_backward", "inference"}) {
    for (const char* framework : {"megatron_core", "fsdp2_torchtitan", "megatron_deepspeed"}) {
      SCOPED_TRACE(std::string(framework) + " " + mode);
      const auto sites = small_sites(framework, mode);
      const SearchResult pruned = search_with(sites, {.top = 5});
      const SearchResult all = search_with(sites, {.top = 5, .exhaustive = true});
      expect_same(pruned, all);
      EXPECT_EQ(pruned.counts.above_bound + all.counts.above_bound, 0);
      EXPECT_GT(all.counts.played, pruned.counts.played);
      EXPECT_EQ(all.counts.pruned, 0);
      EXPECT_EQ(pruned.counts.left, 0);
    }
  }
}

/// Two nodes whose GPUs replicas and stages share: both orders of ranks are tried, and neither is lost.
TEST(LayoutSearch, OrdersOfRanksAreSearched) {
  const auto e = experiment_of(llm_text("llama3_8b", "megatron_core", "dgx_h100", 2, 32));
  const std::vector<LayoutSite> sites{site_with(
      e, held_values({{"tensor", {"1", "2"}}, {"context", {"1"}}, {"pipeline", {"2", "4"}}, {"micro_batch", {"1"}}}))};
  const SearchResult pruned = search_with(sites, {.top = 20});
  const SearchResult all = search_with(sites, {.top = 20, .exhaustive = true});
  expect_same(pruned, all);
  EXPECT_EQ(pruned.counts.above_bound + all.counts.above_bound, 0);
  std::set<workload::RankOrder> orders;
  for (const PlayedLayout& p : all.best) orders.insert(p.layout.order);
  EXPECT_EQ(orders.size(), 2u);
}

TEST(LayoutSearch, EveryLayoutIsCountedOnce) {
  const auto sites = small_sites("megatron_core");
  for (const bool exhaustive : {false, true}) {
    const SearchCounts c = search_with(sites, {.top = 3, .exhaustive = exhaustive}).counts;
    EXPECT_EQ(c.space.considered, c.space.undivided + c.unfit + c.same + c.not_priced + c.pruned + c.played + c.left);
  }
}

TEST(LayoutSearch, ThreadsChangeNothing) {
  const auto sites = small_sites("megatron_core");
  const SearchResult one = search_with(sites, {.top = 5, .plays = Plays::of_threads(1)}),
                     four = search_with(sites, {.top = 5, .plays = Plays::of_threads(4)});
  expect_same(one, four);
  EXPECT_EQ(one.counts.played, four.counts.played);
}

TEST(LayoutSearch, ALimitLeavesABound) {
  const auto sites = small_sites("megatron_core");
  const SearchResult whole = search_with(sites, {.top = 1});
  const SearchResult cut = search_with(sites, {.top = 1, .exhaustive = true, .most_played = 8});
  EXPECT_EQ(cut.counts.played, 8);
  EXPECT_GT(cut.counts.left, 0);
  EXPECT_LE(std::min(cut.counts.least_left, cut.best.front().value), whole.best.front().value);
  EXPECT_EQ(search_with(sites, {.top = 1, .most_played = 1}).counts.played, 1);
}

/// Of time and memory: no other layout is as good in both.
TEST(LayoutSearch, AFrontOfTwoGoals) {
  const auto sites = small_sites("megatron_core");
  const SearchResult front = search_with(sites, {.goal = {Objective::time, Objective::memory}});
  const SearchResult fastest = search_with(sites, {.top = 1});
  ASSERT_GT(front.best.size(), 1u);
  EXPECT_EQ(front.best.front().iteration, fastest.best.front().iteration);
  for (std::size_t i = 1; i < front.best.size(); ++i) {
    EXPECT_GT(front.best[i].value, front.best[i - 1].value);
    EXPECT_LT(front.best[i].second, front.best[i - 1].second);
  }
}

/// Whichever goal comes first, and where layouts tie in it.
TEST(LayoutSearch, AFrontIsTheSameInBothOrders) {
  const auto sites = small_sites("megatron_core");
  const auto values = [&](Objective first, Objective second) {
    std::vector<std::pair<double, double>> out;
    for (const PlayedLayout& p : search_with(sites, {.goal = {first, second}}).best)
      out.emplace_back(p.value, p.second);
    return out;
  };
  for (const Objective other : {Objective::memory, Objective::energy}) {
    auto turned = values(other, Objective::time);
    std::ranges::reverse(turned);
    for (auto& [first, second] : turned) std::swap(first, second);
    EXPECT_EQ(turned, values(Objective::time, other)) << name_of(other);
  }
}

}  // namespace
}  // namespace distsim::study
