// What limits an iteration, on schedules worked out on paper.
#include "sim/report/limits.hpp"

#include <gtest/gtest.h>

#include "job.hpp"

namespace distsim::report {
namespace {

constexpr Duration of_ps(std::int64_t v) { return Duration::picoseconds(v); }

std::string limiter(const std::optional<Limiter>& limiter) { return limiter ? text_of(*limiter) : "nothing"; }

/// Launches of 100 for two kernels of 10 and a collective of `transfer` after the second: the host takes 300 an
/// iteration. The last kernels of the iteration end long after the last launch, and most of that is the collective.
Job host_bound(std::int64_t transfer) {
  JobBuilder b(2);
  b.launch(100);
  b.compute("a", 10);
  const TaskId second = b.compute("b", 10);
  b.collective("reduce", transfer, 1000, {second});
  return b.play(3);
}

TEST(Limits, TheHostLoopWhateverTheNetworkDoes) {
  for (const std::int64_t transfer : {290, 145, 30}) {
    const Report r = host_bound(transfer).report();
    EXPECT_EQ(r.iteration, of_ps(300));
    EXPECT_TRUE(r.cycle_closed);
    EXPECT_EQ(limiter(r.limits.limited_by), "host loop");
    EXPECT_EQ(limiter(r.limits.runner_up), "network");
    EXPECT_EQ(r.limits.slack, of_ps(300 - transfer));
    for (const CriticalStep& s : r.critical_path) EXPECT_TRUE(s.on_host()) << s.name;
    ASSERT_EQ(r.collectives.size(), 1u);
    EXPECT_EQ(r.collectives[0].exposed, Duration());
    EXPECT_EQ(r.exposed_comm, Duration());
    EXPECT_EQ(r.host_bound, of_ps(280));
    EXPECT_EQ(r.compute, of_ps(20));
  }
}

/// The loader prepares samples for 500 beside an iteration of 120.
TEST(Limits, TheInputStream) {
  JobBuilder b(2);
  const TaskId samples =
      b.compute("input.prepare", 500, {}, graph::HostWork{}, graph::Phase::input, graph::Stream::copy);
  const TaskId work = b.compute("work", 100, {samples});
  b.collective("reduce", 20, 1000, {work});
  const Report r = b.play(3).report();
  EXPECT_EQ(r.iteration, of_ps(500));
  EXPECT_EQ(limiter(r.limits.limited_by), "input");
  EXPECT_EQ(limiter(r.limits.runner_up), "compute");
  EXPECT_EQ(r.limits.slack, of_ps(400));
  ASSERT_EQ(r.critical_path.size(), 1u);
  EXPECT_EQ(r.critical_path[0].name, "input.prepare");
  EXPECT_EQ(r.exposed_comm, Duration());
}

Job network_bound(std::int64_t transfer) {
  JobBuilder b(2);
  b.launch(10);
  const TaskId work = b.compute("work", 100);
  const TaskId sum = b.collective("reduce", transfer, 1000, {work});
  b.compute("update", 20, {sum});
  return b.play(3);
}

TEST(Limits, TheNetworkBySoMuchAsItSaves) {
  const Report whole = network_bound(300).report(), half = network_bound(150).report();
  EXPECT_EQ(whole.iteration, of_ps(420));
  EXPECT_EQ(limiter(whole.limits.limited_by), "network");
  EXPECT_EQ(limiter(whole.limits.runner_up), "compute");
  EXPECT_EQ(whole.limits.slack, of_ps(300));
  EXPECT_EQ(whole.exposed_comm, of_ps(300));
  EXPECT_EQ(whole.collectives.at(0).exposed, of_ps(300));
  EXPECT_EQ(whole.iteration - half.iteration, of_ps(150));
}

/// Of two kernels that take turns with each other the longer one decides; which of them wait for memory is their costs'
/// word.
TEST(Limits, MemoryWhereKernelsWaitForIt) {
  JobBuilder b(1);
  b.compute("product", 100);
  b.compute("sum", 150, {}, graph::Elementwise{100});
  Job job = b.play(3);
  for (std::uint32_t op = 0; op < job.costed.graph.ops.size(); ++op) {
    if (std::holds_alternative<graph::Elementwise>(job.costed.graph.ops[OpId(op)]))
      job.costed.costs[OpId(op)].bound = graph::Bound::memory;
  }
  const Report r = job.report();
  EXPECT_EQ(r.iteration, of_ps(250));
  EXPECT_EQ(limiter(r.limits.limited_by), "memory");
  EXPECT_EQ(r.limits[Resource::memory].on_cycle, of_ps(150));
  EXPECT_EQ(r.limits[Resource::compute].on_cycle, of_ps(100));
  EXPECT_EQ(limiter(r.limits.runner_up), "compute");
  EXPECT_EQ(r.limits.slack, of_ps(150));
}

Job one_slow_rank(std::int64_t slow) {
  JobBuilder b(4);
  const TaskId work = b.compute_per_rank("work", {100, 100, slow, 100});
  const TaskId sum = b.collective("reduce", 60, 1000, {work});
  b.compute("update", 10, {sum});
  return b.play(3);
}

/// Rank 2 takes 220, the others 100, the mean is 130: it takes 90 of the 290 longer. Evened out, the iteration takes
/// 200.
TEST(Limits, ARankThatAllWaitFor) {
  const Report r = one_slow_rank(220).report();
  EXPECT_EQ(r.iteration, of_ps(290));
  EXPECT_EQ(limiter(r.limits.limited_by), "waiting for rank 2");
  EXPECT_EQ(limiter(r.limits.runner_up), "compute");
  EXPECT_EQ(r.limits.slack, of_ps(90));
  EXPECT_EQ(r.limits[Resource::compute].on_cycle, of_ps(230));
}

/// A rank that is a tenth slower sets the cycle too, but mending it would not help much.
TEST(Limits, ARankThatIsHardlySlowerIsCompute) {
  const Report r = one_slow_rank(110).report();
  EXPECT_EQ(limiter(r.limits.limited_by), "compute");
  EXPECT_EQ(limiter(r.limits.runner_up), "network");
  EXPECT_EQ(r.limits[Resource::waiting_for_rank].on_cycle, of_ps(8));  // 110 - 102
}

TEST(Limits, NothingWhereNothingTakesTime) {
  JobBuilder b(2);
  b.compute("a", 0);
  const Report r = b.play(3).report();
  EXPECT_EQ(limiter(r.limits.limited_by), "nothing");
  EXPECT_EQ(limiter(r.limits.runner_up), "nothing");
}

TEST(Limits, NoRunnerUpWhereNothingElseTakesTime) {
  JobBuilder b(1);
  b.compute("a", 10);
  const Report r = b.play(3).report();
  EXPECT_EQ(limiter(r.limits.limited_by), "compute");
  EXPECT_EQ(limiter(r.limits.runner_up), "nothing");
}

/// The cycle begins with the first step of the iteration, wherever in the window that is: 0 to 100 of each period is the
/// tail of the iteration before.
TEST(CriticalCycle, BeginsWithTheIteration) {
  JobBuilder b(2);
  const TaskId forward = b.compute("forward", 100);
  const TaskId reduce = b.collective("reduce", 60, 1000, {forward});
  b.compute("update", 20, {reduce});
  const Report r = b.play(3).report();
  ASSERT_EQ(r.critical_path.size(), 3u);
  EXPECT_EQ(r.critical_path[0].name, "forward");
  EXPECT_EQ(r.critical_path[2].name, "update");
  EXPECT_EQ(r.cycle_start, Duration());
}

/// One iteration has no next one: the path through it, from its start.
TEST(CriticalCycle, OneIterationIsAPath) {
  const Report r = [] {
    JobBuilder b(1);
    b.launch(10);
    b.compute("a", 100);
    return b.play(1).report();
  }();
  EXPECT_FALSE(r.cycle_closed);
  EXPECT_EQ(r.iteration, of_ps(110));
  ASSERT_EQ(r.critical_path.size(), 2u);
  EXPECT_TRUE(r.critical_path[0].on_host());
}

}  // namespace
}  // namespace distsim::report
