// The list of passes, their timings and their dumps.
#include "sim/pipeline/passes/passes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <sstream>

#include "sim/pipeline/pipeline.hpp"
#include "test_paths.hpp"

namespace distsim::pipeline {
namespace {

const std::vector<std::string> kFolded = {"model.global_batch=49152", "model.accumulation=12"};

Passes run(const std::string& config, const std::vector<std::string>& sets, const std::string& dump_after = "") {
  Passes passes(dump_after);
  const auto prediction = predict(test::config(config), sets, passes);
  EXPECT_TRUE(prediction.ok()) << prediction.error().text();
  return passes;
}

std::vector<std::string> names_of(const Passes& passes) {
  std::vector<std::string> names;
  for (const Passes::Time& t : passes.times()) names.push_back(t.name);
  return names;
}

/// Every pass of the list runs in a prediction, in the order of the list, and no other does.
TEST(Passes, RunInTheOrderOfTheList) {
  EXPECT_EQ(names_of(run("dgx_a100_4node.yaml", {})), dumpable_passes());
  EXPECT_EQ(names_of(run("bert_large_dgx_a100.yaml", kFolded)), dumpable_passes());
}

TEST(Passes, EachHasADump) {
  for (const std::string& name : dumpable_passes())
    EXPECT_GT(run("dgx_a100_4node.yaml", {}, name).dumped().size(), 100u) << name;
  EXPECT_EQ(run("dgx_a100_4node.yaml", {}).dumped(), "");
}

/// What is folded is played twice: both runs count, and the dump is that of the longer one.
TEST(Passes, FoldingShows) {
  const Passes passes = run("bert_large_dgx_a100.yaml", kFolded, "build_workload");
  for (const Passes::Time& t : passes.times()) {
    const bool once = t.name == "parse" || t.name == "resolve" || t.name == "fold";
    EXPECT_EQ(t.runs, once ? 1u : 2u) << t.name;
  }
  EXPECT_NE(passes.timings_text().find("(2 runs)"), std::string::npos) << passes.timings_text();
  const auto samples = "samples " + std::to_string(49152 / 12 * 4);
  EXPECT_NE(passes.dumped().find(samples), std::string::npos) << passes.dumped().substr(0, 200);
}

double share_between_passes(const Passes& passes) {
  const double sum = std::accumulate(passes.times().begin(), passes.times().end(), 0.0,
                                     [](double ms, const Passes::Time& t) { return ms + t.ms; });
  EXPECT_LE(sum, passes.total_ms() * (1 + 1e-9));
  return (passes.total_ms() - sum) / passes.total_ms();
}

/// Of the total at most 5 % is outside of all passes; the smallest of several runs, since a busy machine may stop us
/// anywhere.
TEST(Passes, TimesSumToTheTotal) {
  for (const std::vector<std::string>& sets : {std::vector<std::string>{}, kFolded}) {
    double share = 1;
    for (int i = 0; i < 5; ++i) share = std::min(share, share_between_passes(run("bert_large_dgx_a100.yaml", sets)));
    EXPECT_LT(share, 0.05);
  }
}

TEST(Passes, AFailedPassIsTimedToo) {
  Passes passes;
  EXPECT_FALSE(predict(test::config("dgx_a100_4node.yaml"), {"model.global_batch=17"}, passes).ok());
  EXPECT_EQ(names_of(passes), (std::vector<std::string>{"parse", "resolve", "build_topology", "build_workload"}));
}

graph::CostedGraph with_low_above_mean() {
  graph::CostedGraph costed;
  costed.graph.ops.push_back(graph::Elementwise{1});
  costed.costs.push_back({Duration::microseconds(1), Duration::microseconds(2), Duration::microseconds(3)});
  return costed;
}

TEST(PassesDeathTest, ABrokenInvariantEndsTheProgram) {
  Passes passes;
  const auto broken = [] { return Result<graph::CostedGraph>(with_low_above_mean()); };
  EXPECT_DEATH((void)passes.run("price", broken), "after price: cost of op 0");
}

/// The page in the docs is made of the list. On a difference, copy the expected table.
TEST(Passes, DocsHaveTheTable) {
  std::ifstream in(test::root() + "/docs/architecture.md");
  std::stringstream page;
  page << in.rdbuf();
  EXPECT_NE(page.str().find(passes_as_markdown()), std::string::npos) << passes_as_markdown();
}

}  // namespace
}  // namespace distsim::pipeline
