#include "sim/replay/results/replay_counters.hpp"

#include <gtest/gtest.h>

#include "sim/replay/results/replay_slices.hpp"
#include "trace_builder.hpp"
#include "traces/timeline/timeline_writer.hpp"

namespace distsim::replay {
namespace {

/// Samples of one counter as (us, value).
std::vector<std::pair<double, double>> samples(const traces::SliceSource& source, std::uint32_t process,
                                               const std::string& name) {
  std::vector<std::pair<double, double>> out;
  source.for_each_sample([&](const traces::CounterSample& s) {
    const traces::CounterTrack& track = source.counters.at(s.counter);
    if (track.process == process && track.name == name)
      out.emplace_back(static_cast<double>(s.time_ps) * 1e-6, s.value);
  });
  return out;
}

/// Two ranks all-reduce 8 MB: rank 0 waits from 10 on, rank 1 comes at 100, both end at 200. Before, a copy of 1 MB to
/// rank 0 from 2 to 7.
traces::TraceJob two_ranks_with_counters() {
  traces::TraceJob job;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    RankBuilder b(job, rank);
    const auto host = b.thread(), stream = b.stream();
    if (rank == 0) {
      const auto copy = b.kernel(stream, "Memcpy HtoD", 2, 5, b.call(host, traces::RuntimeCall::memcpy, 0, 1));
      traces::DeviceRecord& d = b.rank().device_records[copy];
      d.kind = traces::DeviceRecordKind::memcpy;
      d.direction = traces::CopyDirection::host_to_device;
      d.bytes = 1'000'000;
      b.rank().memory = {{RankBuilder::ns(1), 3'000'000'000, 0, 0}, {RankBuilder::ns(4), 1'000'000'000, 0, 0}};
    }
    const auto reduce =
        b.launch(host, rank == 0 ? 4 : 90, stream, "ncclAllReduce", rank == 0 ? 10 : 100, rank == 0 ? 190 : 100);
    b.collective(reduce, graph::CollectiveKind::all_reduce, 8'000'000);
    b.finish();
  }
  match_collectives_in_order(job);
  job.world_size = 2;
  return job;
}

/// Bus bandwidth of an all-reduce over two: bytes / time * 2 * (2 - 1) / 2: 8 MB in 100 us are 80 GB/s. Waiting does
/// not count.
TEST(ReplayCounters, LinkUseIsThatOfTheTransfer) {
  const Replay r(two_ranks_with_counters());
  for (const traces::SliceSource& source : {measured_slices(r.graph), played_slices(r.graph, r.times)}) {
    for (const std::uint32_t rank : {0u, 1u}) {
      const auto s = samples(source, rank, "link use");
      ASSERT_EQ(s.size(), 3u);
      EXPECT_EQ(s[0], std::pair(0.0, 0.0));
      EXPECT_DOUBLE_EQ(s[1].first, 100);
      EXPECT_NEAR(s[1].second, 80, 1e-6);
      EXPECT_DOUBLE_EQ(s[2].first, 200);
      EXPECT_NEAR(s[2].second, 0, 1e-6);
    }
    EXPECT_NEAR(samples(source, 0, "copies").at(1).second, 200, 1e-6);  // 1 MB in 5 us
    EXPECT_TRUE(samples(source, 1, "copies").empty());
    const auto memory = samples(source, 0, "memory");
    ASSERT_EQ(memory.size(), 2u);
    EXPECT_DOUBLE_EQ(memory[0].second, 3);
    EXPECT_DOUBLE_EQ(memory[1].first, 4);
  }
}

/// The transfer twice as long: half the rate, until 300. The measured counter stays.
TEST(ReplayCounters, PlayedOnesFollowThePlay) {
  Replay r(two_ranks_with_counters());
  r.set_us(0, 1, 200);
  r.set_us(1, 0, 200);
  r.run();
  const auto played = samples(played_slices(r.graph, r.times), 1, "link use");
  EXPECT_NEAR(played.at(1).second, 40, 1e-6);
  EXPECT_DOUBLE_EQ(played.at(2).first, 300);
  EXPECT_NEAR(samples(measured_slices(r.graph), 1, "link use").at(1).second, 80, 1e-6);
}

/// An allocation halfway through host work that takes twice as long comes halfway through it still.
TEST(ReplayCounters, MemoryKeepsItsPlaceInTheHostWork) {
  traces::TraceJob job;
  RankBuilder b(job, 0);
  const auto host = b.thread(), stream = b.stream();
  b.launch(host, 0, stream, "first", 10, 5);
  b.launch(host, 105, stream, "second", 115, 5);  // 100 us of host work before
  b.rank().memory = {{RankBuilder::ns(55), 1'000'000'000, 0, 0}};
  b.finish();
  Replay r(std::move(job));
  for (std::uint32_t n = 0; n < r.graph.nodes.size(); ++n) {
    if (r.graph.nodes[n].role == ReplayRole::host_work) r.costs[n] *= 2;
  }
  r.run();
  EXPECT_DOUBLE_EQ(samples(measured_slices(r.graph), 0, "memory").at(0).first, 55);
  EXPECT_DOUBLE_EQ(samples(played_slices(r.graph, r.times), 0, "memory").at(0).first, 105);
}

/// Measured and played counters share one file, each with its own process.
TEST(ReplayCounters, SideBySide) {
  const Replay r(two_ranks_with_counters());
  const traces::SliceSource both = traces::side_by_side(
      {{"measured", measured_slices(r.graph), 0}, {"replayed", played_slices(r.graph, r.times), 0}});
  EXPECT_EQ(both.counters.size(), 8u);
  EXPECT_EQ(samples(both, 0, "link use").size(), 3u);
  EXPECT_EQ(samples(both, 2, "link use").size(), 3u);
}

/// Sizes that were not recorded give no counter.
TEST(ReplayCounters, NothingKnownNothingShown) {
  traces::TraceJob job;
  RankBuilder b(job, 0);
  const auto host = b.thread(), stream = b.stream();
  b.collective(b.launch(host, 0, stream, "ncclAllReduce", 10, 5), graph::CollectiveKind::all_reduce, -1);
  b.finish();
  const Replay r(std::move(job));
  EXPECT_TRUE(measured_slices(r.graph).counters.empty());
}

}  // namespace
}  // namespace distsim::replay
