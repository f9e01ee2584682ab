// Random programs: the row evaluator agrees with the event-queue oracle, and with itself on other spellings of the same
// program.
#include <gtest/gtest.h>

#include "oracle.hpp"
#include "programs.hpp"
#include "sanitizers.hpp"
#include "sim/engine/rows/row_evaluator.hpp"
#include "sim/engine/timeline/verify.hpp"

namespace distsim::engine {
namespace {

const int kRowPrograms = test::samples(20'000);

::testing::AssertionResult same(const Row& row, const std::vector<std::int64_t>& expected, const char* what,
                                std::uint32_t step) {
  for (std::uint32_t r = 0; r < expected.size(); ++r) {
    if (row.at(r) != expected[r]) {
      return ::testing::AssertionFailure()
             << what << " of step " << step << " on rank " << r << ": " << row.at(r) << ", oracle " << expected[r];
    }
  }
  return ::testing::AssertionSuccess();
}

void expect_same(const Timeline& t, const Schedule& oracle) {
  ASSERT_EQ(t.end.size(), oracle.end.size());
  EXPECT_EQ(t.makespan.ps(), oracle.makespan);
  for (std::uint32_t s = 0; s < t.end.size(); ++s) {
    ASSERT_TRUE(same(t.ready[StepId(s)], oracle.ready[s], "ready", s));
    ASSERT_TRUE(same(t.start[StepId(s)], oracle.start[s], "start", s));
    ASSERT_TRUE(same(t.end[StepId(s)], oracle.end[s], "end", s));
  }
}

TEST(RowOracle, AgreesOnRandomPrograms) {
  Random random(8);
  for (int i = 0; i < kRowPrograms && !HasFatalFailure(); ++i) {
    SCOPED_TRACE("program " + std::to_string(i));
    const Program p = random_program(random);
    const auto timeline = evaluate_rows(p);
    ASSERT_TRUE(timeline.ok()) << timeline.error().text();
    expect_same(*timeline, play_by_events(p));
  }
}

TEST(RowOracle, AgreesOnRowsLongerThanABlock) {
  Random random(9);
  for (int i = 0; i < 40 && !HasFatalFailure(); ++i) {
    SCOPED_TRACE("program " + std::to_string(i));
    const Program p = random_program(random, {.ranks = 3000, .streams = 3, .steps = 8, .waits = 3});
    const auto timeline = evaluate_rows(p);
    ASSERT_TRUE(timeline.ok()) << timeline.error().text();
    expect_same(*timeline, play_by_events(p));
    ASSERT_TRUE(verify(p, *timeline).ok());
  }
}

TEST(RowOracle, LawsHoldOnRandomPrograms) {
  Random random(10);
  for (int i = 0; i < 5'000; ++i) {
    const Program p = random_program(random);
    const auto timeline = evaluate_rows(p);
    ASSERT_TRUE(timeline.ok());
    const auto lawful = verify(p, *timeline);
    ASSERT_TRUE(lawful.ok()) << "program " << i << ": " << lawful.error().text();
  }
}

TEST(RowOracle, EverySpellingOfAProgramHasTheSameDigest) {
  Random random(11);
  for (int i = 0; i < 5'000; ++i) {
    const Program p = random_program(random);
    const auto timeline = evaluate_rows(p);
    const auto expanded = evaluate_rows(with_expanded_rows(p));
    const auto listed = evaluate_rows(with_listed_groups(p, random));
    ASSERT_TRUE(timeline.ok() && expanded.ok() && listed.ok());
    ASSERT_EQ(timeline->digest, expanded->digest) << "program " << i;
    ASSERT_EQ(timeline->digest, listed->digest) << "program " << i;
    for (StepId s(0); s < p.steps.end_id(); s = StepId(s.value() + 1)) {
      for (std::uint32_t r = 0; r < p.ranks; ++r) {
        ASSERT_EQ(timeline->end[s].at(r), expanded->end[s].at(r));
        ASSERT_EQ(timeline->end[s].at(r), listed->end[s].at(r));
      }
    }
  }
}

TEST(RowOracle, MakespanModeAgrees) {
  Random random(12);
  for (int i = 0; i < 5'000; ++i) {
    const Program p = random_program(random);
    const auto timeline = evaluate_rows(p);
    const auto ends = evaluate_makespan(p);
    ASSERT_TRUE(timeline.ok() && ends.ok());
    ASSERT_EQ(timeline->makespan, ends->makespan) << "program " << i;
    for (StepId s(0); s < p.steps.end_id(); s = StepId(s.value() + 1)) {
      for (std::uint32_t r = 0; r < p.ranks && p.steps[s].stream.valid(); ++r) {
        ASSERT_LE(timeline->end[s].at(r), ends->last_end[p.steps[s].stream].at(r));
      }
    }
  }
}

TEST(RowOracle, MoreWorkNeverEndsEarlier) {
  // A max-plus recurrence is monotone: lengthening one duration on one rank moves no end forward.
  Random random(13);
  for (int i = 0; i < 3'000; ++i) {
    const Program p = random_program(random);
    if (p.steps.empty()) continue;
    Program longer = with_expanded_rows(p);
    const StepId changed(static_cast<std::uint32_t>(random.below(p.steps.size())));
    std::vector<std::int64_t> values(longer.steps[changed].duration.values().begin(),
                                     longer.steps[changed].duration.values().end());
    values[random.below(p.ranks)] += 1 + static_cast<std::int64_t>(random.below(1'000));
    longer.steps[changed].duration = Row(std::move(values));
    const auto before = evaluate_rows(p), after = evaluate_rows(longer);
    ASSERT_TRUE(before.ok() && after.ok());
    ASSERT_NE(before->digest, after->digest);
    for (StepId s(0); s < p.steps.end_id(); s = StepId(s.value() + 1)) {
      for (std::uint32_t r = 0; r < p.ranks; ++r) ASSERT_LE(before->end[s].at(r), after->end[s].at(r));
    }
  }
}

}  // namespace
}  // namespace distsim::engine
