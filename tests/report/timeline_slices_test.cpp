#include "sim/report/timeline/timeline_slices.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "job.hpp"

namespace distsim::report {
namespace {

/// A slice with texts of its own.
struct Kept {
  std::uint32_t track;
  std::string name, category;
  std::int64_t start, end;
  std::uint64_t flow;
  traces::FlowPlace place;
  std::map<std::string, std::string> args;
};

std::vector<Kept> all_of(const TimelineSlices& slices) {
  std::vector<Kept> out;
  slices.source.for_each([&](const traces::Slice& s) {
    Kept k{s.track,
           std::string(s.name),
           std::string(s.category),
           s.start_ps,
           s.start_ps + s.duration_ps,
           s.flow,
           s.flow_place,
           {}};
    for (const auto& [key, value] : s.args) k.args.emplace(key, value);
    out.push_back(std::move(k));
  });
  return out;
}

/// Two nodes of two GPUs; forward differs by rank; all-reduce of everybody, then one within each node.
Job four_ranks(std::uint16_t iterations) {
  JobBuilder b(4);
  b.launch(5).cost(0.1, 0.2, graph::Basis::interpolated, "a curve");
  const TaskId forward = b.compute_per_rank("forward", {100, 140, 0, 90});
  const TaskId reduce = b.collective("reduce", 60, 4096, {forward});
  b.collective("gather", 30, 512, {reduce}, graph::CollectiveKind::all_gather, graph::Stream::comm,
               graph::Partition::strided(2, 1));
  return b.play(iterations, 10);
}

TEST(TimelineSlices, TracksAreRanksAndStreams) {
  const Job job = four_ranks(2);
  const auto slices = timeline_slices(job.played(), {.gpus_per_node = 2});
  ASSERT_EQ(slices.source.tracks.size(), 12u);  // host, compute, comm of four ranks
  EXPECT_EQ(slices.source.tracks[9].process_name, "rank 3 (node 1, gpu 1)");
  EXPECT_EQ(slices.source.tracks[9].thread_name, "host");
  EXPECT_EQ(slices.source.tracks[11].thread_name, "comm");
  EXPECT_EQ(slices.left_out, "");
}

/// Forward ends at 15 + {100, 140, 0, 90}: rank 1 is the last, at 155. Rank 2, which has no forward, arrives when
/// reduce is launched, at 20.
TEST(TimelineSlices, CollectivesAreWaitingAndTransfer) {
  const Job job = four_ranks(1);
  std::map<std::uint32_t, std::pair<std::int64_t, std::int64_t>> waits, transfers;
  const auto slices = timeline_slices(job.played(), {.gpus_per_node = 2});
  for (const Kept& s : all_of(slices)) {
    const std::uint32_t rank = slices.source.tracks[s.track].process;
    if (s.name == "wait reduce") waits[rank] = {s.start, s.end};
    if (s.name == "reduce") transfers[rank] = {s.start, s.end};
    if (s.name == "wait reduce") {
      EXPECT_EQ(s.category, "waiting");
    }
    if (s.name == "reduce") {
      EXPECT_EQ(s.category, "gradient_sync");
      EXPECT_EQ(s.args.at("bytes"), "4096");
      EXPECT_EQ(s.args.at("basis"), "interpolated");
      EXPECT_EQ(s.args.at("source"), "a curve");
      EXPECT_NE(s.args.at("op").find("all_reduce"), std::string::npos);
    }
  }
  using Span = std::pair<std::int64_t, std::int64_t>;
  EXPECT_EQ(waits, (std::map<std::uint32_t, Span>{{0, {115, 155}}, {2, {20, 155}}, {3, {105, 155}}}));
  EXPECT_EQ(transfers,
            (std::map<std::uint32_t, Span>{{0, {155, 215}}, {1, {155, 215}}, {2, {155, 215}}, {3, {155, 215}}}));
}

TEST(TimelineSlices, SlicesOfATrackFollowEachOther) {
  const Job job = four_ranks(3);
  std::map<std::uint32_t, std::int64_t> reached;
  std::size_t count = 0;
  for (const Kept& s : all_of(timeline_slices(job.played(), {}))) {
    EXPECT_GE(s.start, reached[s.track]) << s.name;
    EXPECT_GE(s.end, s.start);
    reached[s.track] = s.end;
    ++count;
  }
  EXPECT_GT(count, 60u);
}

/// Each flow visits its members once, from the first to the last: two iterations of one group of four and two groups of
/// two.
TEST(TimelineSlices, FlowsJoinTheMembers) {
  const Job job = four_ranks(2);
  std::map<std::uint64_t, std::string> flows;
  const auto slices = timeline_slices(job.played(), {});
  for (const Kept& s : all_of(slices)) {
    if (s.flow == 0) continue;
    flows[s.flow] += s.place == traces::FlowPlace::first ? "<" : s.place == traces::FlowPlace::last ? ">" : "-";
    flows[s.flow] += std::to_string(slices.source.tracks[s.track].process);
  }
  std::multiset<std::string> shapes;
  for (const auto& [id, shape] : flows) shapes.insert(shape);
  EXPECT_EQ(shapes, (std::multiset<std::string>{"<0-1-2>3", "<0-1-2>3", "<0>1", "<0>1", "<2>3", "<2>3"}));
}

TEST(TimelineSlices, ListedGroupsFlowInOrderOfRank) {
  JobBuilder b(4);
  graph::Partition listed;
  listed.listed_offsets = {0, 3, 4};
  listed.listed_members = {3, 0, 2, 1};
  b.collective("reduce", 10, 8, {}, graph::CollectiveKind::all_reduce, graph::Stream::comm, listed);
  const Job job = b.play(1);
  std::string shape;
  const auto slices = timeline_slices(job.played(), {});
  for (const Kept& s : all_of(slices)) {
    if (s.flow != 0)
      shape += (s.place == traces::FlowPlace::first  ? "<"
                : s.place == traces::FlowPlace::last ? ">"
                                                     : "-") +
               std::to_string(slices.source.tracks[s.track].process);
  }
  EXPECT_EQ(shape, "<0-2>3");
}

TEST(TimelineSlices, RanksBeyondTheCapAreNamed) {
  const Job job = four_ranks(1);
  const auto slices = timeline_slices(job.played(), {.max_ranks = 2});
  EXPECT_EQ(slices.left_out, "ranks 2 to 3 are left out");
  EXPECT_EQ(slices.source.tracks.back().process_name, slices.left_out);
  std::set<std::uint32_t> ranks;
  std::string flow;
  for (const Kept& s : all_of(slices)) {
    ranks.insert(slices.source.tracks[s.track].process);
    if (s.name == "reduce")
      flow += s.place == traces::FlowPlace::first ? "<" : s.place == traces::FlowPlace::last ? ">" : "-";
  }
  EXPECT_EQ(ranks, (std::set<std::uint32_t>{0, 1}));
  EXPECT_EQ(flow, "<>");
}

/// Ranks 0 to 3 are equal, and so are 4 and 5.
TEST(TimelineSlices, OneRankOfEachClassIsShownFirst) {
  JobBuilder b(6);
  const TaskId forward = b.compute_per_rank("forward", {100, 100, 100, 100, 90, 90});
  b.collective("reduce", 60, 4096, {forward});
  const Job job = b.play(1);
  const auto shown = [&](std::uint32_t most) {
    const auto slices = timeline_slices(job.played(), {.max_ranks = most});
    std::set<std::uint32_t> ranks, of_counters;
    std::string flow;
    for (const Kept& s : all_of(slices)) {
      ranks.insert(slices.source.tracks[s.track].process);
      if (s.name == "reduce")
        flow += s.place == traces::FlowPlace::first ? "<" : s.place == traces::FlowPlace::last ? ">" : "-";
    }
    slices.source.for_each_sample(
        [&](const traces::CounterSample& s) { of_counters.insert(slices.source.counters.at(s.counter).process); });
    EXPECT_EQ(of_counters, ranks);
    EXPECT_EQ(flow, most == 2 ? "<>" : "<->");
    EXPECT_EQ(slices.source.tracks.back().process_name, slices.left_out);
    EXPECT_FALSE(ranks.contains(slices.source.tracks.back().process));
    return ranks;
  };
  EXPECT_EQ(shown(2), (std::set<std::uint32_t>{0, 4}));
  EXPECT_EQ(shown(3), (std::set<std::uint32_t>{0, 1, 4}));
}

TEST(TimelineSlices, LastIterationOnly) {
  const Job job = four_ranks(3);
  const auto all = all_of(timeline_slices(job.played(), {}));
  const auto last = all_of(timeline_slices(job.played(), {.last_iteration_only = true}));
  const auto count = [](const std::vector<Kept>& v) {
    return std::ranges::count_if(v, [](const Kept& s) { return s.name == "reduce"; });
  };
  EXPECT_EQ(count(all), 12);
  EXPECT_EQ(count(last), 4);
}

std::vector<traces::CounterSample> samples_of(const TimelineSlices& slices, std::uint32_t counter) {
  std::vector<traces::CounterSample> out;
  slices.source.for_each_sample([&](const traces::CounterSample& s) {
    if (s.counter == counter) out.push_back(s);
  });
  return out;
}

/// The reduce of 4096 bytes runs from 155 to 215 ps on all ranks: 4096 B x 2 x 3/4 / 60 ps = 102.4 B/ps = 102400 GB/s.
/// The gather of 512 bytes within pairs takes 30 ps after it: 512 x 1/2 / 30 = 8.533 B/ps.
TEST(TimelineCounters, LinkUseIsTheBusBandwidthOfTransfers) {
  const Job job = four_ranks(1);
  const auto slices = timeline_slices(job.played(), {});
  ASSERT_EQ(slices.source.counters.size(), 4u);
  EXPECT_EQ(slices.source.counters[2].process, 2u);
  const auto seen = samples_of(slices, 2);
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_EQ(seen[0].value, 0);
  EXPECT_EQ(seen[1].time_ps, 155);
  EXPECT_NEAR(seen[1].value, 102400, 1e-6);
  EXPECT_EQ(seen[2].time_ps, 215);
  EXPECT_NEAR(seen[2].value, 8533.3333, 1e-3);
  EXPECT_EQ(seen[3].time_ps, 245);
  EXPECT_NEAR(seen[3].value, 0, 1e-6);
}

/// 10 GB of which 4 are activations: forward kernels of 30 and 10 ps take 3 and 1 GB, a backward one gives all back.
TEST(TimelineCounters, ActivationsGrowForwardAndShrinkBackward) {
  JobBuilder b(1);
  const TaskId first = b.compute("a", 30), second = b.compute("b", 10, {first});
  b.compute("a.grad", 40, {second}, graph::Gemm{1, 10, 10, 10}, graph::Phase::backward);
  const Job job = b.play(1);
  TimelineOptions options;
  options.memory_per_rank = {10'000'000'000};
  options.activations_per_rank = {4'000'000'000};
  std::vector<double> values;
  std::vector<std::int64_t> times;
  for (const traces::CounterSample& s : samples_of(timeline_slices(job.played(), options), 1)) {
    values.push_back(s.value);
    times.push_back(s.time_ps);
  }
  EXPECT_EQ(times, (std::vector<std::int64_t>{0, 30, 40, 80}));
  ASSERT_EQ(values.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(values[i], (std::array{6.0, 9.0, 10.0, 6.0}[i]), 1e-9);
}

/// Both iterations have the same steps, so the last one is half of a rank's slices.
TEST(TimelineSlices, ABoundOnSlicesCutsRanksThenIterations) {
  const Job job = four_ranks(2);
  const auto all = timeline_slices(job.played(), {});
  const std::int64_t a_rank = all.slices / 4;
  EXPECT_LE(static_cast<std::int64_t>(all_of(all).size()), all.slices);
  const auto two = timeline_slices(job.played(), {.max_slices = 2 * a_rank + 1});
  EXPECT_EQ(two.slices, 2 * a_rank);
  EXPECT_EQ(two.left_out, "ranks 2 to 3 are left out");
  const auto least = timeline_slices(job.played(), {.max_slices = 1});
  EXPECT_EQ(least.slices, a_rank / 2);  // one rank, last iteration
  EXPECT_EQ(least.left_out, "ranks 1 to 3 are left out");
}

}  // namespace
}  // namespace distsim::report
