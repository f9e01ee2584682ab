// Ranks of one job that contradict each other, or lack what the others have.
#include "traces/agreement.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "kineto_text.hpp"
#include "traces/trace_reader.hpp"

namespace distsim::traces {
namespace {

/// Rank `rank` of two, `steps` steps of 100 us with an all-reduce each; all times `unit` as long.
std::string rank_of_two(int rank, int steps, double unit = 1, const std::string& group_size = "2",
                        const std::string& info = "") {
  std::vector<std::string> events;
  for (int i = 0; i < steps; ++i) {
    const double t = 1000 + 100 * i;
    const std::string id = std::to_string(7 + i);
    events.push_back(
        test::event("user_annotation", "ProfilerStep#" + std::to_string(i), "5", "10", t * unit, 100 * unit));
    events.push_back(
        test::event("cuda_runtime", "cudaLaunchKernel", "5", "10", (t + 10) * unit, 4 * unit, "\"correlation\":" + id));
    events.push_back(test::event(
        "kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "0", "9", (t + 20) * unit, 40 * unit,
        "\"device\":0,\"stream\":9,\"correlation\":" + id +
            ",\"Collective name\":\"allreduce\",\"In msg nelems\":256,\"Out msg nelems\":256,\"dtype\":"
            "\"Float\",\"Group size\":" +
            group_size +
            ",\"Process Group Name\":\"0\",\"Process Group Ranks\":\"[0, 1]\",\"Seq\":" + std::to_string(i)));
  }
  const std::string own = "\"rank\":" + std::to_string(rank) + ",\"world_size\":2";
  return test::trace(events, "\"distributedInfo\":{" + (info.empty() ? own : info) + "},");
}

class RanksAgree : public testing::Test {
 protected:
  Result<TraceJob> read(const std::string& first, const std::string& second) {
    return read_traces({test::write(folder_, "rank0.json", first), test::write(folder_, "rank1.json", second)});
  }
  const std::string folder_ = test::scratch_dir("ranks_agree");
};

bool noted(const TraceNotes& notes, const std::string& words) {
  return std::ranges::any_of(notes.assumptions,
                             [&](const std::string& n) { return n.find(words) != std::string::npos; });
}

TEST_F(RanksAgree, StepsInAnotherUnitAreRefused) {
  for (const double unit : {1000., 0.001}) {
    const auto job = read(rank_of_two(0, 4), rank_of_two(1, 4, unit));
    ASSERT_FALSE(job.ok()) << unit;
    EXPECT_NE(job.error().text().find("expected steps alike of ranks that wait for each other"), std::string::npos)
        << job.error().text();
  }
  EXPECT_NE(read(rank_of_two(0, 4), rank_of_two(1, 4, 1000))
                .error()
                .text()
                .find("found steps of 100 ms on rank 1 and of 0.1 ms on rank 0"),
            std::string::npos);
  EXPECT_TRUE(read(rank_of_two(0, 4), rank_of_two(1, 4, 1.2)).ok());
}

/// All-reduces of 4 ms in steps of 10 ms, of which the median one is where the clocks are set by.
TEST_F(RanksAgree, CollectivesOfOneRunMeet) {
  const auto alike = read(rank_of_two(0, 24, 100), rank_of_two(1, 24, 100));
  ASSERT_TRUE(alike.ok()) << alike.error().text();
  EXPECT_FALSE(noted(alike->ranks[1].notes, "apart in time"));
  const auto drifting = read(rank_of_two(0, 24, 100), rank_of_two(1, 24, 120));
  ASSERT_TRUE(drifting.ok()) << drifting.error().text();
  EXPECT_TRUE(noted(drifting->ranks[1].notes, "of 24 collectives of rank 1 apart in time from the same ones on other"));
  const auto slow = read(rank_of_two(0, 24, 150), rank_of_two(1, 24, 100));
  ASSERT_FALSE(slow.ok());
  EXPECT_NE(slow.error().text().find("and steps of 15 ms, where the others have 10 ms, expected ranks of one run"),
            std::string::npos)
      << slow.error().text();
  for (const int few : {3, 6}) EXPECT_FALSE(read(rank_of_two(0, few, 5000), rank_of_two(1, few, 100)).ok()) << few;
}

TEST_F(RanksAgree, ATraceThatEndsBeforeTheOthersIsNoted) {
  const std::string words = "not in all traces of";
  const auto whole = read(rank_of_two(0, 4), rank_of_two(1, 4));
  ASSERT_TRUE(whole.ok()) << whole.error().text();
  EXPECT_FALSE(noted(whole->notes, words));
  std::string third = rank_of_two(2, 2);
  const auto wide = [](std::string text) {
    for (const auto& [from, to] : {std::pair<std::string, std::string>{"\"world_size\":2", "\"world_size\":3"},
                                   {"[0, 1]", "[0, 1, 2]"},
                                   {"\"Group size\":2", "\"Group size\":3"}}) {
      for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
        text.replace(at, from.size(), to);
    }
    return text;
  };
  const auto job = read_traces({test::write(folder_, "rank0.json", wide(rank_of_two(0, 4))),
                                test::write(folder_, "rank1.json", wide(rank_of_two(1, 4))),
                                test::write(folder_, "rank2.json", wide(third))});
  ASSERT_TRUE(job.ok()) << job.error().text();
  EXPECT_TRUE(noted(job->notes, "2 of 4 matched collectives are not in all traces of their groups that were read"));
}

/// busbw is that of the ranks that are listed.
TEST_F(RanksAgree, AGroupOfAnotherSizeThanItsListIsNoted) {
  const auto job = read(rank_of_two(0, 2, 1, "8"), rank_of_two(1, 2, 1, "8"));
  ASSERT_TRUE(job.ok()) << job.error().text();
  EXPECT_EQ(job->groups.at(0).size, 2u);
  EXPECT_TRUE(noted(job->notes, "process group '0' states another size than the 2 ranks that it lists, which count"));
}

TEST_F(RanksAgree, RanksThatAreNoWholeNumbersAreNamed) {
  const auto job =
      read_traces({test::write(folder_, "t.json", rank_of_two(0, 2, 1, "2", "\"rank\":1.9,\"world_size\":2.7"))});
  ASSERT_TRUE(job.ok()) << job.error().text();
  EXPECT_EQ(job->world_size, 0u);
  EXPECT_TRUE(noted(job->ranks.at(0).notes, "distributedInfo.rank cannot be read"));
  EXPECT_TRUE(noted(job->ranks[0].notes, "distributedInfo.world_size cannot be read"));
}

}  // namespace
}  // namespace distsim::traces
