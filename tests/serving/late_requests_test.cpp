// run.drop_late: requests that a batch would answer after their deadline are dropped, with what it fetches,
// executes and returns.
#include "scenarios.hpp"
#include "sim/serving/report/comparison.hpp"
#include "sim/serving/spec/serving_spec.hpp"

namespace distsim::serving {
namespace {

/// 50 requests at an even rate, of one model of a layer of 1 ms on one GPU; a byte takes 1 ns on its links.
std::string late_text(const std::string& model, const std::string& more = "") {
  return "title: t\ngpus: [{name: g0, host_bandwidth: 1 GB/s, slots: 2}]\nmodels: [{name: m0, layer_times: [1 ms], " +
         model +
         "}]\nload: {kind: constant, rate_per_s: 5, requests: 50}\npolicies: [fifo]\nrun: {warm_up: 0, drop_late: true}\n" +
         more;
}
RunResult late_run(const std::string& text, const std::vector<std::string>& sets = {}) {
  const auto e = parse_experiment(text, "x.yaml", sets);
  EXPECT_TRUE(e.ok()) << (e.ok() ? "" : e.error().text());
  return e.ok() ? compare_policies(*e, 1, [] {}).points[0].result : RunResult{};
}

TEST(LateRequests, WhatIsFetchedAndReturnedCounts) {
  EXPECT_EQ(late_run(late_text("input: 50 MB, deadline: 20 ms")).all.dropped, 50u);
  EXPECT_EQ(late_run(late_text("input: 50 MB, deadline: 52 ms")).all.dropped, 0u);
  EXPECT_EQ(late_run(late_text("output: 50 MB, deadline: 20 ms")).all.dropped, 50u);
  EXPECT_EQ(late_run(late_text("output: 50 MB, deadline: 52 ms")).all.dropped, 0u);
}

/// Weights that were never loaded come first; where none may begin they never are.
TEST(LateRequests, WeightsThatAreAbsentCount) {
  const std::vector<std::string> streamed{"residency=streamed", "gpus.0.memory=1 GB"};
  EXPECT_EQ(late_run(late_text("weights: 50 MB, deadline: 20 ms"), streamed).all.dropped, 50u);
  EXPECT_EQ(late_run(late_text("weights: 50 MB, deadline: 52 ms"), streamed).all.dropped, 0u);
}

/// All that wait together are a batch of 8, which takes eight times as long as one: so many begin as are in time.
TEST(LateRequests, TheBatchIsAsLargeAsItsDeadlinesLet) {
  const auto of = [](const char* deadline) {
    return late_run(
        std::string("title: o\ngpus: [{name: g0}]\nmodels: [{name: m0, layer_times: [10 ms], deadline: ") + deadline +
        ", batch_cost: 1, max_batch: 8}]\nload: {kind: offline, requests: 8}\npolicies: [dynamic_batching]\n"
        "batching: {size: 8, delay: 0 s}\nrun: {warm_up: 0, drop_late: true}\n");
  };
  EXPECT_EQ(of("15 ms").all.answered(), 1u);
  EXPECT_EQ(of("35 ms").all.answered(), 3u);
  EXPECT_EQ(of("85 ms").all.answered(), 8u);
  EXPECT_EQ(of("35 ms").all.violations, 5u);
  EXPECT_NEAR(of("35 ms").served_per_s, 100, 1e-6) << "answers over makespan";
  EXPECT_EQ(of("5 ms").served_per_s, 0) << "answers over makespan";
}

TEST(LateRequests, OfOfflineSamplesThoseThatWereDroppedAreNamed) {
  const auto e = parse_experiment(late_text("deadline: 2500 us"), "x.yaml", {"load={kind: offline, requests: 100}"});
  ASSERT_TRUE(e.ok()) << e.error().text();
  const std::string text = comparison_text(compare_policies(*e, 1, [] {}));
  EXPECT_NE(text.find("fifo: 1000 samples/s, without 98 of 100 that were dropped"), std::string::npos) << text;
}

/// Law: where a request is alone on its GPU, whatever begins is in time.
TEST(LateRequests, WhatBeginsAloneIsInTime) {
  for (const char* sizes : {"input: 5 MB, output: 7 MB", "input: 1 B", "output: 30 MB", "input: 12 MB"}) {
    for (const char* deadline : {"1 ms", "6 ms", "13 ms", "20 ms", "32 ms"}) {
      const RunResult r = late_run(late_text(std::string(sizes) + ", deadline: " + deadline));
      EXPECT_EQ(r.all.violations, r.all.dropped) << sizes << ", " << deadline;
      const RunResult all =
          late_run(late_text(std::string(sizes) + ", deadline: " + deadline), {"run.drop_late=false"});
      EXPECT_EQ(r.all.violations, all.all.violations) << sizes << ", " << deadline;
    }
  }
}

/// Law: on a serial GPU with one slot, in one box, with links of its own, nothing that comes later delays what has
/// begun, so that whatever begins is in time, of any batch and deadline.
TEST(LateRequests, WhatBeginsInBatchesIsInTime) {
  for (const char* policy : {"fifo", "dynamic_batching", "static_batching"}) {
    for (const int rate : {50, 200, 1000}) {
      for (const int deadline : {3, 8, 20, 60}) {
        const RunResult r = late_run(
            "title: t\ngpus: [{name: g0, host_bandwidth: 1 GB/s, slots: 1}]\nmodels: [{name: m0, layer_times: [1 ms, 1 ms], "
            "input: 1 MB, output: 100 kB, batch_cost: 0.3, max_batch: 8, deadline: " +
            std::to_string(deadline) + " ms}]\nload: {kind: poisson, rate_per_s: " + std::to_string(rate) +
            ", requests: 2000}\npolicies: [" + policy +
            "]\nbatching: {size: 8, delay: 2 ms}\nrun: {warm_up: 0, drop_late: true}\n");
        EXPECT_EQ(r.all.violations, r.all.dropped) << policy << " " << rate << " " << deadline;
      }
    }
  }
}

}  // namespace
}  // namespace distsim::serving
