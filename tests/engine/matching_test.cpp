// Posts of ranks become meetings: by order on a communicator, by order of messages between two ranks.
#include "sim/engine/program/matching.hpp"

#include <gtest/gtest.h>

#include "sim/engine/events/irregular_evaluator.hpp"

namespace distsim::engine {
namespace {

MatchingBuilder::Post post(std::uint32_t rank, std::int64_t duration, std::uint32_t stream = 0) {
  return {RankId(rank), StreamId(stream), duration, {}};
}

TEST(Matching, APipelineOfThreeStagesAndTwoMicrobatches) {
  // Forward 10 a stage, activation transfer 2 (both sides busy), one stream a rank, rendezvous.
  //   stage 0: f0 0-10   send0 10-12   f1 12-22   send1: ready at 22, stage 1 only at 24, so 24-26
  //   stage 1: receive0 10-12   f0 12-22   send0 22-24 (stage 2 waits since 0)   receive1 24-26   f1 26-36   send1
  //   36-38 stage 2: receive0 22-24   f0 24-34   receive1 36-38   f1 38-48.   Makespan 48.
  MatchingBuilder b(3, 1);
  for (int microbatch = 0; microbatch < 2; ++microbatch) {
    for (std::uint32_t stage = 0; stage < 3; ++stage) {
      if (stage > 0) b.receive(post(stage, 2), RankId(stage - 1));
      b.work(post(stage, 10));
      if (stage < 2) b.send(post(stage, 2), RankId(stage + 1));
    }
  }
  const auto program = std::move(b).finish();
  ASSERT_TRUE(program.ok()) << program.error().text();
  const auto t = evaluate_irregular(*program);
  ASSERT_TRUE(t.ok()) << t.error().text();
  EXPECT_EQ(t->makespan.ps(), 48);
}

TEST(Matching, CollectivesPairByOrderOnTheirCommunicator) {
  MatchingBuilder b(3, 1);
  const auto all = b.add_communicator({2, 0, 1}).value();
  const auto some = b.add_communicator({0, 2}).value();
  const StepId early = b.collective(post(0, 1), all);
  b.collective(post(0, 1), some);
  b.work(post(1, 30));
  b.collective(post(1, 1), all);
  b.collective(post(2, 1), all);
  const StepId late = b.collective(post(2, 1), some);
  const auto t = evaluate_irregular(std::move(b).finish().value());
  ASSERT_TRUE(t.ok()) << t.error().text();
  EXPECT_EQ(t->steps[early], (StepTimes{0, 30, 31}));
  EXPECT_EQ(t->steps[late], (StepTimes{31, 31, 32}));
}

TEST(Matching, TagsKeepMessagesApart) {
  // Sent under tags 1, 2 and received under 2, 1 on separate streams: no deadlock; on one stream: deadlock.
  for (const std::uint32_t streams : {2u, 1u}) {
    MatchingBuilder b(2, streams);
    b.send(post(0, 1, 0), RankId(1), 1);
    b.send(post(0, 1, streams - 1), RankId(1), 2);
    b.receive(post(1, 1, 0), RankId(0), 2);
    b.receive(post(1, 1, streams - 1), RankId(0), 1);
    const auto t = evaluate_irregular(std::move(b).finish().value());
    EXPECT_EQ(t.ok(), streams == 2);
  }
}

TEST(Matching, BothRanksSendingFirstDeadlocks) {
  MatchingBuilder b(2, 1);
  b.send(post(0, 1), RankId(1));
  b.receive(post(0, 1), RankId(1));
  b.send(post(1, 1), RankId(0));
  b.receive(post(1, 1), RankId(0));
  const auto t = evaluate_irregular(std::move(b).finish().value());
  ASSERT_FALSE(t.ok());
  EXPECT_NE(t.error().what.find("deadlock"), std::string::npos);
}

TEST(Matching, WhatIsLeftWithoutPartnersIsNamed) {
  MatchingBuilder lonely(2, 1);
  lonely.send(post(0, 1), RankId(1), 7);
  EXPECT_EQ(std::move(lonely).finish().error().what,
            "messages from rank 0 to rank 1 under tag 7: found 1 sends and 0 receives, expected equal numbers");

  for (const std::uint32_t absent : {0u, 1u, 2u}) {
    MatchingBuilder missing(3, 1);
    const auto all = missing.add_communicator({0, 1, 2}).value();
    for (const std::uint32_t rank : {0u, 1u, 2u}) {
      if (rank != absent) missing.collective(post(rank, 1), all);
    }
    EXPECT_EQ(std::move(missing).finish().error().what, "communicator 0: found 0 collectives on rank " +
                                                            std::to_string(absent) +
                                                            ", expected 1 as on its other members");
  }

  MatchingBuilder stranger(3, 1);
  const auto pair = stranger.add_communicator({0, 1}).value();
  stranger.collective(post(2, 1), pair);
  EXPECT_EQ(std::move(stranger).finish().error().what,
            "found rank 2 in a collective of communicator 0, expected a member of it");
}

TEST(Matching, CommunicatorsAreChecked) {
  MatchingBuilder b(2, 1);
  EXPECT_EQ(b.add_communicator({}).error().what, "communicator: found no members, expected at least one");
  EXPECT_EQ(b.add_communicator({0, 2}).error().what, "communicator: found rank 2, expected a rank below 2");
  EXPECT_EQ(b.add_communicator({1, 0, 1}).error().what, "communicator: found rank 1 twice, expected each rank once");
}

TEST(Matching, MessagesDoNotHoldTheirSender) {
  // rank 0: message 5 (0-5), then work 1 (5-6): it does not wait for rank 1.
  // rank 1: work 20 (0-20), then takes the message that is there since 5 (20-20), on no stream; work 3 waits for it
  // (20-23). rank 1 also takes a message of rank 0 that is out at 11 (work 1, message 5): on no stream it holds nothing
  // up but what waits for it.
  MatchingBuilder b(2, 1);
  b.post_message(post(0, 5), RankId(1));
  b.work(post(0, 1));
  const StepId second = b.post_message(post(0, 5), RankId(1));
  const StepId busy = b.work(post(1, 20));
  const StepId first_taken = b.take_message({RankId(1), StreamId(), 0, std::span(&busy, 1)}, RankId(0));
  const StepId second_taken = b.take_message({RankId(1), StreamId(), 0, {}}, RankId(0));
  const StepId after = b.work({RankId(1), StreamId(0), 3, std::span(&first_taken, 1)});
  const auto program = std::move(b).finish();
  ASSERT_TRUE(program.ok()) << program.error().text();
  const auto t = evaluate_irregular(*program);
  ASSERT_TRUE(t.ok()) << t.error().text();
  EXPECT_EQ(t->steps[second], (StepTimes{6, 6, 11}));
  EXPECT_EQ(t->steps[first_taken], (StepTimes{20, 20, 20}));
  EXPECT_EQ(t->steps[second_taken], (StepTimes{11, 11, 11}));
  EXPECT_EQ(t->steps[after], (StepTimes{20, 20, 23}));
}

TEST(Matching, AMessageThatNobodyTakesIsRefused) {
  MatchingBuilder b(2, 1);
  b.post_message(post(0, 5), RankId(1), 3);
  EXPECT_EQ(std::move(b).finish().error().what,
            "messages from rank 0 to rank 1 under tag 3: found 1 sends and 0 receives, expected equal numbers");
}

}  // namespace
}  // namespace distsim::engine
