#include "sim/replay/results/replay_slices.hpp"

#include <gtest/gtest.h>

#include <map>

#include "trace_builder.hpp"

namespace distsim::replay {
namespace {

struct Kept {
  std::uint32_t track;
  std::string name, category;
  double start, end;
  std::uint64_t flow;
  traces::FlowPlace place;
};

std::vector<Kept> all_of(const traces::SliceSource& source) {
  std::vector<Kept> out;
  source.for_each([&](const traces::Slice& s) {
    out.push_back({s.track, std::string(s.name), std::string(s.category), s.start_ps * 1e-6,
                   (s.start_ps + s.duration_ps) * 1e-6, s.flow, s.flow_place});
  });
  return out;
}

/// Two ranks, a collective that waits for rank 1 from 10 to 100 and ends at 160.
traces::TraceJob two_ranks_of_slices() {
  traces::TraceJob job;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    RankBuilder b(job, rank);
    const auto host = b.thread(), stream = b.stream();
    b.op(host, "backward", 0, 60);
    const auto reduce =
        b.launch(host, rank == 0 ? 2 : 90, stream, "ncclAllReduce", rank == 0 ? 10 : 100, rank == 0 ? 150 : 60);
    b.collective(reduce, graph::CollectiveKind::all_reduce, 1 << 20);
    b.finish();
  }
  match_collectives_in_order(job);
  return job;
}

TEST(ReplaySlices, MeasuredOnesShowTheTraceWithLaunchesAsFlows) {
  const Replay r(two_ranks_of_slices());
  const traces::SliceSource source = measured_slices(r.graph);
  ASSERT_EQ(source.tracks.size(), 4u);
  EXPECT_EQ(source.tracks[0].process_name, "rank 0");
  EXPECT_EQ(source.tracks[1].thread_name, "GPU 0 stream 7");
  std::map<std::pair<std::uint32_t, std::string>, Kept> by;
  for (const Kept& k : all_of(source)) by[{k.track, k.name}] = k;
  EXPECT_EQ(by.size(), 6u);
  const Kept& kernel = by.at({1, "ncclAllReduce"});
  const Kept& call = by.at({0, std::string(traces::name_of(traces::RuntimeCall::launch_kernel))});
  EXPECT_EQ(kernel.start, 10);
  EXPECT_EQ(kernel.end, 160);
  EXPECT_EQ(kernel.category, "communication");
  EXPECT_NE(kernel.flow, 0u);
  EXPECT_EQ(kernel.flow, call.flow);
  EXPECT_EQ(call.place, traces::FlowPlace::first);
  EXPECT_EQ(kernel.place, traces::FlowPlace::last);
  EXPECT_NE(kernel.flow, by.at({3, "ncclAllReduce"}).flow);
}

TEST(ReplaySlices, PlayedOnesShowWaitingApartAndJoinMembers) {
  const Replay r(two_ranks_of_slices());
  std::vector<Kept> waiting, transfers;
  for (const Kept& k : all_of(played_slices(r.graph, r.times))) {
    if (k.category == "waiting") waiting.push_back(k);
    if (k.category == "communication") transfers.push_back(k);
  }
  ASSERT_EQ(waiting.size(), 1u);  // rank 1 did not wait
  EXPECT_EQ(waiting[0].start, 10);
  EXPECT_EQ(waiting[0].end, 100);
  ASSERT_EQ(transfers.size(), 2u);
  EXPECT_EQ(transfers[0].start, 100);
  EXPECT_EQ(transfers[0].flow, transfers[1].flow);
  EXPECT_EQ(transfers[0].place, traces::FlowPlace::first);
  EXPECT_EQ(transfers[1].place, traces::FlowPlace::last);
}

/// A record that sticks out of the one around it is cut, so that slices nest.
TEST(ReplaySlices, HostSlicesNest) {
  traces::TraceJob job;
  RankBuilder b(job, 0);
  const auto host = b.thread(), stream = b.stream();
  b.op(host, "outer", 0, 50);
  b.op(host, "sticks out", 40, 20);
  b.op(host, "after", 55, 5);
  b.kernel(stream, "k", 0, 1);
  b.finish();
  const Replay r(std::move(job));
  const auto slices = all_of(measured_slices(r.graph));
  EXPECT_EQ(slices[1].end, 50);
  EXPECT_EQ(slices[2].start, 55);
}

}  // namespace
}  // namespace distsim::replay
