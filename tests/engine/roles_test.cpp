// Ranks of one role have equal times, and a program of roles has the times of the program.
#include "sim/engine/program/roles.hpp"

#include <gtest/gtest.h>

#include "programs.hpp"
#include "sim/engine/rows/recurrence.hpp"
#include "sim/engine/rows/row_evaluator.hpp"

namespace distsim::engine {
namespace {

/// 8 ranks: two long ones, at 1 and 6, meet in pairs (0 1) (2 3) (4 5) (6 7), then all.
Program pairs() {
  Program p;
  p.ranks = 8;
  p.groups = {Groups{2, 1, {}, {}}, Groups{8, 1, {}, {}}};
  p.add({StreamId(0), Row(std::vector<std::int64_t>{10, 30, 10, 10, 10, 10, 30, 10}), Step::kNoGroup}, {});
  p.add({StreamId(0), Row(5), 0}, {});
  p.add({StreamId(0), Row(7), 1}, {});
  return p;
}

TEST(Roles, RanksThatMeetOthersDiffer) {
  const Roles roles = roles_of(pairs());
  ASSERT_EQ(roles.size(), 3u);  // beside a long one, long, neither
  EXPECT_EQ(roles.first, (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(roles.count, (std::vector<std::uint32_t>{2, 2, 4}));
  EXPECT_EQ(roles.of(7), 0u);
  EXPECT_EQ(roles.of(6), 1u);
}

TEST(Roles, EqualRanksHaveOne) {
  Program p = pairs();
  p.steps[StepId(0)].duration = Row(std::vector<std::int64_t>(8, 10));
  const Roles roles = roles_of(p);
  EXPECT_EQ(roles.size(), 1u);
  EXPECT_EQ(roles.count, std::vector<std::uint32_t>{8});
  EXPECT_TRUE(program_of_roles(p, roles).steps[StepId(0)].duration.uniform());
}

void expect_role_times(const Program& p, const Timeline& timeline) {
  const Roles roles = roles_of(p);
  const Program of_roles = program_of_roles(p, roles);
  Recurrence recurrence(of_roles);
  for (int plays = 0; plays < 2; ++plays) {
    ASSERT_TRUE(recurrence.play());
    for (StepId s(0); s < p.steps.end_id(); s = StepId(s.value() + 1)) {
      std::int64_t last = 0;
      for (std::uint32_t rank = 0; rank < p.ranks; ++rank) {
        const std::uint32_t role = roles.of(rank);
        ASSERT_EQ(recurrence.ready(s).at(role), timeline.ready[s].at(rank)) << "step " << s.value() << " rank " << rank;
        ASSERT_EQ(recurrence.start(s).at(role), timeline.start[s].at(rank)) << "step " << s.value() << " rank " << rank;
        ASSERT_EQ(recurrence.end(s).at(role), timeline.end[s].at(rank)) << "step " << s.value() << " rank " << rank;
        last = std::max(last, timeline.end[s].at(rank));
      }
      EXPECT_EQ(recurrence.end(s).high, last);
    }
  }
}

TEST(Roles, AProgramOfRolesHasTheTimesOfTheProgram) {
  const Program p = pairs();
  expect_role_times(p, evaluate_rows(p).value());
}

TEST(Roles, RandomProgramsHaveTheirTimes) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Program p = random_program(random);
    const auto timeline = evaluate_rows(p);
    if (!timeline.ok()) continue;
    expect_role_times(p, *timeline);
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace distsim::engine
