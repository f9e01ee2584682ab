// Schedules worked out on paper.
#include <gtest/gtest.h>

#include <cmath>

#include "job.hpp"

namespace distsim::report {
namespace {

constexpr Duration ps(std::int64_t v) { return Duration::picoseconds(v); }

/// compute: a 0-100, b 100-130; comm: r 100-150. b hides 30 of r.
TEST(Analyse, OneIterationEndsAtItsMakespan) {
  JobBuilder b(1);
  const TaskId a = b.compute("a", 100);
  b.collective("r", 50, 1000, {a});
  b.compute("b", 30);
  const Report r = b.play(1).report();
  EXPECT_EQ(r.iteration, ps(150));
  EXPECT_EQ(r.compute, ps(130));
  EXPECT_EQ(r.comm, ps(50));
  EXPECT_EQ(r.hidden_comm, ps(30));
  EXPECT_EQ(r.exposed_comm, ps(20));  // without r the iteration ends with b, at 130
  EXPECT_EQ(r.host_bound, ps(0));
  EXPECT_EQ(r.idle, ps(0));
  ASSERT_EQ(r.critical_path.size(), 2u);
  EXPECT_EQ(r.critical_path[0].name, "a");
  EXPECT_EQ(r.critical_path[0].time, ps(100));
  EXPECT_EQ(r.critical_path[1].name, "r");
  EXPECT_EQ(r.critical_path[1].time, ps(50));
  EXPECT_EQ(r.ranks.size(), 1u);
}

/// forward ends at 100 on rank 0 and 140 on rank 1, the all-reduce runs 140-200, the update 200-220, and so on every
/// 220. rank 0: compute 120, waits 40, transfers 60. rank 1: compute 160, transfers 60.
Job straggler() {
  JobBuilder b(2);
  const TaskId forward = b.compute_per_rank("forward", {100, 140});
  const TaskId reduce = b.collective("reduce", 60, 1'000'000, {forward});
  b.compute("update", 20, {reduce}, graph::Elementwise{100});
  return b.play(3);
}

TEST(Analyse, StragglerMakesTheOthersWait) {
  const Report r = straggler().report();
  EXPECT_EQ(r.iteration, ps(220));
  ASSERT_EQ(r.ranks.size(), 2u);
  EXPECT_EQ(r.ranks[0], (RankTime{ps(120), ps(60), ps(0), ps(60), ps(40), ps(0), ps(0)}));
  EXPECT_EQ(r.ranks[1], (RankTime{ps(160), ps(60), ps(0), ps(60), ps(0), ps(0), ps(0)}));
  EXPECT_EQ(r.compute, ps(140));
  EXPECT_EQ(r.exposed_comm, ps(60));
  EXPECT_EQ(r.waiting, ps(20));
  EXPECT_EQ(r.slowest_rank, 1u);
  EXPECT_EQ(r.fastest_rank, 0u);
  ASSERT_EQ(r.collectives.size(), 1u);
  EXPECT_EQ(r.collectives[0].total, ps(60));
  EXPECT_EQ(r.collectives[0].waiting, ps(20));
  EXPECT_EQ(r.collectives[0].exposed, ps(60));
}

TEST(Analyse, CriticalPathGoesThroughTheLastToArrive) {
  const Report r = straggler().report();
  ASSERT_EQ(r.critical_path.size(), 3u);
  EXPECT_EQ(r.critical_path[0].name, "forward");
  EXPECT_EQ(r.critical_path[0].rank, 1u);
  EXPECT_EQ(r.critical_path[0].start, ps(0));
  EXPECT_EQ(r.critical_path[0].time, ps(140));
  EXPECT_EQ(r.critical_path[1].name, "reduce");
  EXPECT_EQ(r.critical_path[1].kind, "all_reduce");
  EXPECT_EQ(r.critical_path[1].start, ps(140));
  EXPECT_EQ(r.critical_path[2].name, "update");
  EXPECT_EQ(r.critical_path[2].kind, "elementwise");
  EXPECT_EQ(r.critical_path[2].phase, graph::Phase::forward);
}

/// update takes 20 on rank 0 and 60 on rank 1, so rank 0 starts its next forward 40 before the period ends: 400-440 of
/// iteration 2 is before the window [440, 660] and counts as 620-660. rank 0: forward 440-500, waits 500-540,
/// transfers 540-600, update 600-620, forward 620-660.
TEST(Analyse, WorkBegunBeforeTheWindowIsFoldedIntoIt) {
  JobBuilder b(2);
  const TaskId forward = b.compute("forward", 100);
  const TaskId reduce = b.collective("reduce", 60, 1'000'000, {forward});
  b.compute_per_rank("update", {20, 60}, {reduce});
  const Report r = b.play(3).report();
  EXPECT_EQ(r.iteration, ps(220));
  EXPECT_EQ(r.ranks[0], (RankTime{ps(120), ps(60), ps(0), ps(60), ps(40), ps(0), ps(0)}));
  EXPECT_EQ(r.ranks[1], (RankTime{ps(160), ps(60), ps(0), ps(60), ps(0), ps(0), ps(0)}));
}

/// An overhead of 50 and three launches of 100 for kernels of 10: the host sets the pace, 350 an iteration, of which 30
/// are compute. The cycle is the host's own; the last kernel follows the last launch and holds nothing back.
TEST(Analyse, HostBound) {
  JobBuilder b(2);
  b.launch(100);
  b.compute("a", 10);
  b.compute("b", 10);
  b.compute("c", 10);
  const Report r = b.play(3, 50).report();
  EXPECT_EQ(r.iteration, ps(350));
  EXPECT_EQ(r.compute, ps(30));
  EXPECT_EQ(r.host_bound, ps(320));
  EXPECT_EQ(r.idle, ps(0));
  ASSERT_EQ(r.critical_path.size(), 1u);
  EXPECT_EQ(r.critical_path[0].name, "framework step .. c (4)");
  EXPECT_EQ(r.critical_path[0].kind, "host");
  EXPECT_EQ(r.critical_path[0].steps, 4u);
  EXPECT_EQ(r.critical_path[0].time, ps(350));
}

/// No collective ties the ranks together: rank 1 has done its work after 60 of 100 and nothing to wait for.
TEST(Analyse, IdleIsWhatIsLeft) {
  for (const std::uint16_t iterations : {1, 3}) {
    JobBuilder b(2);
    b.compute_per_rank("work", {100, 60});
    const Report r = b.play(iterations).report();
    EXPECT_EQ(r.iteration, ps(100));
    EXPECT_EQ(r.ranks[1], (RankTime{ps(60), ps(0), ps(0), ps(0), ps(0), ps(0), ps(40)}));
    EXPECT_EQ(r.idle, ps(20));
  }
}

/// Copies count as compute; what runs during compute is counted once.
TEST(Analyse, CopyBesideCompute) {
  JobBuilder b(1);
  b.compute("load", 40, {}, graph::Copy{graph::CopyKind::h2d, 1000}, graph::Phase::input, graph::Stream::copy);
  b.compute("work", 100);
  const Report r = b.play(1).report();
  EXPECT_EQ(r.compute, ps(100));
  ASSERT_EQ(r.ops.size(), 2u);
  EXPECT_EQ(r.ops[0].kind, "gemm");
  EXPECT_EQ(r.ops[1].kind, "copy");
  EXPECT_EQ(r.ops[1].time, ps(40));
}

/// Both streams carry a collective after a: comm 100-160, comm2 100-180. Without the first nothing changes, without the
/// second the first still ends at 160, without both a ends at 100.
TEST(Analyse, CollectivesCanHideEachOther) {
  JobBuilder b(2);
  const TaskId a = b.compute("a", 100);
  b.collective("first", 60, 10, {a});
  b.collective("second", 80, 10, {a}, graph::CollectiveKind::all_to_all, graph::Stream::comm.lane(1));
  const Report r = b.play(1).report();
  EXPECT_EQ(r.comm, ps(80));
  EXPECT_EQ(r.exposed_comm, ps(80));
  ASSERT_EQ(r.collectives.size(), 2u);
  EXPECT_EQ(r.collectives[0].name, "second");
  EXPECT_EQ(r.collectives[0].exposed, ps(20));
  EXPECT_EQ(r.collectives[1].exposed, ps(0));
}

/// Rank 0 arrives in reduce at 100 and waits for rank 1 until 140. Without communication both still meet at 140, and a
/// copy runs 100-110: rank 0 waits 110-140, for reduce, whose step came first.
TEST(Analyse, WaitingIsWhatImbalanceCosts) {
  JobBuilder b(2);
  const TaskId a = b.compute("a", 100);
  const TaskId first = b.compute_per_rank("first", {0, 40}, {a});
  b.collective("reduce", 60, 10, {first});
  b.collective("exchange", 30, 10, {a}, graph::CollectiveKind::all_to_all, graph::Stream::comm.lane(1));
  b.compute("copy", 10, {a}, graph::Copy{graph::CopyKind::h2d, 10}, graph::Phase::forward, graph::Stream::copy);
  const Report r = b.play(1).report();
  EXPECT_EQ(r.iteration, ps(200));
  // comm of rank 0: exchange 100-130, of which 10 under the copy, reduce 140-200
  EXPECT_EQ(r.ranks[0], (RankTime{ps(110), ps(90), ps(10), ps(60), ps(30), ps(0), ps(0)}));
  EXPECT_EQ(r.ranks[1], (RankTime{ps(140), ps(90), ps(30), ps(60), ps(0), ps(0), ps(0)}));
  ASSERT_EQ(r.collectives.size(), 2u);
  EXPECT_EQ(r.collectives[0].name, "reduce");
  EXPECT_EQ(r.collectives[0].exposed, ps(60));
  EXPECT_EQ(r.collectives[0].waiting, ps(15));
  EXPECT_EQ(r.collectives[1].exposed, ps(0));
  EXPECT_EQ(r.collectives[1].waiting, ps(0));
}

/// gemm 10x10x10 is 2000 flop. Ranks 0 and 1 run 2000 and 2200 flop in 100 and 300 ps: 4200 flop / 400 ps = 10.5
/// TFLOP/s. Rank 2 is absent.
TEST(Analyse, OpTableIsAMeanOverRanks) {
  JobBuilder b(3);
  b.compute_per_rank("work", {100, 300, 0});
  const Report r = b.play(1).report();
  ASSERT_EQ(r.ops.size(), 1u);
  EXPECT_EQ(r.ops[0].time, ps(133));  // 400 / 3
  EXPECT_EQ(r.ops[0].kernels, 1u);    // 2 of 3 ranks, rounded
  EXPECT_NEAR(r.ops[0].tflops, 10.5, 1e-12);
}

/// 2 of 12 buckets of 1000 bytes in 10 ps each; the sizes add up and busbw is that of all calls: 2000 B / 20 ps x 2 x
/// 3/4.
TEST(Analyse, BucketsAreOneRow) {
  JobBuilder b(4);
  b.cost(0, 0, graph::Basis::measured, "curve");
  const TaskId first = b.collective("grad bucket 0", 10, 1000);
  b.cost(0, 0, graph::Basis::extrapolated, "beyond the curve");
  b.collective("grad bucket 1", 10, 1000, {first});
  const Report r = b.play(1).report();
  ASSERT_EQ(r.collectives.size(), 1u);
  const CollectiveTime& c = r.collectives[0];
  EXPECT_EQ(c.name, "grad bucket");
  EXPECT_EQ(c.calls, 2u);
  EXPECT_EQ(c.bytes, 2000);
  EXPECT_EQ(c.group_size, 4u);
  EXPECT_NEAR(c.busbw, 2000 / 20e-12 * 1.5, 1);
  EXPECT_EQ(c.basis, graph::Basis::extrapolated);
  EXPECT_EQ(c.source, "beyond the curve");
}

/// Rank 1 moves 3000 bytes one way, more than any rank moves the other way: as an even exchange in which each of 4
/// ranks has a buffer of 4000 and keeps 1000.
TEST(Analyse, AnUnevenExchangeHasTheSizeOfItsBusiestEnd) {
  for (const bool swapped : {false, true}) {
    JobBuilder b(4);
    graph::Collective c;
    c.kind = graph::CollectiveKind::all_to_all_v;
    c.send_bytes = {1000, 1000, 1000, 600};
    c.recv_bytes = {200, 3000, 200, 200};
    if (swapped) std::swap(c.send_bytes, c.recv_bytes);
    c.bytes = 1000;
    b.collective("exchange", 10, c);
    const Report r = b.play(1).report();
    ASSERT_EQ(r.collectives.size(), 1u);
    EXPECT_EQ(r.collectives[0].bytes, 4000);                // 3000 x 4/3
    EXPECT_NEAR(r.collectives[0].busbw, 3000 / 10e-12, 1);  // of which 3/4 cross the bus
  }
}

/// Two gemms of one basis are partly off together (10 and 20 ns, each for itself as well), the collective and the host
/// for themselves (8 and 5 ns); above twice that but for the host's.
TEST(Analyse, ErrorsOfOneModelAddUpThoseOfSeveralDoNot) {
  JobBuilder b(2);
  b.cost(0.1, 0.2, graph::Basis::analytic);
  b.launch(20'000);
  const TaskId a = b.compute("a", 100'000);
  b.launch(0);
  const TaskId c = b.compute("c", 200'000, {a});
  b.cost(0.1, 0.2, graph::Basis::interpolated);
  b.collective("r", 80'000, 10, {c});
  const Report r = b.play(1).report();
  EXPECT_EQ(r.iteration, ps(400'000));
  const double gemms = kSharedError * 30e3 * 30e3 + (1 - kSharedError) * (10e3 * 10e3 + 20e3 * 20e3);
  EXPECT_NEAR((r.iteration - r.low).ps(), std::sqrt(gemms + 8e3 * 8e3 + 5e3 * 5e3), 1);
  EXPECT_NEAR((r.high - r.iteration).ps(), std::sqrt(4 * gemms + 16e3 * 16e3 + 5e3 * 5e3), 1);
  ASSERT_EQ(r.bases.size(), 2u);
  EXPECT_EQ(r.bases[0].basis, graph::Basis::analytic);
  EXPECT_DOUBLE_EQ(r.bases[0].share, 0.8);
  EXPECT_DOUBLE_EQ(r.bases[1].share, 0.2);
}

/// Gemms of equal cost are one shape: four of 100 are off like one of 400.
TEST(Analyse, EqualShapesAreOffTogether) {
  JobBuilder b(1);
  b.cost(0.1, 0.2, graph::Basis::learned);
  for (int i = 0; i < 4; ++i) b.compute("layer", 100);
  const Report r = b.play(1).report();
  EXPECT_EQ(r.iteration, ps(400));
  EXPECT_EQ(r.low, ps(360));
  EXPECT_EQ(r.high, ps(480));
}

/// 1 us for 1000 samples and 2 Mflop on 2 GPUs of 4 TFLOP/s: 1e9 samples/s; 1 TFLOP/s a GPU; MFU 1/4.
TEST(Analyse, Rates) {
  JobBuilder b(2);
  b.compute("a", 1'000'000);
  ReportContext c;
  c.samples = 1000;
  c.model_flops = 2e6;
  c.peak_flops = 4e12;
  const Report r = b.play(2).report(c);
  EXPECT_DOUBLE_EQ(r.samples_per_second, 1e9);
  EXPECT_DOUBLE_EQ(r.achieved_flops_per_gpu, 1e12);
  EXPECT_DOUBLE_EQ(r.mfu, 0.25);
}

/// A job that takes no time has no rates, no path, and no division by zero.
TEST(Analyse, NoTimeAtAll) {
  JobBuilder b(2);
  b.compute("a", 0);
  ReportContext c;
  c.samples = 5;
  const Report r = b.play(3).report(c);
  EXPECT_EQ(r.iteration, ps(0));
  EXPECT_EQ(r.samples_per_second, 0);
  EXPECT_TRUE(r.critical_path.empty());
}

}  // namespace
}  // namespace distsim::report
