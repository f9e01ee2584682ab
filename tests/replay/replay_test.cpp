// Small traces whose replay can be worked out by hand: as it was, and with one thing changed.
#include <gtest/gtest.h>

#include "sim/replay/build/device_causes.hpp"
#include "sim/replay/replay_report.hpp"
#include "trace_builder.hpp"

namespace distsim::replay {
namespace {

/// Host: launches at 0, 10, 20 (5 us each). Kernels of 100 us queue up behind each other: 10..110, 112..212, 214..314.
/// The first found its stream idle and started 10 us after its launch, the others were held by the stream, with gaps
/// of 2.
traces::TraceJob queued_kernels() {
  traces::TraceJob job;
  RankBuilder b(job, 0);
  const auto host = b.thread(), stream = b.stream();
  b.launch(host, 0, stream, "a", 10, 100);
  b.launch(host, 10, stream, "b", 112, 100);
  b.launch(host, 20, stream, "c", 214, 100);
  b.finish();
  return job;
}

TEST(Replay, QueuedKernelsFollowEachOther) {
  Replay r(queued_kernels());
  r.expect_as_measured();
  r.set_us(0, 0, 50);  // a is 50 us faster: b and c move up by 50
  r.run();
  EXPECT_DOUBLE_EQ(r.start_us(0, 1), 62);
  EXPECT_DOUBLE_EQ(r.start_us(0, 2), 164);
}

/// A trace that marks no step is measured from its first kernel to the end of the last, 10 .. 314.
TEST(Replay, AWholeTraceIsMeasuredToo) {
  Replay r(queued_kernels());
  r.set_us(0, 0, 50);
  r.run();
  const std::vector<StepResult> results = step_results(r.graph, r.times);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].basis, StepBasis::window);
  EXPECT_EQ(results[0].measured, 304'000'000);
  EXPECT_EQ(results[0].replayed, 254'000'000);
  EXPECT_EQ(medians(results).measured, 304'000'000);
}

/// With kernels of 1 us the launches decide: a 10..11, b not before its launch at 10 and the latency. The latency of b
/// and c was hidden, so that the typical one is used: that of a trace without samples, 5 us. b starts at 10 + 5, c at
/// 20 + 5.
TEST(Replay, ShortKernelsWaitForTheirLaunch) {
  Replay r(queued_kernels());
  for (std::uint32_t k = 0; k < 3; ++k) r.set_us(0, k, 1);
  r.run();
  EXPECT_DOUBLE_EQ(r.start_us(0, 0), 10);
  EXPECT_DOUBLE_EQ(r.start_us(0, 1), 15);
  EXPECT_DOUBLE_EQ(r.start_us(0, 2), 25);
}

/// Host launches a 500 us kernel at 0, waits for the stream (20 .. 512), then launches another at 530. The kernel ended
/// at 505, so that the call took 7 us of its own. With a kernel of 200 us the call ends at 5 + 200 + 7 = 212, and the
/// next launch, 18 us later, is at 230.
TEST(Replay, SynchronizingWaitsForTheDevice) {
  traces::TraceJob job;
  RankBuilder b(job, 0);
  const auto host = b.thread(), stream = b.stream();
  b.launch(host, 0, stream, "long", 5, 500);
  b.call(host, traces::RuntimeCall::stream_synchronize, 20, 492);
  b.launch(host, 530, stream, "next", 536, 10);
  b.finish();
  Replay r(std::move(job));
  r.expect_as_measured();
  EXPECT_EQ(r.graph.counts.host_waits, 1u);
  r.set_us(0, 0, 200);
  r.run();
  EXPECT_DOUBLE_EQ(r.start_us(0, 1), 236);
  r.set_us(0, 0, 5);  // the host is the slower one: it gets to the wait at 20, and takes its 7 us
  r.run();
  EXPECT_DOUBLE_EQ(r.start_us(0, 1), 20 + 7 + 18 + 6);
}

