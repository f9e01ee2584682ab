// Which collectives of two ranks are the same, where a recording begins later, has no marks, or lost some.
#include "traces/ranks/collective_match.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "rank_text.hpp"
#include "traces/trace_reader.hpp"
#include "traces/verdict.hpp"

namespace distsim::traces {
namespace {

using test::RankText;

class RanksMatch : public testing::Test {
 protected:
  Result<TraceJob> read(const std::vector<RankText>& ranks) {
    std::vector<std::string> paths;
    for (std::size_t r = 0; r < ranks.size(); ++r)
      paths.push_back(test::write(folder_, "rank" + std::to_string(r) + ".json",
                                  ranks[r].text(static_cast<int>(r), static_cast<int>(ranks.size()))));
    return read_traces(paths);
  }
  const std::string folder_ = test::scratch_dir("ranks_match");
};

/// Which all-reduce it is, see RankText.
std::int64_t which(const TraceJob& job, const CollectiveMatch::Member& m) {
  const TraceRank& rank = job.ranks[m.rank];
  return rank.device_records[rank.collectives[m.collective].device_record].duration_ns / 1000 - 100;
}

/// Matches of which all members are the same one; -1: another is among them.
int true_matches(const TraceJob& job) {
  for (const CollectiveMatch& m : job.matches) {
    for (const CollectiveMatch::Member& member : m.members) {
      if (which(job, member) != which(job, m.members.front())) return -1;
    }
  }
  return static_cast<int>(job.matches.size());
}

bool says(const std::vector<std::string>& notes, const std::string& words) {
  return std::ranges::any_of(notes, [&](const std::string& n) { return n.find(words) != std::string::npos; });
}

bool moved(const TraceJob& job) { return says(job.ranks[1].notes.assumptions, "clock moved"); }

TEST_F(RanksMatch, ARecordingThatBeginsAStepLater) {
  for (const bool marked : {true, false}) {
    for (const bool late_first : {false, true}) {
      RankText whole, late;
      whole.marked = late.marked = marked;
      late.first = 5;
      const auto job = read(late_first ? std::vector{late, whole} : std::vector{whole, late});
      ASSERT_TRUE(job.ok()) << job.error().text();
      EXPECT_EQ(true_matches(*job), 20) << marked << late_first;
      EXPECT_FALSE(moved(*job));
      const std::string late_rank = late_first ? "0" : "1";
      EXPECT_EQ(missing_parts(*job),
                marked ? std::vector<std::string>{"step 4 of rank " + late_rank} : std::vector<std::string>{});
      EXPECT_EQ(says(job->ranks[1].notes.assumptions, "from the last one backward") ||
                    says(job->ranks[0].notes.assumptions, "from the last one backward"),
                !marked);
    }
  }
  RankText whole, early;
  whole.marked = early.marked = false;
  early.last = 7;
  const auto job = read({whole, early});
  ASSERT_TRUE(job.ok()) << job.error().text();
  EXPECT_EQ(true_matches(*job), 16);
}

/// On clocks of their own, numbers alone tell.
TEST_F(RanksMatch, StepNumbersAndNotClocksTell) {
  for (const double clock : {-30'000., 25'000., 2e6}) {
    RankText late;
    late.first = 6;
    late.clock = clock;
    const auto job = read({RankText{}, late});
    ASSERT_TRUE(job.ok()) << job.error().text();
    EXPECT_EQ(true_matches(*job), 16) << clock;
    EXPECT_TRUE(moved(*job));
  }
}

TEST_F(RanksMatch, ALostKernelShiftsNoOther) {
  RankText lossy;
  lossy.is_lost = [](int i) { return i == 26; };
  const auto alike = read({RankText{}, lossy});
  ASSERT_TRUE(alike.ok()) << alike.error().text();
  EXPECT_EQ(true_matches(*alike), 20);
  EXPECT_TRUE(says(alike->notes.assumptions, "different numbers of collectives in 1 step (the first: #6)"));
  RankText whole;
  whole.elements = lossy.elements = [](int i) { return 1'000'000 + i % 4; };
  const auto told = read({whole, lossy});
  ASSERT_TRUE(told.ok()) << told.error().text();
  EXPECT_EQ(true_matches(*told), 23);
  EXPECT_FALSE(says(told->notes.assumptions, "different numbers of collectives"));
  whole.marked = lossy.marked = false;
  whole.elements = lossy.elements = [](int i) { return 1'000'000 + i * i; };
  const auto unmarked = read({whole, lossy});
  ASSERT_TRUE(unmarked.ok()) << unmarked.error().text();
  EXPECT_EQ(true_matches(*unmarked), 23);
}

TEST_F(RanksMatch, ARankWithoutMarksIsNamed) {
  RankText unmarked;
  unmarked.marked = false;
  const auto job = read({RankText{}, unmarked, RankText{}});
  ASSERT_TRUE(job.ok()) << job.error().text();
  EXPECT_EQ(true_matches(*job), 24);
  EXPECT_EQ(missing_parts(*job), std::vector<std::string>{"the steps of rank 1"});
  unmarked.first = 5;
  const auto late = read({RankText{}, unmarked});
  ASSERT_TRUE(late.ok()) << late.error().text();
  EXPECT_EQ(true_matches(*late), 20);
}

TEST_F(RanksMatch, StepsOfOtherNumbersAreOthers) {
  RankText other;
  other.number_offset = 100;
  const auto job = read({RankText{}, RankText{}, other});
  ASSERT_TRUE(job.ok()) << job.error().text();
  EXPECT_EQ(true_matches(*job), 24);
  EXPECT_EQ(missing_parts(*job),
            (std::vector<std::string>{"steps 104 to 109 of ranks 0, 1", "steps 4 to 9 of rank 2"}));
  EXPECT_TRUE(says(job->notes.assumptions, "rank 2 has no step of a number that another rank has"));
  EXPECT_FALSE(says(read({RankText{}, RankText{}})->notes.assumptions, "no step of a number"));
}

/// Numbers of collectives that contradict those of steps move no clock.
/// Ranks 1 and 2 share steps, and 0 and 1 others: both are moved to the clock of rank 0, and agree as they did.
TEST_F(RanksMatch, ClocksAreMovedAlongTheRanksThatShareSteps) {
  RankText ahead, whole, early;
  ahead.first = 3, ahead.last = 4, ahead.clock = 8e5;
  whole.first = 1, whole.last = 4;
  early.first = 1, early.last = 2;
  const auto job = read({ahead, whole, early});
  ASSERT_TRUE(job.ok()) << job.error().text();
  EXPECT_EQ(true_matches(*job), 16);
  for (const std::size_t rank : {1, 2})
    EXPECT_TRUE(says(job->ranks[rank].notes.assumptions, "clock moved by 800000 us")) << rank;
  const auto start = [&](std::size_t rank) { return job->ranks[rank].steps.front().start_ns; };
  EXPECT_EQ(start(1), start(2));
}

/// One all-reduce that two ranks end seconds apart is enough.
TEST_F(RanksMatch, AFewCollectivesTellClocksApart) {
  for (const int reduces : {1, 2}) {
    RankText one, ahead;
    one.first = one.last = ahead.first = ahead.last = 4;
    one.reduces = ahead.reduces = reduces;
    ahead.clock = 3e6;
    const auto job = read({one, ahead});
    ASSERT_TRUE(job.ok()) << job.error().text();
    EXPECT_EQ(true_matches(*job), reduces);
    EXPECT_TRUE(moved(*job)) << reduces;
  }
}

/// Two pairs, of which neither shares a collective with the other.
TEST_F(RanksMatch, ClocksOfEveryPairAreAligned) {
  std::vector<RankText> ranks(4);
  ranks[0].group = ranks[1].group = {0, 1};
  ranks[2].group = ranks[3].group = {2, 3};
  ranks[3].clock = 3e3;
  const auto job = read(ranks);
  ASSERT_TRUE(job.ok()) << job.error().text();
  EXPECT_EQ(true_matches(*job), 48);
  EXPECT_TRUE(says(job->ranks[3].notes.assumptions,
                   "clock moved by -3000 us, so that its collectives end with those of rank 2"));
  for (const std::size_t rank : {0, 1, 2})
    EXPECT_FALSE(says(job->ranks[rank].notes.assumptions, "clock moved")) << rank;
}

/// A root may leave early: what only broadcasts tell moves no clock, and is named.
TEST_F(RanksMatch, BroadcastsLeaveAClockOpen) {
  for (const double clock : {0., 3e3, -3e3}) {
    RankText root, other;
    root.collective = other.collective = "Broadcast";
    other.clock = clock;
    const auto job = read({root, other});
    ASSERT_TRUE(job.ok()) << job.error().text();
    EXPECT_EQ(true_matches(*job), 24);
    EXPECT_FALSE(moved(*job));
    EXPECT_EQ(says(job->ranks[1].notes.assumptions, "24 of 24 broadcasts and sends end " +
                                                        std::string(clock > 0 ? "after" : "before") +
                                                        " those of rank 0, by 3000 us in the median"),
              clock != 0);
    EXPECT_EQ(job->ranks[0].clock_is_open && job->ranks[1].clock_is_open, clock != 0);
  }
}

/// An Nsight report holds the ranks of a node, on one clock.
TEST_F(RanksMatch, RanksOfOneFileAreOnOneClock) {
  RankText root, other;
  root.collective = other.collective = "Broadcast";
  other.clock = 3e3;
  auto job = read({root, other});
  ASSERT_TRUE(job.ok()) << job.error().text();
  ASSERT_TRUE(job->ranks[0].clock_is_open && job->ranks[1].clock_is_open);
  job->ranks[0].clock_is_open = job->ranks[1].clock_is_open = false;
  job->ranks[1].path = job->ranks[0].path;
  align_clocks(*job, 100'000);
  EXPECT_FALSE(job->ranks[0].clock_is_open || job->ranks[1].clock_is_open);
}

/// Half of 24 broadcasts end 3 ms later than those of rank 0, half 4 ms: 3.5 ms in the median.
TEST_F(RanksMatch, TheMedianOfOpenClocksIsTheMeanOfTheTwoInTheMiddle) {
  RankText root, other;
  root.collective = other.collective = "Broadcast";
  other.clock = 3e3;
  auto job = read({root, other});
  ASSERT_TRUE(job.ok()) << job.error().text();
  TraceRank& late = job->ranks[1];
  late.notes.assumptions.clear();
  ASSERT_EQ(late.collectives.size(), 24u);
  for (std::size_t c = 12; c < 24; ++c) late.device_records[late.collectives[c].device_record].duration_ns += 1'000'000;
  align_clocks(*job, 100'000);
  EXPECT_TRUE(says(late.notes.assumptions, "after those of rank 0, by 3500 us in the median"));
}

TEST_F(RanksMatch, AClockIsNotMovedAgainstStepNumbers) {
  RankText whole, late;
  whole.sequence_from = late.sequence_from = 0;
  late.first = 5;
  const auto job = read({whole, late});
  ASSERT_TRUE(job.ok()) << job.error().text();
  EXPECT_FALSE(moved(*job));
  EXPECT_TRUE(says(job->ranks[1].notes.assumptions, "20 of 20 collectives are in a step of another number"));
}

TEST_F(RanksMatch, NoneIsTakenForAnother) {
  std::mt19937 random(11);
  for (int round = 0; round < 60; ++round) {
    RankText whole, other;
    other.first = 4 + static_cast<int>(random() % 3);
    other.last = 9 - static_cast<int>(random() % 3);
    other.clock = random() % 2 == 0 ? 0 : static_cast<double>(random() % 200'000) - 100'000;
    const std::uint32_t sizes = 1 + random() % 4, seed = random();
    whole.elements = other.elements = [=](int i) {
      return 1'000'000 + static_cast<int>((static_cast<std::uint32_t>(i % 4) * 2654435761u ^ seed) % sizes);
    };
    const int lost = static_cast<int>(random() % 60);
    other.is_lost = [=](int i) { return i == lost || i == lost + 1; };
    const auto job = random() % 2 == 0 ? read({whole, other}) : read({other, whole});
    ASSERT_TRUE(job.ok()) << job.error().text();
    EXPECT_GE(true_matches(*job), 4 * (other.last - other.first + 1) - 8) << round;
    EXPECT_EQ(missing_parts(*job).empty(), other.first == 4 && other.last == 9) << round;
  }
}

}  // namespace
}  // namespace distsim::traces
