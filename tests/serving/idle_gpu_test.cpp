// What a request waits for, and what it does not: weights that are on their way, the delay of a batch, a GPU that is free.

#include "scenarios.hpp"

namespace distsim::serving {
namespace {

using test::kMs;

Load arrivals(const std::vector<std::pair<std::int64_t, std::uint32_t>>& rows) {
  Load load;
  load.kind = LoadKind::trace;
  for (const auto& [time, model] : rows) load.trace.push_back({time, model});
  return load;
}

class AnswersOfEngine : public Observer {
 public:
  explicit AnswersOfEngine(std::size_t count) : at(count, -1) {}
  void answered(const Answered& a) override { at[a.number] = a.answer_ps; }
  std::vector<std::int64_t> at;
};

std::vector<std::int64_t> answers_of(const Scenario& s, const char* policy, const Load& load,
                                     const PolicyOptions& options = {}) {
  AnswersOfEngine answers(load.trace.size());
  EXPECT_TRUE(emulate(s, test::policy(policy), options, load, {}, &answers).ok());
  return answers.at;
}

/// 1 GB over 10 GB/s: the second request, in another slot, has nothing to fetch and waits for the weights all the same.
TEST(IdleGpu, NobodyIsServedBeforeTheWeightsAreThere) {
  for (const Execution execution : {Execution::serial, Execution::shared, Execution::pipeline}) {
    Scenario s = test::gpus_of_one_kind(1);
    test::set_models(s, {{"m", {kMs}}});
    s.models[0].weight_bytes = 1'000'000'000;
    s.models[0].demand = {0, 0, 0};
    s.residency = Residency::cached;
    s.gpus[0].slots = 2;
    s.gpus[0].execution = execution;
    const std::int64_t second = execution == Execution::shared ? 101 : 102;
    EXPECT_EQ(answers_of(s, "fifo", arrivals({{0, 0}, {kMs, 0}})),
              (std::vector<std::int64_t>{101 * kMs, second * kMs}));
  }
}

/// More slots do not pile up on one GPU what another could begin.
TEST(IdleGpu, TakesTheRequestThoughOthersHaveFreeSlots) {
  for (const std::uint32_t slots : {1u, 2u, 4u}) {
    Scenario s = test::gpus_of_one_kind(2);
    test::set_models(s, {{"m", {3 * kMs}}});
    for (Gpu& gpu : s.gpus) gpu.slots = slots;
    EXPECT_EQ(answers_of(s, "fifo", arrivals({{0, 0}, {kMs, 0}, {2 * kMs, 0}, {3 * kMs, 0}})),
              (std::vector<std::int64_t>{3 * kMs, 4 * kMs, 6 * kMs, 7 * kMs}))
        << slots;
    EXPECT_EQ(answers_of(s, "fifo", arrivals({{0, 0}, {0, 0}, {0, 0}, {0, 0}})),
              (std::vector<std::int64_t>{3 * kMs, 3 * kMs, 6 * kMs, 6 * kMs}))
        << slots;
  }
}

/// Model 0 has full batches that wait for GPU 1; a batch of model 1 goes to GPU 0 after its delay, not with the next arrival.
TEST(IdleGpu, ADelayEndsThoughBatchesOfOtherModelsWait) {
  Scenario s = test::gpus_of_one_kind(2);
  test::set_models(s, {{"a", {100 * kMs}, 2}, {"b", {kMs}, 2}});
  PolicyOptions options;
  options.batch = 2;
  options.delay_ps = 2 * kMs;
  options.placement = {{1}, {0}};
  const auto at =
      answers_of(s, "dynamic_batching", arrivals({{0, 0}, {0, 0}, {0, 0}, {0, 0}, {kMs, 1}, {1000 * kMs, 0}}), options);
  EXPECT_EQ(at[4], (1 + 2 + 1) * kMs);
}

/// A request gives way to one of higher priority that only its own GPU has, and goes on at the other one, which is free.
TEST(IdleGpu, ARequestInProgressGoesWhereAGpuIsFree) {
  for (const char* policy : {"layer_preemptive", "cellular_batching"}) {
    Scenario s = test::gpus_of_one_kind(2);
    test::set_models(s, {{"a", {2 * kMs, 2 * kMs, 2 * kMs}}, {"b", {1000 * kMs}}});
    s.models[1].priority = 5;
    PolicyOptions options;
    options.placement = {{}, {0}};
    // For cellular batching the older request is first: b comes before the second a, and waits for GPU 0 with it.
    const auto at = answers_of(s, policy, arrivals({{0, 0}, {kMs, 1}, {5000 * kMs, 0}}), options);
    const bool preempts = std::string(policy) == "layer_preemptive";
    EXPECT_EQ(at[0], 6 * kMs) << policy;
    EXPECT_EQ(at[1], preempts ? 1002 * kMs : 1006 * kMs) << policy;
  }
}

}  // namespace
}  // namespace distsim::serving