/// A copy that blocks: the call (100 .. 140) returns 5 us after the copy (110 .. 135) has ended; the copy queues behind
/// a kernel.
TEST(Replay, ABlockingCopyHoldsTheHost) {
  traces::TraceJob job;
  RankBuilder b(job, 0);
  const auto host = b.thread(), stream = b.stream();
  b.launch(host, 0, stream, "kernel", 8, 101);
  const auto copy_call = b.call(host, traces::RuntimeCall::memcpy, 100, 40);
  const auto copy = b.kernel(stream, "Memcpy DtoH", 110, 25, copy_call);
  b.rank().device_records[copy].kind = traces::DeviceRecordKind::memcpy;
  b.launch(host, 150, stream, "after", 157, 10);
  b.finish();
  Replay r(std::move(job));
  r.expect_as_measured();
  r.set_us(0, 0, 1001);  // 900 us longer: copy and everything after it move by 900
  r.run();
  EXPECT_DOUBLE_EQ(r.start_us(0, 1), 1010);
  EXPECT_DOUBLE_EQ(r.start_us(0, 2), 1057);
}

/// Main thread: op 0..100, then nothing until 1000. Worker: starts at 120, works to 990. Main goes on at 1000. With 300
/// us less of work on the worker, main goes on at 700.
TEST(Replay, ThreadsHandOverToEachOther) {
  traces::TraceJob job;
  RankBuilder b(job, 0);
  const auto main = b.thread(), worker = b.thread(), stream = b.stream();
  b.op(main, "forward", 0, 100);
  b.op(main, "optimizer", 1000, 100);
  b.launch(main, 1010, stream, "update", 1020, 10);
  b.op(worker, "backward", 120, 870);
  const auto grad = b.launch(worker, 500, stream, "grad", 510, 10);
  b.finish();
  Replay r(std::move(job));
  r.expect_as_measured();
  EXPECT_EQ(r.graph.counts.handoffs, 2u);
  for (std::uint32_t n = 0; n < r.graph.nodes.size(); ++n) {
    const ReplayNode& node = r.graph.nodes[n];
    if (node.stream == worker && node.role == ReplayRole::host_work) r.costs[n] -= 300'000'000;
  }
  r.run();
  EXPECT_DOUBLE_EQ(r.start_us(0, grad), 210);
  EXPECT_DOUBLE_EQ(r.start_us(0, 0), 720);
}

/// Launched before the trace: two kernels run while the host already launches the next ones behind them. The reduction, which
/// starts 4 us after "grad" has ended, waits for it, although work of that stream started after the launch of both.
TEST(Replay, WorkBehindABacklogWaitsForWhatItFollows) {
  traces::TraceJob job;
  RankBuilder b(job, 0);
  const auto host = b.thread(), compute = b.stream(), comm = b.stream();
  b.kernel(compute, "backlog", 0, 500);
  b.kernel(compute, "backlog", 500, 500);
  const auto grad = b.launch(host, 5, compute, "grad", 1000, 100);
  const auto reduce = b.launch(host, 20, comm, "reduce", 1104, 50);
  b.finish();
  Replay r(std::move(job));
  r.expect_as_measured();
  EXPECT_EQ(r.graph.counts.unexplained, 0u);
  EXPECT_EQ(r.graph.counts.dependencies, 1u);
  r.set_us(0, 0, 100);
  r.set_us(0, 1, 100);
  r.run();
  EXPECT_DOUBLE_EQ(r.start_us(0, grad), 200);
  EXPECT_DOUBLE_EQ(r.start_us(0, reduce), 304);
}

/// Nothing of it has a launch: the reduction waits for the gradients, and the optimizer for the reduction.
TEST(Replay, WorkWithoutLaunchesWaitsForOtherStreams) {
  traces::TraceJob job;
  RankBuilder b(job, 0);
  const auto compute = b.stream(), comm = b.stream();
  const auto grad = b.kernel(compute, "grad", 0, 100), step = b.kernel(compute, "optimizer", 500, 50);
  const auto apart = b.kernel(compute, "next", 700, 50);
  const auto reduce = b.kernel(comm, "reduce", 104, 392);
  b.finish();
  Replay r(std::move(job));
  r.expect_as_measured();
  EXPECT_EQ(r.graph.counts.dependencies, 2u);
  EXPECT_EQ(r.graph.counts.unexplained, 0u);
  r.set_us(0, grad, 50);
  r.run();
  EXPECT_DOUBLE_EQ(r.start_us(0, reduce), 54);
  EXPECT_DOUBLE_EQ(r.start_us(0, step), 450);
  EXPECT_DOUBLE_EQ(r.start_us(0, apart), 650) << "150 us after the kernel before, as it was";
  r.set_us(0, reduce, 92);
  r.run();
  EXPECT_DOUBLE_EQ(r.start_us(0, step), 150);
}

