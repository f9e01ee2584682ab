#include "sim/workload/specs/samples.hpp"

#include <gtest/gtest.h>

#include "sim/workload/graph/micro_steps.hpp"

namespace distsim::workload {
namespace {

ModelSpec with(std::int64_t global, std::int64_t per_gpu, std::int64_t accumulation = 1) {
  ModelSpec m;
  m.global_batch = global;
  m.per_gpu_batch = per_gpu;
  m.accumulation = accumulation;
  return m;
}

TEST(Samples, RemainderGoesToTheFirstRanks) {
  // 1000 = 32 * 31 + 8: eight ranks take 32, 24 take 31.
  const auto plan = plan_samples(with(1000, 0), 32);
  ASSERT_TRUE(plan.ok());
  const SampleSplit split = plan->micro_step(0);
  EXPECT_EQ(split.of(7), 32);
  EXPECT_EQ(split.of(8), 31);
  EXPECT_EQ(split.total(), 1000);
  EXPECT_EQ(plan->describe(), "batch 1000 over 32 ranks: 8 take 32, 24 take 31");
  ModelSpec one_more;
  one_more.global_batch = 9;
  EXPECT_EQ(plan_samples(one_more, 2)->describe(), "batch 9 over 2 ranks: 1 takes 5, 1 takes 4");
  EXPECT_EQ(plan_samples(one_more, 1)->describe(), "batch 9 over 1 rank: 9 each");
}

TEST(Samples, EverySampleIsTakenOnceInWhateverMicroSteps) {
  for (const std::int64_t batch : {24, 25, 47, 48, 100, 4099}) {
    for (const std::uint32_t ranks : {1u, 2u, 3u, 6u}) {
      for (const std::int64_t steps : {1, 2, 4}) {
        const auto plan = plan_samples(with(batch, 0, steps), ranks);
        ASSERT_TRUE(plan.ok());
        std::int64_t sum = 0;
        for (std::int64_t s = 0; s < steps; ++s) {
          const SampleSplit split = plan->micro_step(s);
          sum += split.total();
          EXPECT_LE(split.largest() - split.of(ranks - 1), 1);
          EXPECT_GE(split.of(ranks - 1), 1);
          EXPECT_LE(split.largest(), plan->micro_step(0).largest());
        }
        EXPECT_EQ(sum, batch) << batch << " " << ranks << " " << steps;
      }
    }
  }
}

TEST(Samples, PerGpuBatchIsPerMicroStep) {
  const auto plan = plan_samples(with(0, 256, 2), 8);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->total, 256 * 2 * 8);
  EXPECT_TRUE(plan->micro_step(1).uniform());
}

TEST(Samples, RefusesBothNeitherAndTooFew) {
  EXPECT_NE(plan_samples(with(8, 8), 1).error().text().find("both"), std::string::npos);
  EXPECT_NE(plan_samples(with(0, 0), 1).error().text().find("neither"), std::string::npos);
  EXPECT_NE(plan_samples(with(31, 0), 32).error().text().find("found 31, expected at least 32"), std::string::npos);
  EXPECT_FALSE(plan_samples(with(32, 0, 2), 32).ok());
  EXPECT_FALSE(plan_samples(with(0, 1'000'000'000, 1'000'000), 1'000'000).ok());
}

/// A graph holds the tasks of all micro-steps: a million of them took 18 GB.
TEST(MicroSteps, AreAsManyAsTheirTasksFit) {
  EXPECT_TRUE(check_micro_steps(1, kMostTasks * 10).ok()) << "one step is as large as its model";
  EXPECT_TRUE(check_micro_steps(10'000, 400).ok());
  const auto refused = check_micro_steps(10'001, 400);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().what, "model.accumulation: found 10001 micro-steps of 400 tasks, expected at most 10000");
}

}  // namespace
TEST(PlanSamples, ARefusedBatchIsTheOneThatWasGiven) {
  EXPECT_EQ(
      plan_samples(with(0, 2'000'000'000), 2).error().what,
      "model.per_gpu_batch: found 2000000000, a batch of 4000000000, expected at most 1000000000 samples of a GPU in a "
      "micro-step");
  EXPECT_EQ(plan_samples(with(4'000'000'000, 0), 2).error().what,
            "model.global_batch: found 4000000000, expected at most 1000000000 samples of a GPU in a micro-step");
}

}  // namespace distsim::workload
