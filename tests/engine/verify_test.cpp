// A checker is worth what it catches: each law is broken in turn.
#include "sim/engine/timeline/verify.hpp"

#include <gtest/gtest.h>

#include "programs.hpp"
#include "sim/engine/rows/row_evaluator.hpp"
#include "sim/engine/timeline/fingerprint.hpp"

namespace distsim::engine {
namespace {

struct Sound {
  Program p;
  Timeline t;
  Sound() {
    p.ranks = 2;
    p.streams = 2;
    p.groups.push_back({2, 1, {}, {}});
    const StepId a = add_step(p, 0, row({10, 12}));
    add_step(p, 1, Row(7), {a}, 0);
    add_step(p, 0, row({5, 6}));
    t = evaluate_rows(p).value();
  }
  void expect_broken(const std::string& law) {
    t.digest = fingerprint_of(t);
    const auto result = verify(p, t);
    ASSERT_FALSE(result.ok()) << "expected: " << law;
    EXPECT_NE(result.error().text().find(law), std::string::npos) << result.error().text();
  }
};

TEST(Verify, ASoundTimelinePasses) {
  const Sound s;
  EXPECT_TRUE(verify(s.p, s.t).ok());
}

TEST(Verify, AMissingStep) {
  Sound s;
  Timeline shorter{2};
  for (std::uint32_t i = 0; i < 2; ++i) {
    shorter.ready.push_back(s.t.ready[StepId(i)]);
    shorter.start.push_back(s.t.start[StepId(i)]);
    shorter.end.push_back(s.t.end[StepId(i)]);
  }
  shorter.makespan = s.t.makespan;
  s.t = shorter;
  s.expect_broken("found 2 steps on 2 ranks, expected 3 on 2");
}

TEST(Verify, AStartBeforeItsPredecessor) {
  Sound s;
  s.t.ready[StepId(1)] = row({10, 11});
  s.expect_broken("step 1 on rank 1: ready when all it waits for has ended: found 11 ps, expected 12 ps");
}

TEST(Verify, AJoinThatDoesNotWait) {
  Sound s;
  s.t.start[StepId(1)] = row({10, 12});
  s.t.end[StepId(1)] = row({17, 19});
  s.expect_broken("step 1 on rank 0: starts with the last arrival: found 10 ps, expected 12 ps");
}

TEST(Verify, AnEndThatIsNotStartPlusDuration) {
  Sound s;
  s.t.end[StepId(2)] = row({15, 19});
  s.expect_broken("step 2 on rank 1: ends its duration after its start: found 19 ps, expected 18 ps");
}

TEST(Verify, AWrongMakespan) {
  Sound s;
  s.t.makespan = Duration::picoseconds(18);
  s.expect_broken("busy + idle is not the makespan");
  s.t.makespan = Duration::picoseconds(20);
  s.expect_broken("timeline.makespan: found 20 ps");
}

TEST(Verify, AWrongDigest) {
  Sound s;
  s.t.digest ^= 1;
  const auto result = verify(s.p, s.t);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().text().find("digest"), std::string::npos);
}

TEST(Verify, ARowOfTheWrongLength) {
  Sound s;
  s.t.end[StepId(2)] = row({15, 18, 0});
  s.expect_broken("wrong length");
}

/// Blocks of ranks are read by their numbers' count, so that it is looked at first.
TEST(Verify, ARowOfBlocksOfTheWrongLength) {
  Sound s;
  s.t.end[StepId(2)] = Row(std::vector<std::int64_t>{15, 18}, 2);
  EXPECT_NE(verify(s.p, s.t).error().text().find("found 2 numbers for 2 ranks each, expected 2 ranks in total"),
            std::string::npos);
  s.t.end[StepId(2)] = Row(std::vector<std::int64_t>{15}, 3);
  EXPECT_FALSE(verify(s.p, s.t).ok());
}

TEST(Verify, AnInvalidProgram) {
  Sound s;
  s.p.ranks = 0;
  EXPECT_FALSE(verify(s.p, s.t).ok());
}

}  // namespace
}  // namespace distsim::engine