/// Steps of which each begins where work of before leaves off: with all of that shorter the median step may be longer.
TEST(Replay, AMedianAgainstTheWholeTraceIsNamed) {
  Replay r(queued_kernels());
  ReplayReport report;
  report.graph = &r.graph;
  report.replayed = report.what_if = step_results(r.graph, r.times);
  report.replayed_span = device_span(r.graph, r.times);
  EXPECT_EQ(report.replayed_span, 304'000'000);
  report.what_if.front().replayed = 310'000'000;
  report.what_if_span = 300'000'000;
  EXPECT_NE(replay_text(report).find("but the whole trace takes 0.300 ms instead of 0.304"), std::string::npos);
  report.what_if_span = 307'000'000;
  EXPECT_EQ(replay_text(report).find("but the whole trace"), std::string::npos);
  report.what_if.front().replayed = 290'000'000;
  EXPECT_NE(replay_text(report).find("but the whole trace"), std::string::npos);
}

/// A stream that falls behind leaves every step as long as it was, and the last one takes the backlog.
TEST(Replay, AMedianFarFromTheWholeTraceIsNamed) {
  Replay r(queued_kernels());
  ReplayReport report;
  report.graph = &r.graph;
  report.replayed = report.what_if = step_results(r.graph, r.times);
  report.replayed_span = device_span(r.graph, r.times);
  report.what_if_span = report.replayed_span * 104 / 100;
  EXPECT_EQ(replay_text(report).find("but the whole trace"), std::string::npos);
  report.what_if_span = 2 * report.replayed_span;
  EXPECT_NE(replay_text(report).find("but the whole trace takes 0.608 ms instead of 0.304, +100.00 %"),
            std::string::npos);
}

/// Without a record of the wait: stream 2's kernel starts 4 us after stream 1's kernel has ended, long after its
/// launch. It waits for it.
TEST(Replay, AKernelWaitsForAnotherStream) {
  traces::TraceJob job;
  RankBuilder b(job, 0);
  const auto host = b.thread(), compute = b.stream(), comm = b.stream();
  b.launch(host, 0, compute, "grad", 10, 400);
  b.launch(host, 20, comm, "reduce", 414, 50);
  b.finish();
  Replay r(std::move(job));
  r.expect_as_measured();
  EXPECT_EQ(r.graph.counts.dependencies, 1u);
  r.set_us(0, 0, 600);
  r.run();
  EXPECT_DOUBLE_EQ(r.start_us(0, 1), 614);
}

/// cudaStreamWaitEvent before a launch: the wait did not bind (the all-reduce had long ended), but would if
/// communication were slower.
TEST(Replay, AWaitThatDidNotBindIsKept) {
  traces::TraceJob job;
  RankBuilder b(job, 0);
  const auto host = b.thread(), compute = b.stream(), comm = b.stream();
  b.launch(host, 0, comm, "reduce", 10, 50);
  b.call(host, traces::RuntimeCall::stream_wait_event, 200, 2);
  b.launch(host, 203, compute, "update", 210, 20);
  b.finish();
  Replay r(std::move(job));
  r.expect_as_measured();
  r.set_us(0, 0, 500);  // now it ends at 510, and the update follows after the usual gap of 1 us
  r.run();
  EXPECT_DOUBLE_EQ(r.start_us(0, 1), 511);
}

