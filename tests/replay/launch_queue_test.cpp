// Launches that the device's full queue holds back: what they last is no work of the host.
#include "sim/replay/build/launch_queue.hpp"

#include <algorithm>
#include <deque>

#include "trace_builder.hpp"

namespace distsim::replay {
namespace {

constexpr std::uint32_t kKernels = 3000;

/// A host that needs 15 us between launches and 5 us for each, a device that needs 100 us for each kernel, and a queue with
/// room for `room` of them: from then on a launch returns 5 us after the device has begun one of the queue.
struct QueuedLaunches {
  traces::TraceJob job;
  double host_end = 0;

  explicit QueuedLaunches(std::size_t room, traces::RuntimeCall call = traces::RuntimeCall::launch_kernel) {
    RankBuilder b(job, 0);
    const auto host = b.thread(), stream = b.stream();
    std::deque<double> queue;
    double now = 0, device = 0;
    for (std::uint32_t k = 0; k < kKernels; ++k) {
      const double begin = now + 15;
      while (!queue.empty() && queue.front() <= begin) queue.pop_front();
      double returns = begin + 5;
      if (queue.size() >= room) {
        returns = queue.front() + 5;
        queue.pop_front();
      }
      const double starts = std::max(device, returns + 1);
      b.kernel(stream, "kernel", starts, 100, b.call(host, call, begin, returns - begin));
      queue.push_back(starts);
      device = starts + 100;
      now = returns;
    }
    host_end = now;
    b.finish();
  }
};

void set_all_us(Replay& r, double us) {
  for (std::uint32_t k = 0; k < kKernels; ++k) r.set_us(0, k, us);
  r.run();
}

class LaunchQueueOf : public testing::TestWithParam<traces::RuntimeCall> {};

/// With kernels of 10 us the queue never fills, and the host sets the pace: 20 us a kernel.
TEST_P(LaunchQueueOf, AFullQueueIsNoWorkOfTheHost) {
  Replay r(QueuedLaunches(1024, GetParam()).job);
  r.expect_as_measured();
  EXPECT_GT(r.graph.counts.room_waits, 1000u);
  EXPECT_EQ(r.graph.counts.unseen_room_waits, 0u);
  set_all_us(r, 10);
  EXPECT_NEAR(r.start_us(0, kKernels - 1), 20.0 * kKernels, 40);
}

/// As long as the device is the slower one, it sets the pace, whatever the host does.
TEST_P(LaunchQueueOf, TheDeviceStillSetsThePace) {
  for (const double us : {50.0, 100.0, 200.0}) {
    Replay r(QueuedLaunches(1024, GetParam()).job);
    set_all_us(r, us);
    EXPECT_NEAR(r.start_us(0, kKernels - 1), us * (kKernels - 1), 40);
  }
}

INSTANTIATE_TEST_SUITE_P(Calls, LaunchQueueOf,
                         testing::Values(traces::RuntimeCall::launch_kernel, traces::RuntimeCall::memcpy,
                                         traces::RuntimeCall::memset, traces::RuntimeCall::launch_graph),
                         [](const auto& info) { return std::string(traces::name_of(info.param)); });

/// A law: what a kernel costs less makes no later work later, nor what the host costs less.
TEST(LaunchQueue, LessWorkEndsNoLater) {
  double before = 0;
  for (const double us : {1.0, 5.0, 19.0, 21.0, 60.0, 99.0, 100.0, 140.0}) {
    Replay r(QueuedLaunches(1024).job);
    set_all_us(r, us);
    EXPECT_GE(r.start_us(0, kKernels - 1), before);
    before = r.start_us(0, kKernels - 1);
  }
}

/// Host work that is four times as long is hidden while the device takes longer, and no longer when it does not.
TEST(LaunchQueue, ASlowerHostIsHiddenByTheDevice) {
  for (const double factor : {1.0, 4.0, 8.0}) {
    Replay r(QueuedLaunches(1024).job);
    for (std::uint32_t n = 0; n < r.graph.nodes.size(); ++n) {
      const ReplayRole role = r.graph.nodes[n].role;
      if (role == ReplayRole::host_work || role == ReplayRole::host_call)
        r.costs[n] = static_cast<std::int64_t>(static_cast<double>(r.costs[n]) * factor);
    }
    r.run();
    EXPECT_NEAR(r.start_us(0, kKernels - 1), std::max(100.0, 20 * factor) * kKernels, 250);
  }
}

/// The same lengths with few kernels in the queue are what the host needs.
TEST(LaunchQueue, LongCallsWithAnEmptyQueueAreWork) {
  Replay r(QueuedLaunches(100).job);
  EXPECT_EQ(r.graph.counts.room_waits, 0u);
  r.expect_as_measured();
}

/// Nothing ends within the last call, which is long for another reason.
TEST(LaunchQueue, ACallWithoutAnEndIsNamedAndKept) {
  traces::TraceJob job;
  RankBuilder b(job, 0);
  const auto host = b.thread(), stream = b.stream();
  b.kernel(stream, "long", 10, 1e6, b.call(host, traces::RuntimeCall::launch_kernel, 0, 5));
  for (std::uint32_t k = 1; k < 1100; ++k) {
    const auto call = b.call(host, traces::RuntimeCall::launch_kernel, 10.0 * k, k == 1099 ? 500 : 5);
    b.kernel(stream, "short", 1e6 + 10 + 2.0 * k, 1, call);
  }
  b.finish();
  Replay r(std::move(job));
  r.expect_as_measured();
  EXPECT_EQ(r.graph.counts.room_waits, 0u);
  EXPECT_EQ(r.graph.counts.unseen_room_waits, 1u);
}

/// A copy that the host waits for ends within its call: that wait is its own, not one for room.
TEST(LaunchQueue, ABlockingCopyWaitsForItself) {
  traces::TraceJob job = QueuedLaunches(5000).job;
  traces::TraceRank& rank = job.ranks[0];
  traces::HostRecord& last = rank.host_records.back();
  last.call = traces::RuntimeCall::memcpy;
  last.duration_ns = rank.device_records.back().end_ns() + 7'000 - last.start_ns;
  Replay r(std::move(job));
  r.expect_as_measured();
  EXPECT_EQ(r.graph.counts.room_waits, 0u);
  EXPECT_EQ(r.graph.counts.host_waits, 1u);
}

}  // namespace
}  // namespace distsim::replay
