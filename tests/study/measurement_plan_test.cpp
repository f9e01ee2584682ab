// Which collectives are worth measuring for an experiment.
#include "sim/study/measurement_plan.hpp"

#include <gtest/gtest.h>

#include "test_paths.hpp"

namespace distsim::study {
namespace {

std::string plan_of(const std::string& system, const std::string& dispatch) {
  const auto e = config::load_experiment(
      test::config("megatron_gpt_145b.yaml"),
      {"model.name=qwen3_30b_a3b", "cluster.system=" + system, "cluster.nodes=8", "cluster.gpus_per_node=4",
       "framework.name=megatron_bridge", "parallel.tensor=1", "parallel.sequence_parallel=false", "parallel.pipeline=1",
       "parallel.virtual_stages=1", "parallel.schedule=automatic", "parallel.expert=32",
       "parallel.expert_dispatch=" + dispatch, "model.global_batch=32", "model.memory_check=false"});
  EXPECT_TRUE(e.ok()) << e.error().text();
  const auto plan = measurement_plan(*e);
  EXPECT_TRUE(plan.ok()) << plan.error().text();
  return plan.ok() ? *plan : "";
}

/// The 8 trays are one NVLink domain, in which a token is sent to each of its experts; of 8 servers it is sent to each that
/// has some of them.
TEST(MeasurementPlan, KnowsTheDomainsOfNvlink) {
  EXPECT_NE(plan_of("gb200_nvl72", "deepep").find("all_to_all"), std::string::npos);
  EXPECT_EQ(plan_of("gb200_nvl72", "deepep"), plan_of("gb200_nvl72", "all_to_all"));
  EXPECT_NE(plan_of("dgx_b200", "deepep"), plan_of("dgx_b200", "all_to_all"));
}

}  // namespace
}  // namespace distsim::study
