// How long requests wait at most: by policies that starve some, by those that may not, and by lazy batching.

#include "scenarios.hpp"
#include "sim/serving/policies/central.hpp"

namespace distsim::serving {
namespace {

/// First come, first served, and never a request of the second model, or, `every` > 0, those alone of that number.
template <std::uint64_t every>
class Forgets : public Policy {
 public:
  Forgets(const Scenario&, const PolicyOptions&) {}
  std::uint32_t arrived(const View& view, RequestSlot slot) override {
    const Request& r = view.request(slot);
    if (every == 0 ? r.model == 0 : r.number != every) waiting_.push(slot);
    return kAnyGpu;
  }
  Answer next(const View&, std::uint32_t, Assignment& out, std::int64_t&) override {
    if (waiting_.empty()) return Answer::nobody;
    out.requests.push_back(waiting_.pop());
    return Answer::work;
  }

 private:
  Fifo waiting_;
};
const PolicyEntry kForgetsModel{"forgets_model", "", make_policy<Forgets<0>>};
const PolicyEntry kForgetsOne{"forgets_one", "", make_policy<Forgets<5>>};

Scenario two_models(std::uint32_t gpus) {
  Scenario s = test::gpus_of_one_kind(gpus);
  test::set_models(s, {{"m", {test::kMs}}, {"n", {test::kMs}}});
  return s;
}
Load waiting_load(double rate, std::uint64_t requests) {
  Load load;
  load.rate_per_s = rate;
  load.requests = requests;
  return load;
}
/// When the error was found, in the words of the message: "... and is not started at 2.1 s".
double found_at_s(const std::string& error) {
  const std::string before = "is not started at ";
  const std::size_t at = error.find(before);
  return at == std::string::npos || error.find(" s", at) == std::string::npos
             ? -1
             : std::stod(error.substr(at + before.size()));
}

/// At half load GPUs idle every other moment: 1,000 times 1 ms of that have passed after 2 s, of a run of 1,000 s.
TEST(Waiting, OfWhatAPolicyStarvesIsBounded) {
  for (const PolicyEntry* policy : {&kForgetsModel, &kForgetsOne}) {
    for (const std::uint32_t gpus : {1u, 2u}) {
      const auto r = emulate(two_models(gpus), *policy, {}, waiting_load(500 * gpus, 500'000), {});
      ASSERT_FALSE(r.ok());
      const std::string error = r.error().text();
      EXPECT_NE(error.find("policy " + std::string(policy->name) + ": request "), std::string::npos) << error;
      EXPECT_NE(error.find("though every GPU that may execute it had no work for more than 1 s of that"),
                std::string::npos)
          << error;
      EXPECT_GT(found_at_s(error), 1) << error;
      EXPECT_LT(found_at_s(error), policy == &kForgetsModel ? 8 : 12) << error;
    }
  }
}

/// Few requests an hour: the bound does not wait for many to come.
TEST(Waiting, IsBoundedWhereLittleComes) {
  const auto r = emulate(two_models(1), kForgetsOne, {}, waiting_load(0.01, 20'000), {});
  ASSERT_FALSE(r.ok());
  EXPECT_LT(found_at_s(r.error().text()), 30'000) << r.error().text();
}

/// What users bound themselves has their bound alone.
TEST(Waiting, OfTheUsersBound) {
  RunOptions options;
  options.max_wait_ps = 50'000 * test::kMs;
  const auto r = emulate(two_models(1), kForgetsOne, {}, waiting_load(500, 500'000), options);
  ASSERT_FALSE(r.ok());
  EXPECT_NE(r.error().text().find("expected a wait of at most 50 s"), std::string::npos) << r.error().text();
  EXPECT_GT(found_at_s(r.error().text()), 50);
  EXPECT_LT(found_at_s(r.error().text()), 110);
}

/// No policy of ours is refused where waits are long: above capacity, for batches that fill slowly, on a GPU of many of its own.
TEST(Waiting, LongWaitsForAReasonAreNoStarvation) {
  for (const PolicyEntry* policy : policies()) {
    for (const double rate : {0.2, 900.0, 5000.0}) {
      Scenario s = two_models(2);
      PolicyOptions options;
      options.placement = {{0}, {0, 1}};  // the first model overloads its GPU, the other one idles
      const auto r = emulate(s, *policy, options, waiting_load(rate, 8'000), {});
      EXPECT_TRUE(r.ok()) << policy->name << " at " << rate << ": " << r.error().text();
    }
  }
  Scenario s = test::gpus_of_one_kind(1);
  test::set_models(s, {{"m", {test::kMs}, 512, 0.1}});
  PolicyOptions options;
  options.batch = 512;
  EXPECT_TRUE(emulate(s, test::policy("static_batching"), options, waiting_load(0.1, 2'000), {}).ok());
  options.delay_ps = 1'000'000 * test::kMs;
  EXPECT_TRUE(emulate(s, test::policy("dynamic_batching"), options, waiting_load(0.1, 2'000), {}).ok());
}

/// Requests of one model that come often enough to keep their batch from its end, and one of another model among them: it
/// waits for those before it, not for as many as a batch takes.
TEST(LazyBatching, DoesNotKeepAGpuFromOtherModels) {
  Scenario s = test::gpus_of_one_kind(1);
  test::set_models(s, {{"often", std::vector<std::int64_t>(10, test::kMs), 512}, {"once", {test::kMs}}});
  PolicyOptions options;
  options.batch = 512;
  Load load;
  load.kind = LoadKind::trace;
  for (int i = 0; i < 1000; ++i) {
    load.trace.push_back({i * 5 * test::kMs, 0});
    if (i == 2) load.trace.push_back({12 * test::kMs, 1});
  }
  const RunResult r = test::run(s, "lazy_batching", load, {}, options);
  EXPECT_LT(r.models[1].latency_ps.quantile(1), 40 * test::kMs);
  // Without the other one, newcomers hold up those below them for as long as there is room.
  std::erase_if(load.trace, [](const TraceRow& row) { return row.model == 1; });
  EXPECT_GT(test::run(s, "lazy_batching", load, {}, options).models[0].latency_ps.quantile(1), 1000 * test::kMs);
}

}  // namespace
}  // namespace distsim::serving