/// The trace says who waits for whom: stream `late` waits for an event that was recorded after "first", not for
/// "second".
TEST(Replay, RecordedWaitsAreTakenAtTheirWord) {
  traces::TraceJob job;
  RankBuilder b(job, 0);
  const auto host = b.thread(), one = b.stream(), late = b.stream();
  b.launch(host, 0, one, "first", 10, 50);
  const auto record_call = b.call(host, traces::RuntimeCall::event_record, 6, 1);
  b.launch(host, 8, one, "second", 62, 50);
  const auto wait_call = b.call(host, traces::RuntimeCall::stream_wait_event, 300, 2);
  b.launch(host, 303, late, "waiter", 310, 20);
  traces::SyncRecord s;
  s.kind = traces::SyncKind::stream_waits_event;
  s.stream = late;
  s.wait_on_stream = one;
  s.call = wait_call;
  s.record_call = record_call;
  b.rank().syncs.push_back(s);
  b.finish();
  Replay r(std::move(job));
  r.expect_as_measured();
  r.set_us(0, 1, 5000);  // second: nobody waits for it
  r.run();
  EXPECT_DOUBLE_EQ(r.start_us(0, 2), 310);
  r.set_us(0, 0, 1000);
  r.run();
  EXPECT_DOUBLE_EQ(r.start_us(0, 2), 1012);  // first ends at 1010, and the gap of this trace is that before "second": 2
}

/// Two ranks: the all-reduce kernel of rank 0 runs 10..160, that of rank 1 100..161. It waits for rank 1 and then
/// transfers for 60 (61) us.
traces::TraceJob two_ranks() {
  traces::TraceJob job;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    RankBuilder b(job, rank);
    const auto host = b.thread(), stream = b.stream();
    if (rank == 1) b.launch(host, 0, stream, "slow", 5, 94);
    const auto reduce =
        b.launch(host, rank == 0 ? 0 : 6, stream, "ncclAllReduce", rank == 0 ? 10 : 100, rank == 0 ? 150 : 61);
    b.collective(reduce, graph::CollectiveKind::all_reduce, 1 << 20);
    b.launch(host, 20, stream, "update", 163, 10);
    b.finish();
  }
  match_collectives_in_order(job);
  return job;
}

TEST(Replay, CollectivesWaitForTheirLastMember) {
  Replay r(two_ranks());
  r.expect_as_measured();
  EXPECT_EQ(r.graph.counts.joined, 2u);
  EXPECT_DOUBLE_EQ(r.start_us(0, 0), 100);  // the transfer; the kernel was there from 10
  r.set_us(1, 0, 54);                       // rank 1 is 40 us faster: both end 40 us earlier
  r.run();
  EXPECT_DOUBLE_EQ(r.end_us(0, 0), 120);
  EXPECT_DOUBLE_EQ(r.end_us(1, 1), 121);
}

/// The same collectives in another order on each rank cannot be.
TEST(Replay, RanksThatDoNotBelongTogetherAreRefused) {
  traces::TraceJob job;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    RankBuilder b(job, rank);
    const auto host = b.thread(), stream = b.stream();
    for (int i = 0; i < 2; ++i)
      b.collective(b.launch(host, 10 * i, stream, "ncclAllReduce", 10 + 100 * i, 50), graph::CollectiveKind::all_reduce,
                   1024);
    b.finish();
  }
  match_collectives_in_order(job);
  std::swap(job.ranks[1].collectives[0].match, job.ranks[1].collectives[1].match);
  const auto graph = build_replay(job);
  ASSERT_TRUE(graph.ok());
  const auto played = play(*graph, measured_costs(*graph));
  ASSERT_FALSE(played.ok());
  EXPECT_NE(played.error().text().find("do all files belong to one run?"), std::string::npos);
  for (traces::TraceRank& rank : job.ranks) rank.path = "report.sqlite:GPU " + std::to_string(rank.rank);
  const auto of_one_file = build_replay(job);
  ASSERT_TRUE(of_one_file.ok());
  const auto played_file = play(*of_one_file, measured_costs(*of_one_file));
  ASSERT_FALSE(played_file.ok());
  EXPECT_NE(played_file.error().text().find("are collectives or their ranges missing on some ranks"), std::string::npos)
      << played_file.error().text();
}

