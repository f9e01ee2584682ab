// Kernels without arguments, as PyTorch wrote them up to 2.0: of which ranks a collective is, nobody says.
#include "traces/ranks/unnamed_groups.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "kineto_text.hpp"
#include "traces/ranks/collective_match.hpp"
#include "traces/trace_reader.hpp"

namespace distsim::traces {
namespace {

using test::event;

/// When an all-reduce ends on a rank, us; each takes 50.
using EndOf = std::function<double(int rank, int which)>;

TraceJob read_ranks(int ranks, int reduces, const EndOf& end_of,
                    const std::string& kernel = "AllReduce_Sum_f32_RING_LL") {
  const std::string folder = test::scratch_dir("unnamed_groups");
  std::vector<std::string> paths;
  for (int r = 0; r < ranks; ++r) {
    std::vector<std::string> events;
    for (int i = 0; i < reduces; ++i) {
      const std::string correlation = "\"correlation\":" + std::to_string(i + 1);
      const double start = 1e6 + end_of(r, i) - 50;
      events.push_back(event("cuda_runtime", "cudaLaunchKernel", "5", "10", start - 10, 1, correlation));
      events.push_back(event("kernel", "ncclKernel_" + kernel + "(x)", "0", "9", start, 50,
                             "\"device\":0,\"stream\":9," + correlation));
    }
    const std::string info =
        "\"distributedInfo\":{\"rank\":" + std::to_string(r) + ",\"world_size\":" + std::to_string(ranks) + "},";
    paths.push_back(test::write(folder, "rank" + std::to_string(r) + ".json", test::trace(events, info)));
  }
  auto job = read_traces(paths);
  EXPECT_TRUE(job.ok()) << job.error().text();
  return std::move(job).value();
}

bool notes_say(const TraceNotes& notes, const std::string& words) {
  return std::ranges::any_of(notes.assumptions, [&](const std::string& n) { return n.find(words) != n.npos; });
}

bool any_moved(const TraceJob& job) {
  return std::ranges::any_of(job.ranks, [](const TraceRank& r) { return notes_say(r.notes, "clock moved"); });
}

/// A clock that runs faster agrees with no other: what is named are all-reduces.
TEST(UnnamedGroups, ClocksThatDriftAreToldByWhatIsShared) {
  TraceJob job = read_ranks(4, 30, [](int, int which) { return 10'000 * which; });
  const std::int64_t first = job.ranks[1].device_records.front().start_ns;
  for (DeviceRecord& d : job.ranks[1].device_records) d.start_ns += (d.start_ns - first) / 20;
  align_clocks(job, 100'000);
  ASSERT_TRUE(job.ranks[1].clock_is_open);
  EXPECT_TRUE(notes_say(job.ranks[1].notes, " collectives end after those of rank 0"));
  EXPECT_FALSE(notes_say(job.ranks[1].notes, "broadcasts"));
}

/// Two pairs, each on its own way: they end up to 3 ms apart, in both directions.
double of_two_pairs(int rank, int which) {
  return 10'000 * which + (rank < 2 ? 0 : 3000 * ((which * 7) % 5 - 2) / 2.0);
}

TEST(UnnamedGroups, PairsAreNotTakenForOneGroup) {
  const TraceJob job = read_ranks(4, 10, of_two_pairs);
  EXPECT_TRUE(job.matches.empty());
  for (const TraceRank& rank : job.ranks) {
    for (const TraceCollective& c : rank.collectives) EXPECT_EQ(c.match, kNone);
  }
  EXPECT_FALSE(any_moved(job));
  EXPECT_TRUE(
      notes_say(job.notes,
                "no trace says between which ranks 10 collectives are: all ranks are taken for one group; which "
                "they are not, as their ends on the ranks lie too far apart: matched with none"));
}

/// All ranks, on clocks that differ: these are aligned, and the one collective that fits in with no other is left out.
TEST(UnnamedGroups, OneGroupOfAllIsMatched) {
  const auto end = [](int rank, int which) {
    return 10'000 * which + 40'000 * rank + (rank == 2 && which == 3 ? 900 : 0);
  };
  const TraceJob job = read_ranks(4, 10, end);
  EXPECT_EQ(job.matches.size(), 9u);
  EXPECT_TRUE(any_moved(job));
  EXPECT_TRUE(notes_say(job.notes, "all ranks are taken for one group; 1 of them is no such"));
  EXPECT_EQ(job.ranks[2].collectives[3].match, kNone);
  EXPECT_EQ(job.ranks[2].collectives[4].match, 3u);
  EXPECT_EQ(job.matches[3].members[2].collective, 4u);
}

/// A root may leave early, and of two ranks there is one group.
TEST(UnnamedGroups, WhatEndsDoNotTellIsKept) {
  EXPECT_EQ(read_ranks(4, 10, of_two_pairs, "Broadcast_RING_LL").matches.size(), 10u);
  const TraceJob two = read_ranks(2, 10, [](int rank, int which) { return of_two_pairs(3 * rank, which); });
  EXPECT_EQ(two.matches.size(), 10u);
  EXPECT_FALSE(notes_say(two.notes, "no trace says between which ranks"));
}

}  // namespace
}  // namespace distsim::traces
