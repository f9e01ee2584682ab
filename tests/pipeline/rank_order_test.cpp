// Order of the rank grid: it changes what links carry, and no time where all links are the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/pipeline/pipeline.hpp"

namespace distsim::pipeline {
namespace {

report::Report report_of_layout(const std::string& cluster, const std::string& parallel) {
  const std::string text = "framework: {name: megatron_core}\ncluster: {" + cluster +
                           "}\nmodel: {name: llama3_8b, global_batch: 64, memory_check: false}\nparallel: {" +
                           parallel + "}\n";
  SCOPED_TRACE(text);
  const auto parsed = config::parse_experiment_text(text, "", {});
  EXPECT_TRUE(parsed.ok()) << parsed.error().text();
  const auto e = config::resolve(*parsed);
  EXPECT_TRUE(e.ok()) << e.error().text();
  Passes passes;
  auto p = predict(*e, passes);
  EXPECT_TRUE(p.ok()) << p.error().text();
  return std::move(p->report);
}

/// One node, one stage or one replica.
TEST(RankOrder, CostsNothingWhereItMakesNoDifference) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"system: dgx_h100, nodes: 1", "tensor: 2, pipeline: 2"},
      {"system: dgx_h100, nodes: 1", "tensor: 1, pipeline: 4, schedule: zero-bubble"},
      {"system: dgx_a100_80gb, nodes: 1", "pipeline: 2, context: 2, virtual_stages: 2, shard: optimizer"},
      {"system: dgx_h100, nodes: 2", "tensor: 4"},
      {"system: dgx_h100, nodes: 2", "tensor: 2, context: 2, shard: weights"},
      {"system: dgx_h100, nodes: 2", "tensor: 4, pipeline: 4, virtual_stages: 2"},
      {"system: dgx_a100_80gb, nodes: 4", "tensor: 8, pipeline: 4"}};
  for (const auto& [cluster, parallel] : cases) {
    const report::Report usual = report_of_layout(cluster, parallel),
                         mapped = report_of_layout(cluster, parallel + ", order: tp-cp-ep-pp-dp");
    EXPECT_EQ(usual.iteration, mapped.iteration) << cluster << " " << parallel;
    EXPECT_EQ(usual.low, mapped.low);
    EXPECT_EQ(usual.high, mapped.high);
    EXPECT_EQ(usual.exposed_comm, mapped.exposed_comm);
    EXPECT_EQ(usual.idle, mapped.idle);
    EXPECT_EQ(*std::ranges::max_element(usual.context.memory_per_rank),
              *std::ranges::max_element(mapped.context.memory_per_rank));
  }
}

/// Longest call of the collectives whose names begin so, in seconds.
double longest_call(const report::Report& r, const std::string& name) {
  double longest = 0;
  for (const report::CollectiveTime& c : r.collectives)
    if (c.name.starts_with(name)) longest = std::max(longest, c.total.seconds() / std::max(1u, c.calls));
  return longest;
}

/// Two nodes, each with two of four stages, or with one of two replicas: NVLink and network change places.
TEST(RankOrder, MovesMessagesToNvlinkAndGradientsToTheNetwork) {
  const std::string parallel = "tensor: 2, pipeline: 4, schedule: 1f1b, shard: none";
  const report::Report usual = report_of_layout("system: dgx_h100, nodes: 2", parallel),
                       mapped = report_of_layout("system: dgx_h100, nodes: 2", parallel + ", order: tp-cp-ep-pp-dp");
  ASSERT_GT(longest_call(mapped, "pipeline."), 0);
  EXPECT_LT(longest_call(mapped, "pipeline."), 0.5 * longest_call(usual, "pipeline."));
  EXPECT_GT(longest_call(mapped, "gradients"), 2 * longest_call(usual, "gradients"));
  EXPECT_EQ(longest_call(mapped, "tensor."), longest_call(usual, "tensor."));
}

}  // namespace
}  // namespace distsim::pipeline