TEST(Replay, OverlappingKernelsOfAStreamHaveLanes) {
  traces::TraceJob job;
  RankBuilder b(job, 0);
  const auto stream = b.stream();
  b.kernel(stream, "a", 0, 100);
  b.kernel(stream, "b", 50, 100);  // a branch of a graph
  b.kernel(stream, "c", 100, 10);
  b.finish();
  Replay r(std::move(job));
  r.expect_as_measured();
  EXPECT_EQ(r.graph.ranks[0].streams, 2u);
}

TEST(Replay, NegativeDurationsAndMissingTimesAreRefused) {
  traces::TraceJob job = queued_kernels();
  job.ranks[0].device_records[1].duration_ns = -5;
  EXPECT_NE(build_replay(job).error().text().find("rank0.json: found a kernel of -5 ns"), std::string::npos);
  job = queued_kernels();
  job.ranks[0].has_times = false;
  EXPECT_NE(build_replay(job).error().text().find("without times"), std::string::npos);
  job = traces::TraceJob();
  RankBuilder(job, 3).finish();
  EXPECT_NE(build_replay(job).error().text().find("no device activity"), std::string::npos);
}

/// HugeCTR's profiler: no host threads, medians of single events, and iteration times of their own. Events 10..60 of an
/// iteration of 70 us: the replay ends at 60. Where an event starts long after the iteration has ended, they are of
/// different iterations.
TEST(Replay, MediansOfEventsAreAnIterationIfTheyFitIntoOne) {
  const auto profile = [](double late) {
    traces::TraceJob job;
    RankBuilder b(job, 0);
    const auto stream = b.stream();
    b.kernel(stream, "fprop", 10, 30);
    b.kernel(stream, "bprop", late, 15);
    b.step(0, 70);
    b.rank().times_are_medians = true;
    b.rank().measured_iterations_ns = {70'000, 68'000, 900'000};
    b.finish();
    return job;
  };
  const Replay r(profile(45));
  const auto results = step_results(r.graph, r.times);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].basis, StepBasis::stated);
  EXPECT_EQ(results[0].measured, 70'000'000);
  EXPECT_EQ(results[0].replayed, 60'000'000);
  const traces::TraceJob job = profile(40'000);
  EXPECT_NE(build_replay(job).error().text().find("medians of different ones"), std::string::npos);
}

/// Steps 0..300 and 300..600 on the host; kernels launched inside start at 10 and 330: start to start 320. The last
/// step has only its marks. Within 10..330: compute 10..110, communication 80..180, so that 70 are exposed and 320 -
/// 170 idle.
TEST(Replay, StepsAreMeasuredFromFirstKernelToFirstKernel) {
  traces::TraceJob job;
  RankBuilder b(job, 0);
  const auto host = b.thread(), compute = b.stream(), comm = b.stream();
  b.launch(host, 2, compute, "a", 10, 100);
  const auto reduce = b.launch(host, 70, comm, "ncclAllReduce", 80, 100);
  b.rank().device_records[reduce].communication = true;
  b.launch(host, 320, compute, "a", 330, 100);
  b.step(0, 300);
  b.step(300, 600);
  b.finish();
  const Replay r(std::move(job));
  const auto results = step_results(r.graph, r.times);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].basis, StepBasis::device_start_to_start);
  EXPECT_EQ(results[0].measured, 320'000'000);
  EXPECT_EQ(results[0].replayed, 320'000'000);
  EXPECT_EQ(results[0].parts.compute, 100'000'000);
  EXPECT_EQ(results[0].parts.comm, 100'000'000);
  EXPECT_EQ(results[0].parts.exposed, 70'000'000);
  EXPECT_EQ(results[0].parts.idle, 150'000'000);
  EXPECT_EQ(results[1].basis, StepBasis::profiler_step);
  EXPECT_EQ(results[1].replayed, 300'000'000);
  EXPECT_EQ(medians(results).steps, 1u);
}

/// `steps` of 100 us on the host, each with two kernels of 30 us that end 10 us before the first kernel of the next step
/// begins: 10..40, 70..100, 110..140, ... No call waits for the device.
traces::TraceJob steps_that_nothing_waits_for(std::uint32_t steps) {
  traces::TraceJob job;
  RankBuilder b(job, 0);
  const auto host = b.thread(), stream = b.stream();
  for (std::uint32_t s = 0; s < steps; ++s) {
    b.launch(host, 100 * s, stream, "a", 100 * s + 10, 30);
    b.launch(host, 100 * s + 60, stream, "b", 100 * s + 70, 30);
    b.step(100 * s, 100 * s + 100);
  }
  b.finish();
  return job;
}

