// The emulator against the oracle on random scenarios: every answer at the same picosecond. Times are small numbers, so
// that many things happen at one moment.

#include "oracle.hpp"
#include "random_cases.hpp"
#include "sanitizers.hpp"

namespace distsim::serving {
namespace {

constexpr const char* kPolicies[] = {"fifo",
                                     "sjf",
                                     "edf",
                                     "priority",
                                     "naive",
                                     "non_naive",
                                     "round_robin",
                                     "least_loaded",
                                     "shortest_queue",
                                     "layer_preemptive",
                                     "static_batching",
                                     "dynamic_batching",
                                     "branch_fifo"};

class Answers : public Observer {
 public:
  explicit Answers(std::size_t count) : at(count, -1) {}
  void answered(const Answered& a) override { at[a.number] = a.answer_ps; }
  std::vector<std::int64_t> at;
};

TEST(Oracle, EveryAnswerAtTheSamePicosecond) {
  const std::uint64_t cases = distsim::test::samples(10'000);
  for (std::uint64_t seed = 0; seed < cases; ++seed) {
    const test::RandomCase c = test::random_case(seed);
    const char* policy = kPolicies[seed % std::size(kPolicies)];
    Answers answers(c.load.trace.size());
    const auto found = emulate(c.scenario, test::policy(policy), c.options, c.load, {}, &answers);
    ASSERT_TRUE(found.ok()) << "seed " << seed << " " << policy << ": " << found.error().text();
    const test::OracleResult expected = test::Oracle(c.scenario, c.setup, policy, c.options, c.load.trace).run();
    ASSERT_EQ(answers.at, expected.answers) << "seed " << seed << " " << policy;
    ASSERT_EQ(found->moves, expected.moves) << "seed " << seed << " " << policy;
    ASSERT_EQ(found->batches, expected.batches) << "seed " << seed << " " << policy;
    ASSERT_EQ(found->weight_loads, expected.loads) << "seed " << seed << " " << policy;
    ASSERT_EQ(found->evictions, expected.evictions) << "seed " << seed << " " << policy;
  }
}

/// All policies answer every request of any scenario, whatever the oracle knows of them.
TEST(Oracle, EveryPolicyAnswersEveryRequest) {
  const std::uint64_t cases = distsim::test::samples(1'000);
  for (std::uint64_t seed = 0; seed < cases; ++seed) {
    const test::RandomCase c = test::random_case(seed);
    for (const PolicyEntry* policy : policies()) {
      Answers answers(c.load.trace.size());
      RunOptions options;
      options.drop_late = seed % 4 == 0;
      const auto found = emulate(c.scenario, *policy, c.options, c.load, options, &answers);
      ASSERT_TRUE(found.ok()) << "seed " << seed << " " << policy->name << ": " << found.error().text();
      EXPECT_EQ(found->all.requests, c.load.trace.size()) << "seed " << seed << " " << policy->name;
      for (const std::int64_t at : answers.at) ASSERT_GE(at, 0) << "seed " << seed << " " << policy->name;
    }
  }
}

}  // namespace
}  // namespace distsim::serving
