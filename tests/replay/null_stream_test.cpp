// The NULL stream and the blocking streams of its context wait for each other, whether or not it was seen.
#include "sim/replay/build/null_stream.hpp"

#include <algorithm>

#include "trace_builder.hpp"

namespace distsim::replay {
namespace {

using traces::StreamKind;
using Waits = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

Waits waits_of(const traces::TraceRank& rank) {
  Waits out;
  for (const StreamWait& w : null_stream_waits(rank, DeviceOrder(rank))) out.emplace_back(w.waiter, w.on);
  std::ranges::sort(out);
  return out;
}

/// `first` of the copy stream ended at 60, long before the NULL stream's kernel began: the wait did not bind. It does
/// where `first` takes 500 us, and what follows on the copy stream waits for the NULL stream's kernel in turn.
struct Program {
  traces::TraceJob job;
  RankBuilder b{job, 0};
  explicit Program(StreamKind other) {
    const auto host = b.thread(), null = b.stream(), copies = b.stream();
    b.rank().streams[null].kind = StreamKind::null_stream;
    b.rank().streams[copies].kind = other;
    b.launch(host, 0, copies, "first", 10, 50);
    b.launch(host, 200, null, "update", 210, 20);
    b.launch(host, 400, copies, "second", 410, 50);
    b.launch(host, 420, copies, "third", 461, 50);
    b.finish();
  }
};

TEST(NullStream, WaitsForBlockingStreamsAndTheyForIt) {
  Program p(StreamKind::blocking);
  EXPECT_EQ(waits_of(p.job.ranks[0]), (Waits{{1, 0}, {2, 1}})) << "the third follows the second on its stream";
  Replay r(std::move(p.job));
  r.expect_as_measured();
  r.set_us(0, 0, 500);
  r.run();
  EXPECT_DOUBLE_EQ(r.start_us(0, 1), 511);
  r.set_us(0, 0, 50);
  r.set_us(0, 1, 500);
  r.run();
  EXPECT_DOUBLE_EQ(r.start_us(0, 2), 711);
}

TEST(NullStream, LeavesNonBlockingAndUnknownStreamsAlone) {
  for (const StreamKind kind : {StreamKind::non_blocking, StreamKind::unknown}) {
    Program p(kind);
    EXPECT_EQ(waits_of(p.job.ranks[0]), Waits{});
    Replay r(std::move(p.job));
    r.set_us(0, 0, 500);
    r.run();
    EXPECT_DOUBLE_EQ(r.start_us(0, 1), 210);
  }
}

TEST(NullStream, IsOneOfItsContextAndDevice) {
  Program p(StreamKind::blocking);
  p.job.ranks[0].streams[1].context = 2;
  EXPECT_EQ(waits_of(p.job.ranks[0]), Waits{});
  p.job.ranks[0].streams[1].context = 0;
  p.job.ranks[0].streams[1].device = 1;
  EXPECT_EQ(waits_of(p.job.ranks[0]), Waits{});
}

/// What contradicts the order (a stream that was flagged wrongly) is not made to wait.
TEST(NullStream, AWaitThatTheTimesContradictIsDropped) {
  traces::TraceJob job;
  RankBuilder b(job, 0);
  const auto host = b.thread(), null = b.stream(), other = b.stream();
  b.rank().streams[null].kind = StreamKind::null_stream;
  b.rank().streams[other].kind = StreamKind::blocking;
  b.launch(host, 0, other, "long", 10, 500);
  b.launch(host, 20, null, "beside", 30, 50);
  b.finish();
  Replay r(std::move(job));
  r.expect_as_measured();
}

}  // namespace
}  // namespace distsim::replay