/// With kernels ten times as slow, the device needs 300 + 30 + 300 us, and 10 more until the next step: what several such steps
/// take each takes one alone, and compute and idle add up to it.
TEST(Replay, ALastStepIsAsLongAsItsWork) {
  for (const std::uint32_t steps : {1u, 3u}) {
    Replay r(steps_that_nothing_waits_for(steps));
    for (const StepResult& s : step_results(r.graph, r.times)) EXPECT_EQ(s.replayed, s.measured);
    for (std::uint32_t k = 0; k < 2 * steps; ++k) r.set_us(0, k, 300);
    r.run();
    for (const StepResult& s : step_results(r.graph, r.times)) {
      EXPECT_EQ(s.replayed, 640'000'000) << steps;
      EXPECT_EQ(s.parts.compute, 600'000'000) << steps;
      EXPECT_EQ(s.parts.window, s.replayed) << steps;
      EXPECT_EQ(s.parts.idle, 40'000'000) << steps;
    }
    for (std::uint32_t k = 0; k < 2 * steps; ++k) r.set_us(0, k, 3);  // the host limits: launches every 100 us
    r.run();
    for (const StepResult& s : step_results(r.graph, r.times)) EXPECT_EQ(s.replayed, 100'000'000) << steps;
  }
}

/// Step 0..100, its kernels end at 250, after the next step would have begun: a GPU twice as slow ends 240 later.
TEST(Replay, ALastStepMayEndBeforeItsWork) {
  traces::TraceJob job;
  RankBuilder b(job, 0);
  const auto host = b.thread(), stream = b.stream();
  b.launch(host, 0, stream, "a", 10, 120);
  b.launch(host, 60, stream, "b", 130, 120);
  b.step(0, 100);
  b.finish();
  Replay r(std::move(job));
  EXPECT_EQ(step_results(r.graph, r.times)[0].replayed, 100'000'000);
  for (std::uint32_t k = 0; k < 2; ++k) r.set_us(0, k, 240);
  r.run();
  EXPECT_EQ(step_results(r.graph, r.times)[0].replayed, 340'000'000);
}

/// A step without time is not compared, so that it may not move the median of one side.
TEST(Replay, MediansAreOfTheSameSteps) {
  std::vector<StepResult> results(5);
  for (std::size_t i = 0; i < 5; ++i) {
    results[i].basis = i == 1 ? StepBasis::device_start_to_start : StepBasis::profiler_step;
    results[i].measured = i < 3 ? 0 : 200;
    results[i].replayed = results[i].measured;
  }
  const StepMedians some = medians(results);
  EXPECT_EQ(some.basis, StepBasis::profiler_step);
  EXPECT_EQ(some.steps, 2u);
  EXPECT_EQ(some.measured, 200);
  EXPECT_EQ(some.replayed, 200);
  for (StepResult& r : results) r.measured = -1, r.replayed = 70;
  EXPECT_EQ(medians(results).measured, -1);
  EXPECT_EQ(medians(results).replayed, 70);
}

/// No device runs thousands of kernels of one stream at once; looking for a free lane for each would take forever.
TEST(Replay, TooManyKernelsAtOnceAreRefused) {
  for (const std::uint32_t kernels : {kMostLanes, kMostLanes + 1}) {
    traces::TraceJob job;
    RankBuilder b(job, 0);
    const auto stream = b.stream();
    for (std::uint32_t k = 0; k < kernels; ++k) b.kernel(stream, "k", k * 0.001, 1000);
    b.finish();
    const auto graph = build_replay(job);
    EXPECT_EQ(graph.ok(), kernels == kMostLanes);
    if (graph.ok()) continue;
    EXPECT_NE(graph.error().text().find("at once on a stream"), std::string::npos);
  }
}

}  // namespace
}  // namespace distsim::replay
