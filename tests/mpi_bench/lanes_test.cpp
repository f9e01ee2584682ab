// Several ranks in one process: their numbers, their meetings, and calls that one thread issues for several of them.
// The processes are a stand-in.
#include "mpi_bench/collective/ranks/lanes.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "mpi_bench/collective/ranks/issue_group.hpp"
#include "mpi_bench/collective/ranks/lane_ranks.hpp"

namespace distsim::bench {
namespace {

// nccl-tests: rank = (proc * nThreads + thread) * nGpus + gpu.
TEST(Lanes, RanksAreNumberedByProcessThreadAndGpu) {
  const bench::LaneShape shape{.threads = 2, .gpus = 3};
  EXPECT_EQ(shape.lanes(), 6);
  EXPECT_EQ(bench::rank_of({.process = 0, .thread = 0, .gpu = 2}, shape), 2);
  EXPECT_EQ(bench::rank_of({.process = 0, .thread = 1, .gpu = 0}, shape), 3);
  EXPECT_EQ(bench::rank_of({.process = 4, .thread = 1, .gpu = 2}, shape), 29);
  EXPECT_EQ(bench::place_of(29, shape), (bench::LanePlace{.process = 4, .thread = 1, .gpu = 2}));
}

TEST(Lanes, EveryRankHasOnePlaceAndEveryGpuOfANodeOneRank) {
  for (const bench::LaneShape shape : {bench::LaneShape{1, 1}, bench::LaneShape{1, 8}, bench::LaneShape{8, 1},
                                       bench::LaneShape{2, 4}, bench::LaneShape{3, 2}}) {
    std::set<int> devices;
    for (int rank = 0; rank < 3 * shape.lanes(); ++rank) {
      const bench::LanePlace place = bench::place_of(rank, shape);
      EXPECT_EQ(bench::rank_of(place, shape), rank);
      EXPECT_LT(place.thread, shape.threads);
      EXPECT_LT(place.gpu, shape.gpus);
      EXPECT_TRUE(devices.insert(bench::device_of(place.process, place, shape)).second);  // three processes on one node
    }
    EXPECT_EQ(*devices.rbegin(), 3 * shape.lanes() - 1);
  }
}

TEST(Lanes, PackedTextsComeBackInOrder) {
  const std::vector<std::string> first = {"a", "", std::string("\0b", 2)}, second = {"cd", "e", "f"};
  const auto all = bench::unpack_lanes(std::vector<std::string>{bench::pack_lanes(first), bench::pack_lanes(second)});
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(*all, (std::vector<std::string>{"a", "", std::string("\0b", 2), "cd", "e", "f"}));
  EXPECT_FALSE(bench::unpack_lanes(std::vector<std::string>{bench::pack_lanes(first).substr(0, 12)}).ok());
  EXPECT_FALSE(bench::unpack_lanes(std::vector<std::string>{"abc"}).ok());
}

/// Process 1 of 2, whose other process sends the same texts.
class TwoProcesses : public bench::ProcessRanks {
 public:
  TwoProcesses() : bench::ProcessRanks(1, 2) { meet("node"); }
  std::string carrier() const override { return "test"; }
  void barrier() const override {}
  std::vector<std::string> gather(const std::string& text) const override {
    callers_.insert(std::this_thread::get_id());
    return {text, text};
  }
  std::string swap_with_root(int, const std::string&) const override { return ""; }
  [[noreturn]] void end_job() const override { std::abort(); }
  mutable std::set<std::thread::id> callers_;
};

TEST(Lanes, MeetingsBringEveryTextToEveryLaneThroughOneThread) {
  const TwoProcesses processes;
  processes.callers_.clear();
  constexpr int kLanes = 4, kRounds = 200;
  bench::LaneMeeting meeting(processes, {.threads = 2, .gpus = 2});
  std::atomic<int> wrong{0};
  const auto lane = [&](int number) {
    const bench::LaneRanks ranks(meeting, number);
    if (ranks.rank() != kLanes + number || ranks.size() != 2 * kLanes || ranks.local_rank() != ranks.rank()) ++wrong;
    for (int round = 0; round < kRounds; ++round) {
      const auto all = ranks.gather(std::to_string(number * kRounds + round));
      for (int r = 0; r < 2 * kLanes; ++r) wrong += all[r] == std::to_string(r % kLanes * kRounds + round) ? 0 : 1;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kLanes; ++i) threads.emplace_back(lane, i);
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(processes.callers_.size(), 1u);
}

TEST(Lanes, OneThreadWorksForAllThatAreExpectedInTheirOrder) {
  bench::IssueGroup group;
  group.expect(3);  // of four lanes one is idle
  std::atomic<int> works{0}, wrong{0};
  std::vector<std::thread> threads;
  for (const int lane : {7, 5, 6}) {
    threads.emplace_back([&, lane] {
      for (int round = 0; round < 100; ++round) {
        bench::IssueGroup::Part part{.lane = lane};
        group.together(part, [&](std::span<bench::IssueGroup::Part* const> parts) {
          ++works;
          for (std::size_t i = 0; i < parts.size(); ++i) wrong += parts[i]->lane == static_cast<int>(5 + i) ? 0 : 1;
          wrong += parts.size() == 3 ? 0 : 1;
          for (bench::IssueGroup::Part* p : parts) p->lane = -1;
        });
        wrong += part.lane == -1 ? 0 : 1;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(works.load(), 100);
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace distsim::bench
