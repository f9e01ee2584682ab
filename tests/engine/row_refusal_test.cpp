// Every invalid program is refused, by validate and by both modes of evaluation, with a message that names the place.
#include <gtest/gtest.h>

#include "programs.hpp"
#include "sim/engine/rows/row_evaluator.hpp"

namespace distsim::engine {
namespace {

/// A valid program to break: 4 ranks, 2 streams, groups {0,1},{2,3}.
Program sound() {
  Program p;
  p.ranks = 4;
  p.streams = 2;
  p.groups.push_back({2, 1, {}, {}});
  const StepId a = add_step(p, 0, row({1, 2, 3, 4}));
  add_step(p, 1, Row(5), {a}, 0);
  return p;
}

void expect_refused(const Program& p, const std::string& message) {
  for (const Error& error : {validate(p).error(), evaluate_rows(p).error(), evaluate_makespan(p).error()}) {
    EXPECT_NE(error.text().find(message), std::string::npos) << error.text();
  }
}
void expect_refused_when_played(const Program& p, const std::string& message) {
  EXPECT_TRUE(validate(p).ok());
  for (const Error& error : {evaluate_rows(p).error(), evaluate_makespan(p).error()}) {
    EXPECT_NE(error.text().find(message), std::string::npos) << error.text();
  }
}

TEST(Refusal, TheSoundProgramIsAccepted) { EXPECT_TRUE(validate(sound()).ok() && evaluate_rows(sound()).ok()); }

TEST(Refusal, NoRanksOrStreams) {
  Program p = sound();
  p.ranks = 0;
  expect_refused(p, "program.ranks: found 0");
  p = sound();
  p.streams = 0;
  expect_refused(p, "program.streams: found 0");
}

TEST(Refusal, StreamOutOfRange) {
  Program p = sound();
  p.steps[StepId(1)].stream = StreamId(2);
  expect_refused(p, "step 1.stream: found 2, expected a stream below 2");
  p.steps[StepId(1)].stream = StreamId();  // on no stream: allowed
  EXPECT_TRUE(evaluate_rows(p).ok());
}

TEST(Refusal, GroupOutOfRange) {
  Program p = sound();
  p.steps[StepId(0)].group = 1;
  expect_refused(p, "step 0.group: found 1, expected one of 1 groups");
}

TEST(Refusal, WaitsThatDoNotPointBackwards) {
  Program p = sound();
  p.waits[0] = StepId(1);
  expect_refused(p, "step 1.waits: found step 1, expected an earlier step");
  p.waits[0] = StepId(7);
  expect_refused(p, "step 1.waits: found step 7");
  p.waits[0] = StepId();
  expect_refused(p, "step 1.waits: found step 4294967295");
}

TEST(Refusal, WaitOffsetsThatDoNotFit) {
  Program p = sound();
  p.wait_offsets.pop_back();
  expect_refused(p, "program.wait_offsets");
  p = sound();
  p.wait_offsets = {0, 1, 0};
  expect_refused(p, "program.wait_offsets");
  p.wait_offsets = {1, 1, 1};
  expect_refused(p, "program.wait_offsets");
  p.wait_offsets = {0, 5, 1};
  expect_refused(p, "program.wait_offsets");
  p.wait_offsets = {};
  expect_refused(p, "program.wait_offsets");
}

TEST(Refusal, RowsOfTheWrongLength) {
  Program p = sound();
  p.steps[StepId(0)].duration = row({1, 2, 3});
  expect_refused(p, "step 0.duration: found 3 numbers, expected one for each of 4 ranks");
  p.steps[StepId(0)].duration = row({1, 2, 3, 4, 5});
  expect_refused(p, "step 0.duration: found 5 numbers");
}

TEST(Refusal, NegativeDurations) {
  Program p = sound();
  p.steps[StepId(0)].duration = row({1, 2, -3, 4});
  expect_refused(p, "step 0.duration on rank 2: found -3 ps, expected a non-negative duration");
  p.steps[StepId(0)].duration = Row(-1);
  expect_refused(p, "step 0.duration: found -1 ps");
  p.steps[StepId(0)].duration = row({1, 2, 3, INT64_MIN});
  expect_refused(p, "step 0.duration on rank 3");
  // A negative number that a later start would hide.
  p = sound();
  p.steps[StepId(1)].duration = row({5, 5, 5, -2});
  expect_refused(p, "step 1.duration on rank 3: found -2 ps");
}

TEST(Refusal, BlocksAreNamedByTheirFirstRank) {
  Program p;
  p.ranks = 4;
  p.streams = 1;
  p.add({StreamId(0), Row(std::vector<std::int64_t>{1, -3}, 2), Step::kNoGroup}, {});
  expect_refused(p, "step 0.duration on rank 2: found -3 ps");
}

TEST(Refusal, DurationsPastTheLimit) {
  Program p = sound();
  p.steps[StepId(0)].duration = Row(std::int64_t{1} << 62);
  expect_refused(p, "less than 2^62 ps");
  p.steps[StepId(0)].duration = row({0, INT64_MAX, 0, 0});
  expect_refused(p, "step 0.duration on rank 1");
}

TEST(Refusal, TimesPastTheLimit) {
  const std::int64_t half = std::int64_t{1} << 61;
  Program p = sound();
  p.steps[StepId(0)].duration = row({0, 0, half, 0});
  p.steps[StepId(1)].duration = Row(half);
  expect_refused_when_played(p, "step 1: found an end time beyond the limit");
  p.steps[StepId(0)].duration = Row(half);
  expect_refused_when_played(p, "step 1: found an end time beyond the limit");
  p.steps[StepId(1)].duration = row({0, half, 0, 0});
  expect_refused_when_played(p, "step 1: found an end time beyond the limit");
  p.steps[StepId(1)].duration = Row(half - 1);
  EXPECT_TRUE(evaluate_rows(p).ok());
}

TEST(Refusal, StridedGroupsThatDoNotDivideTheRanks) {
  for (const auto& [size, stride] :
       {std::pair{3u, 1u}, {2u, 4u}, {0u, 1u}, {1u, 0u}, {8u, 1u}, {0x80000000u, 2u}, {65536u, 65536u}}) {
    Program p = sound();
    p.groups[0] = {size, stride, {}, {}};
    expect_refused(p, "expected size x stride to divide 4 ranks");
  }
}

TEST(Refusal, ListedGroupsThatDoNotPartitionTheRanks) {
  const auto refused = [](std::vector<std::uint32_t> offsets, std::vector<std::uint32_t> members,
                          const std::string& message) {
    Program p = sound();
    p.groups[0] = {1, 1, std::move(offsets), std::move(members)};
    expect_refused(p, message);
  };
  refused({0, 2, 4}, {0, 1, 2, 2}, "groups 0: found rank 2 twice");
  refused({0, 2, 3}, {0, 1, 3}, "groups 0: found no group with rank 2");
  refused({0, 2, 4}, {0, 1, 2, 4}, "groups 0: found rank 4, expected a rank below 4");
  refused({0, 2, 2, 4}, {0, 1, 2, 3}, "groups 0: found group 1 without members");
  refused({0, 3, 2, 4}, {0, 1, 2, 3}, "groups 0: found group 1 without members");
  refused({1, 4}, {0, 1, 2, 3}, "groups 0: found 2 offsets");
  refused({0, 3}, {0, 1, 2, 3}, "groups 0: found 2 offsets");
  refused({0}, {}, "groups 0: found 1 offsets");
  refused({}, {0, 1, 2, 3}, "groups 0: found 0 offsets");
  refused({0, 9, 4}, {0, 1, 2, 3}, "groups 0: found group 1 without members");
}

}  // namespace
}  // namespace distsim::engine
