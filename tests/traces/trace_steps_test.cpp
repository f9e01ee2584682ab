// Steps that are marked on several threads of one process.
#include <gtest/gtest.h>

#include <algorithm>

#include "kineto_text.hpp"
#include "traces/trace_reader.hpp"
#include "traces/trace_steps.hpp"
#include "traces/verdict.hpp"

namespace distsim::traces {
namespace {

/// Steps of 100 us each on `thread`, from `begin` on, and in each a kernel of 40 us, launched by it if `launches`.
std::vector<std::string> steps_of_thread(int thread, double begin, bool launches) {
  std::vector<std::string> out;
  for (int i = 0; i < 3; ++i) {
    const double t = begin + 100 * i;
    const std::string on = std::to_string(thread), id = std::to_string(100 * thread + i);
    out.push_back(test::event("user_annotation", "iteration " + std::to_string(i), "5", on, t, 100));
    if (!launches) continue;
    out.push_back(test::event("cuda_runtime", "cudaLaunchKernel", "5", on, t + 10, 4, "\"correlation\":" + id));
    out.push_back(
        test::event("kernel", "gemm", "0", on, t + 20, 40, "\"device\":0,\"stream\":" + on + ",\"correlation\":" + id));
  }
  return out;
}

class StepsOfThreads : public testing::Test {
 protected:
  TraceRank read(std::vector<std::string> events, const std::vector<std::string>& more) {
    events.insert(events.end(), more.begin(), more.end());
    TraceOptions options;
    options.step_pattern = "^iteration";
    auto job = read_traces({test::write(test::scratch_dir("trace_steps"), "t.json", test::trace(events))}, options);
    EXPECT_TRUE(job.ok()) << job.error().text();
    return job.ok() ? std::move(job->ranks.at(0)) : TraceRank{};
  }
  static bool says(const TraceRank& rank, const std::string& words) {
    return std::ranges::any_of(rank.notes.assumptions,
                               [&](const std::string& n) { return n.find(words) != std::string::npos; });
  }
};

/// Thread 4 marks the steps of another GPU: half a step later than thread 3, which launches this one's work.
TEST_F(StepsOfThreads, ThoseOfTheThreadThatLaunchesCount) {
  const TraceRank rank = read(steps_of_thread(3, 1000, true), steps_of_thread(4, 1050, false));
  ASSERT_EQ(rank.steps.size(), 3u);
  for (const TraceStep& s : rank.steps) {
    EXPECT_EQ(s.end_ns - s.start_ns, 100'000);
    EXPECT_EQ(s.device_records, 1u);
    EXPECT_EQ(s.first_device_ns - s.start_ns, 20'000);
  }
  EXPECT_TRUE(says(rank, "those of threads that launch nothing on this GPU are left out"));
  EXPECT_FALSE(says(rank, "before the one before has ended"));
}

TEST_F(StepsOfThreads, OverlapsThatStayAreNamed) {
  const TraceRank rank = read(steps_of_thread(3, 1000, true), steps_of_thread(4, 1050, true));
  EXPECT_EQ(rank.steps.size(), 6u);
  EXPECT_TRUE(says(rank,
                   "5 of 6 steps begin before the one before has ended; what is launched from then on counts to the "
                   "later one"));
}

/// Copies of steps on another thread, as of autograd, and ends rounded up by a microsecond are no overlaps.
TEST_F(StepsOfThreads, NestedAndRoundedStepsAreNone) {
  const TraceRank copies = read(steps_of_thread(3, 1000, true), steps_of_thread(4, 1000, false));
  EXPECT_EQ(copies.steps.size(), 3u);
  EXPECT_FALSE(says(copies, "overlap"));
  EXPECT_FALSE(says(copies, "begin"));
  const TraceRank rounded =
      read({test::event("user_annotation", "iteration 0", "5", "3", 900, 101)}, steps_of_thread(3, 1000, true));
  EXPECT_EQ(rounded.steps.size(), 4u);
  EXPECT_FALSE(says(rounded, "begin"));
}

/// Of six steps the fourth is lost: what ran between is missing, and no step is as long as two.
TEST_F(StepsOfThreads, AGapBetweenStepsIsNamed) {
  std::vector<std::string> events;
  for (const int i : {0, 1, 2, 4, 5})
    events.push_back(test::event("user_annotation", "iteration #" + std::to_string(i), "5", "3", 1000 + 100 * i, 100));
  const TraceRank lost = read(std::move(events), {});
  ASSERT_EQ(lost.steps.size(), 5u);
  EXPECT_EQ(lost.notes.missing, std::vector<std::string>{"what ran between iteration #2 and iteration #4"});
  EXPECT_TRUE(is_followed_by(lost.steps[1], lost.steps[2]));
  EXPECT_FALSE(is_followed_by(lost.steps[2], lost.steps[3]));
  EXPECT_TRUE(read(steps_of_thread(3, 1000, true), {}).notes.missing.empty());
  TraceStep least = lost.steps[2], most = lost.steps[2];
  least.number = INT64_MIN, most.number = INT64_MAX;
  EXPECT_FALSE(is_followed_by(most, lost.steps[3]));
  EXPECT_FALSE(is_followed_by(least, lost.steps[3]));
}

/// Three ProfilerSteps of 100 us with the kernel of each; step 1 has another length or number.
class ProfilerSteps : public testing::Test {
 protected:
  static TraceRank read(double length, int number) { return read(length, std::to_string(number)); }
  static TraceRank read(double length, const std::string& number) {
    std::vector<std::string> events = steps_of_thread(3, 1000, true);
    std::erase_if(events, [](const std::string& e) { return e.find("user_annotation") != std::string::npos; });
    for (int i = 0; i < 3; ++i)
      events.push_back(test::event("user_annotation", "ProfilerStep#" + (i == 1 ? number : std::to_string(i)), "5", "3",
                                   1000 + 100 * i, i == 1 ? length : 100));
    auto job = read_traces({test::write(test::scratch_dir("trace_steps"), "p.json", test::trace(events))});
    EXPECT_TRUE(job.ok()) << job.error().text();
    verdict() = job.ok() ? verdict_of(*job) : "";
    return job.ok() ? std::move(job->ranks.at(0)) : TraceRank{};
  }
  static std::string& verdict() {
    static std::string text;
    return text;
  }
};

TEST_F(ProfilerSteps, InOrderAreComplete) {
  EXPECT_EQ(read(100, 1).steps.size(), 3u);
  EXPECT_EQ(verdict(), "complete");
}

TEST_F(ProfilerSteps, OneInsideAnotherIsNamed) {
  EXPECT_EQ(read(1e6, 1).steps.size(), 2u);
  EXPECT_EQ(verdict(), "partial, without 1 step marked inside another (ProfilerStep#2 inside ProfilerStep#1)");
}

TEST_F(ProfilerSteps, EqualNumbersAreNamed) {
  EXPECT_EQ(read(100, 0).notes.assumptions,
            std::vector<std::string>{"ProfilerStep#0 follows ProfilerStep#0, expected numbers that count up: is this "
                                     "one recording?"});
}

TEST_F(ProfilerSteps, ANumberOfAnyLengthIsAName) {
  read(100, "99999999999999999999");
  EXPECT_EQ(verdict().find("inside"), std::string::npos) << verdict();
}

TEST_F(ProfilerSteps, WorkBetweenThemIsNamed) {
  EXPECT_EQ(read(1, 1).steps.size(), 3u);
  EXPECT_EQ(verdict(), "partial, without the step of 1 of 3 kernels launched between steps");
}

TEST_F(ProfilerSteps, NumbersThatDoNotCountUpAreNamed) {
  const TraceRank rank = read(100, 7);
  EXPECT_EQ(verdict(), "partial, without what ran between ProfilerStep#0 and ProfilerStep#7");
  EXPECT_EQ(rank.notes.assumptions,
            std::vector<std::string>{"ProfilerStep#2 follows ProfilerStep#7, expected numbers that count up: is this "
                                     "one recording?"});
}

}  // namespace
}  // namespace distsim::traces
