#include "sim/study/plan/layouts/layout_fit.hpp"

#include <gtest/gtest.h>

#include "small_llm.hpp"

namespace distsim::study {
namespace {

using test::experiment_of;
using test::held_values;
using test::llm_text;
using test::site_with;

/// A setting and the memory of a GPU.
struct FitCase {
  const char *model, *framework, *system, *memory;
  int nodes, batch;
};

LayoutSite site_of(const FitCase& c, const HeldValues& held = HeldValues()) {
  const std::string text = llm_text(c.model, c.framework, c.system, c.nodes, c.batch);
  return site_with(experiment_of(text, {std::string("device.hbm.capacity=") + c.memory}), held);
}

/// Every layout planned by itself.
std::optional<UnfitCounts> counted_one_by_one(const LayoutSpace& space) {
  UnfitCounts out;
  workload::ModelSpec model = space.model();
  for (const workload::ParallelSpec& grid : space.grids(out.space)) {
    for (const workload::ParallelSpec& shape : space.shapes(grid)) {
      for (const workload::ParallelSpec& layout : space.layouts(shape)) {
        out.space.considered += 1;
        model.parallel = layout;
        const auto plan = plan_llm(model, space.framework(), space.cluster(), space.batch());
        EXPECT_EQ(check_layout(model, space.framework(), space.cluster(), space.batch()).ok(), plan.ok());
        (plan ? out.unfit : out.space.undivided) += 1;
        if (plan && fits(*plan)) return std::nullopt;
      }
    }
  }
  return out;
}

/// With less and less memory: the same answer as of all layouts one by one, some of which fit, and in the end none.
TEST(LayoutFit, IsThatOfEveryLayout) {
  constexpr const char* kMemories[] = {"50 GB", "8 GB", "2 GB"};
  constexpr FitCase kCases[] = {
      {"llama3_8b", "megatron_core", "dgx_h100", "", 1, 16},
      {"llama3_8b", "fsdp2_torchtitan", "dgx_h100", "", 1, 16},
      {"llama2_7b", "megatron_deepspeed", "dgx_a100_80gb", "", 1, 16},
      {"deepseek_v2_l4", "megatron_bridge", "dgx_h100", "", 1, 8},
  };
  for (FitCase c : kCases) {
    std::size_t none = 0;
    for (const char* memory : kMemories) {
      SCOPED_TRACE(std::string(c.model) + " " + c.framework + " " + memory);
      c.memory = memory;
      const LayoutSite site = site_of(c);
      const auto found = count_unfit(site.space), expected = counted_one_by_one(site.space);
      ASSERT_EQ(found.has_value(), expected.has_value());
      if (!found) continue;
      ++none;
      EXPECT_EQ(found->space.considered, expected->space.considered);
      EXPECT_EQ(found->space.undivided, expected->space.undivided);
      EXPECT_EQ(found->unfit, expected->unfit);
    }
    EXPECT_GT(none, 0u) << c.model;
    EXPECT_LT(none, std::size(kMemories)) << c.model;
  }
}

/// The last that fit are those with full recomputation: shapes whose weights fit are not given up with the first that does not.
TEST(LayoutFit, FindsTheLastThatFits) {
  const HeldValues held = held_values({{"tensor", {"4", "8"}}, {"context", {"1"}}, {"pipeline", {"1", "2"}}});
  std::size_t none = 0;
  constexpr int kMostMemory = 24;
  for (int gigabytes = 4; gigabytes <= kMostMemory; ++gigabytes) {
    const std::string memory = std::to_string(gigabytes) + " GB";
    const LayoutSite site = site_of({"llama3_8b", "megatron_core", "dgx_h100", memory.c_str(), 1, 16}, held);
    const auto found = count_unfit(site.space);
    EXPECT_EQ(found.has_value(), counted_one_by_one(site.space).has_value()) << memory;
    none += found ? 1 : 0;
  }
  EXPECT_GT(none, 0u);
  EXPECT_LT(none, std::size_t{kMostMemory} - 3);
}

/// Of layouts that move something to the host each is planned by itself.
TEST(LayoutFit, WhatIsOnTheHostTakesNoRoom) {
  const auto fits_with = [](const std::vector<std::string>& offload) {
    const HeldValues held =
        held_values({{"tensor", {"1"}}, {"context", {"1"}}, {"pipeline", {"1"}}, {"offload", offload}});
    return !count_unfit(site_of({"llama2_7b", "fsdp2_torchtitan", "dgx_h100", "10 GB", 1, 16}, held).space);
  };
  EXPECT_FALSE(fits_with({"none"}));
  EXPECT_TRUE(fits_with({"all"}));
  EXPECT_TRUE(fits_with({"none", "all"}));
}

/// A search of a space of which nothing fits counts as it would have, and plays nothing.
TEST(LayoutFit, SearchesEndWithItsCounts) {
  const LayoutSite site = site_of({"llama3_8b", "megatron_core", "dgx_h100", "3 GB", 1, 16});
  const auto counts = count_unfit(site.space);
  ASSERT_TRUE(counts);
  pipeline::CostModelCache cache;
  std::vector<LayoutSite> sites{site};
  const SearchResult found = search_layouts(sites, {.top = 5}, {}, cache, [] {}).value();
  EXPECT_TRUE(found.best.empty());
  EXPECT_EQ(found.counts.unfit, counts->unfit);
  EXPECT_EQ(found.counts.space.considered, counts->space.considered);
  EXPECT_EQ(found.counts.played + found.counts.pruned + found.counts.left, 0);
}

}  // namespace
}  // namespace distsim::study
