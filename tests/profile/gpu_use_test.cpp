// Occupancy, memory, kernel variants and the profiler's own cost, of small traces worked out by hand.
#include <gtest/gtest.h>

#include "kineto_text.hpp"
#include "sim/profile/profile.hpp"
#include "sim/report/profile/profile_report.hpp"
#include "traces/trace_reader.hpp"

namespace distsim::profile {
namespace {

using test::event;
using test::trace;

class GpuUseTest : public testing::Test {
 protected:
  Profile read(const std::vector<std::string>& events, const ProfileOptions& options = {}) {
    auto job = traces::read_traces({test::write(folder_, "t.json", trace(events))});
    EXPECT_TRUE(job.ok()) << job.error().text();
    job_ = std::move(job).value();
    return make_profile(job_, options).value();
  }
  std::string folder_ = test::scratch_dir("gpu_use");
  traces::TraceJob job_;
};

std::string kernel(const std::string& name, double start, double duration, double blocks, int occupancy,
                   const std::string& more = "") {
  return event("kernel", name, "0", "7", start, duration,
               "\"device\":0,\"stream\":7,\"grid\":[4,1,1],\"block\":[128,1,1],\"blocks per SM\":" +
                   std::to_string(blocks) + ",\"est. achieved occupancy %\":" + std::to_string(occupancy) + more);
}

/// A step of 100 us. A kernel of 40 us on half of the SMs with 30 % of the warps, one of 20 us on all with 60 %:
/// SMs (40 x 0.5 + 20) / 100 = 40 %, warps (40 x 0.3 + 20 x 0.6) / 60 = 40 %.
TEST_F(GpuUseTest, OccupancyIsWeightedByTime) {
  const Profile p = read({event("user_annotation", "ProfilerStep#1", "5", "10", 0, 100), kernel("a", 10, 40, 0.5, 30),
                          kernel("b", 60, 20, 3.5, 60), event("kernel", "unknown", "0", "7", 85, 10, "\"stream\":7")});
  const Occupancy& o = p.ranks[0].steps.at(0).occupancy;
  EXPECT_EQ(o.kernel_time, 60'000);
  EXPECT_DOUBLE_EQ(o.sm_time, 40'000);
  EXPECT_NEAR(o.warp_time, 24'000, 1e-2);
  const std::string csv = report::profile_csv(job_, p, report::ProfileTable::gpu);
  EXPECT_NE(csv.find("0,ProfilerStep#1,70.00,40.00,40.00,,,,0.000000,0.100000,85.71\n"), std::string::npos) << csv;
  const std::string text = report::profile_text(job_, p, {.width = 400});
  EXPECT_NE(text.find("SMs are those of 85.7 % of the kernels' time; occupancy is that of 85.7 %"), std::string::npos)
      << text;
  EXPECT_NE(report::profile_csv(job_, p, report::ProfileTable::kernels).find(",30.00\n"), std::string::npos);
}

/// 0 % of a kernel with two blocks on each SM is no estimate; of one with a block on one SM in a hundred it is rounded.
TEST_F(GpuUseTest, AbsurdOccupancyIsUnknown) {
  const Profile p = read({kernel("a", 10, 40, -3, 30), kernel("b", 60, 20, 1, 4000), kernel("c", 90, 1, 1, 50),
                          kernel("d", 92, 4, 2, 0), kernel("e", 97, 2, 0.01, 0)});
  EXPECT_EQ(p.ranks[0].whole.occupancy.kernel_time, 43'000);
  EXPECT_EQ(p.ranks[0].whole.occupancy.block_time, 27'000);
  EXPECT_NE(report::profile_text(job_, p, {.width = 400}).find("occupancies and blocks per SM that cannot be: 3"),
            std::string::npos);
}

/// Kernels with thread block clusters have blocks per SM, but an occupancy of 0: SMs (40 x 0.5 + 20) / 100 = 40 %; the
/// occupancy is that of the first.
TEST_F(GpuUseTest, KernelsOfUnknownOccupancyUseSms) {
  const Profile p = read({event("user_annotation", "ProfilerStep#1", "5", "10", 0, 100), kernel("a", 10, 40, 0.5, 30),
                          kernel("cluster", 60, 20, 3.5, 0)});
  const Occupancy& o = p.ranks[0].steps.at(0).occupancy;
  EXPECT_EQ(o.block_time, 60'000);
  EXPECT_DOUBLE_EQ(o.sm_time, 40'000);
  EXPECT_EQ(o.kernel_time, 40'000);
  const std::string csv = report::profile_csv(job_, p, report::ProfileTable::gpu);
  EXPECT_NE(csv.find("0,ProfilerStep#1,60.00,40.00,30.00,,,,0.000000,0.100000,66.67\n"), std::string::npos) << csv;
  const std::string text = report::profile_text(job_, p, {.width = 400});
  EXPECT_NE(text.find("occupancy is that of 66.7 % of the kernels' time, as the profiler has no estimate for the rest"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("SMs are those of"), std::string::npos) << text;
}

std::string memory(double at, std::int64_t total, int device) {
  return "{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":5,\"tid\":10,\"ts\":" + std::to_string(at) +
         ",\"args\":{\"Device Type\":1,\"Device Id\":" + std::to_string(device) +
         ",\"Bytes\":1,\"Total Allocated\":" + std::to_string(total) + "}}";
}

/// Device 1 peaks higher: 5 GB before the step, 9 GB within, 6 GB at its end; what it holds later counts no more.
TEST_F(GpuUseTest, MemoryOfTheFullestDevice) {
  const Profile p = read({event("user_annotation", "ProfilerStep#1", "5", "10", 100, 100), kernel("a", 110, 40, 1, 50),
                          memory(50, 5'000'000'000, 1), memory(120, 9'000'000'000, 1), memory(150, 6'000'000'000, 1),
                          memory(130, 7'000'000'000, 0), memory(250, 20'000'000'000, 1)});
  const MemoryUse& m = p.ranks[0].steps.at(0).memory;
  EXPECT_EQ(m.begin, 5'000'000'000);
  EXPECT_EQ(m.peak, 9'000'000'000);
  EXPECT_EQ(m.end, 6'000'000'000);
  const std::string text = report::profile_text(job_, p, {});
  EXPECT_NE(text.find("9.00 GB"), std::string::npos) << text;
}

/// The first event frees 20 of 30 GB: until then they were held.
TEST_F(GpuUseTest, MemoryBeforeTheFirstEventIsItsTotalLessItsChange) {
  std::string freed = memory(150, 10'000'000'000, 0);
  freed.replace(freed.find("\"Bytes\":1"), 9, "\"Bytes\":-20000000000");
  const Profile p =
      read({event("user_annotation", "ProfilerStep#1", "5", "10", 100, 100), kernel("a", 110, 40, 1, 50), freed});
  const MemoryUse& m = p.ranks[0].steps.at(0).memory;
  EXPECT_EQ(m.begin, 30'000'000'000);
  EXPECT_EQ(m.peak, 30'000'000'000);
  EXPECT_EQ(m.end, 10'000'000'000);
}

/// The largest total there is, of which a byte was freed: both are held at the most that is read, 2^50 bytes.
TEST_F(GpuUseTest, MemoryBeforeTheLargestTotalIsTheMostThatIsRead) {
  std::string freed = memory(150, INT64_MAX, 0);
  freed.replace(freed.find("\"Bytes\":1"), 9, "\"Bytes\":-1");
  const Profile p =
      read({event("user_annotation", "ProfilerStep#1", "5", "10", 100, 100), kernel("a", 110, 40, 1, 50), freed});
  EXPECT_EQ(p.ranks[0].steps.at(0).memory.begin, std::int64_t{1} << 50);
}

/// The profiler flushes buffers at [40, 70) while a kernel runs at [10, 50): 30 us of its own, 20 of them while the GPU
/// was idle. The loading of functions happens without a profiler, too.
TEST_F(GpuUseTest, TheProfilersOwnWork) {
  const Profile p = read({event("user_annotation", "ProfilerStep#1", "5", "10", 0, 100), kernel("a", 10, 40, 1, 50),
                          event("overhead", "CUPTI Buffer Flush", "-1", "0", 40, 30),
                          event("overhead", "Lazy Function Loading", "-1", "0", 80, 10)});
  const StepProfile& s = p.ranks[0].steps.at(0);
  EXPECT_EQ(s.profiler, 30'000);
  EXPECT_EQ(s.profiler_idle, 20'000);
  const std::string csv = report::profile_csv(job_, p, report::ProfileTable::gpu);
  EXPECT_NE(csv.find(",0.030000,0.080000,"), std::string::npos) << csv;
  ASSERT_EQ(job_.ranks[0].notes.dropped.size(), 1u);
  EXPECT_EQ(job_.ranks[0].notes.dropped[0].what, "overhead events");
}

/// Steps of 100 us that took 90 without the profiler, with 5 host records each: 2 us a record.
TEST_F(GpuUseTest, CostOfARecordFromARunWithoutTheProfiler) {
  const ProfilerCost c = read(test::two_steps(), {.unprofiled_ns = 90'000, .record_ns = 0}).ranks[0].profiler;
  EXPECT_EQ(c.with, 100'000);
  EXPECT_EQ(c.without, 90'000);
  EXPECT_DOUBLE_EQ(c.records_per_step, 5);
  EXPECT_DOUBLE_EQ(c.per_record, 2000);
  const Profile slower = read(test::two_steps(), {.unprofiled_ns = 110'000, .record_ns = 0});
  EXPECT_EQ(slower.ranks[0].profiler.per_record, 0);
  EXPECT_NE(report::profile_text(job_, slower, {.width = 400}).find("nothing to correct, recording costs less"),
            std::string::npos);
}

TEST_F(GpuUseTest, AnIterationWithoutTheProfilerIsNotLonger) {
  read(test::two_steps());
  EXPECT_TRUE(make_profile(job_, {.unprofiled_ns = 125'000, .record_ns = 0}).ok());
  const auto refused = make_profile(job_, {.unprofiled_ns = 1'000'000, .record_ns = 0});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text().find("--unprofiled: found 1 ms, expected at most about 100 us"), std::string::npos)
      << refused.error().text();
}

/// Of steps of 100 and 300 us in which the GPU is busy for 90 and 290, both bounds are medians: 190 us and about 200.
TEST_F(GpuUseTest, AnIterationOfTwoIsBetweenTheirMedians) {
  read({event("user_annotation", "ProfilerStep#1", "5", "10", 0, 100), kernel("a", 0, 90, 1, 50),
        event("user_annotation", "ProfilerStep#2", "5", "10", 100, 300), kernel("b", 100, 290, 1, 50)});
  EXPECT_TRUE(make_profile(job_, {.unprofiled_ns = 195'000, .record_ns = 0}).ok());
  const auto refused = make_profile(job_, {.unprofiled_ns = 185'000, .record_ns = 0});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text().find("expected at least 190 us"), std::string::npos) << refused.error().text();
}

TEST_F(GpuUseTest, AWholeTraceIsNoIteration) {
  const std::vector<std::string> unmarked{kernel("a", 10, 40, 1, 50), kernel("b", 60, 40, 1, 50)};
  const Profile p = read(unmarked, {.unprofiled_ns = 1'000, .record_ns = 0});
  EXPECT_FALSE(p.ranks.at(0).steps_marked);
  EXPECT_FALSE(has_overheads(p.ranks[0]));
  std::vector<std::string> marked = unmarked;
  marked.push_back(event("user_annotation", "ProfilerStep#1", "5", "10", 0, 200));
  read(marked);
  EXPECT_FALSE(make_profile(job_, {.unprofiled_ns = 1'000, .record_ns = 0}).ok());
}

/// What one thread records in two iterations of 100 us takes at most 200 us.
TEST_F(GpuUseTest, RecordsTakeNoLongerThanTheIterationsTheyLieIn) {
  read(test::two_steps(), {.unprofiled_ns = 0, .record_ns = 2'000});
  const auto refused = make_profile(job_, {.unprofiled_ns = 0, .record_ns = 100'000});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text().find("--record-cost: found 100 us, expected at most "), std::string::npos)
      << refused.error().text();
}

/// aten::mm at [5, 25) launches at [10, 14). T2 = 5 us holds one record, the launch: 3 without its 2 us. T4 = 4: 2.
/// T3 = 11 holds none. T1 = 80 us from one mm to the next holds the range of the all-reduce, its launch, the mark of the
/// next step and that mm: 72.
TEST_F(GpuUseTest, OverheadsWithAndWithoutTheProfiler) {
  const Profile p = read(test::two_steps(), {.unprofiled_ns = 0, .record_ns = 2'000});
  const HostOverheads &with = p.ranks[0].overheads, &without = p.ranks[0].corrected;
  EXPECT_EQ(with.t1.total, 80'000);
  EXPECT_EQ(without.t1.total, 72'000);
  EXPECT_EQ(with.t2.total, 2 * 5'000);
  EXPECT_EQ(without.t2.total, 2 * 3'000);
  EXPECT_EQ(without.t3.total, 2 * 11'000);
  EXPECT_EQ(without.t4.total, 2 * 2'000);
  EXPECT_EQ(read(test::two_steps(), {.unprofiled_ns = 0, .record_ns = 6'000}).ranks[0].corrected.t2.total, 0);
  EXPECT_EQ(read(test::two_steps()).ranks[0].corrected.t1.total, 80'000);
}

std::string mm(double start, const std::string& dims, int correlation) {
  return event("cpu_op", "aten::mm", "5", "10", start, 20,
               "\"Input Dims\":" + dims + ",\"Input type\":[\"float\",\"float\"]") +
         "," +
         event("cuda_runtime", "cudaLaunchKernel", "5", "10", start + 5, 4,
               "\"correlation\":" + std::to_string(correlation));
}

/// One op, two shapes, a kernel of its own for each; the second within a layer.
TEST_F(GpuUseTest, KernelsByLayerOpAndShape) {
  const std::vector<std::string> events{mm(0, "[[64,32],[32,16]]", 1),
                                        mm(100, "[[64,32],[32,16]]", 2),
                                        event("user_annotation", "layer 2", "5", "10", 190, 100),
                                        mm(200, "[[8,32],[32,16]]", 3),
                                        kernel("gemm_large", 50, 30, 1, 50, ",\"correlation\":1"),
                                        kernel("gemm_large", 150, 10, 1, 50, ",\"correlation\":2"),
                                        kernel("gemm_small", 250, 10, 1, 25, ",\"correlation\":3")};
  const Profile p = read(events);
  const std::vector<KernelVariant>& v = p.ranks[0].variants;
  ASSERT_EQ(v.size(), 2u);
  EXPECT_EQ(v[0].layer, "");
  EXPECT_EQ(v[0].op, "aten::mm");
  EXPECT_EQ(v[0].shapes, "64x32, 32x16 (float)");
  EXPECT_EQ(v[0].kernel, "gemm_large");
  EXPECT_EQ(v[0].calls, 2u);
  EXPECT_EQ(v[0].device_time, 40'000);
  EXPECT_EQ(v[1].layer, "layer 2");
  EXPECT_EQ(v[1].shapes, "8x32, 32x16 (float)");
  EXPECT_EQ(v[1].kernel, "gemm_small");
  const std::string text = report::profile_text(job_, p, {});
  const std::size_t shapes = text.find("  aten::mm 8x32, 32x16 (float)\n    gemm_small ");
  EXPECT_NE(shapes, std::string::npos) << text;
  EXPECT_LT(text.find("  aten::mm 64x32, 32x16 (float)\n    gemm_large "), shapes) << "the longest comes first";
  const std::string csv = report::profile_csv(job_, p, report::ProfileTable::variants);
  EXPECT_NE(csv.find("0,layer 2,aten::mm,\"8x32, 32x16 (float)\",gemm_small,1,0.010000,10.000,25.00\n"),
            std::string::npos)
      << csv;
}

/// Of the host's samples three quarters are in forward: 0.075 ms of a step of 0.1 ms.
TEST_F(GpuUseTest, HostFunctionsShareTheStep) {
  Profile p = read(test::two_steps());
  p.host = traces::read_host_stacks(test::write(folder_, "stacks.txt", "main;forward 3\nmain 1\n")).value();
  const std::string csv = report::profile_csv(job_, p, report::ProfileTable::host);
  EXPECT_EQ(csv,
            "function,self_percent,total_percent,self_ms_per_step\nforward,75.000,75.000,0.075000\n"
            "main,25.000,100.000,0.025000\n");
  const std::string text = report::profile_text(job_, p, {});
  EXPECT_NE(text.find("host functions, collapsed stacks"), std::string::npos) << text;
}

TEST_F(GpuUseTest, StepsThatNothingMarksAreSaid) {
  const Profile p = read({kernel("a", 10, 40, 1, 50)});
  EXPECT_NE(report::profile_text(job_, p, {}).find("no iteration is marked"), std::string::npos);
}

/// A process that drives two GPUs: what each of them runs fills only its own SMs.
TEST_F(GpuUseTest, TwoGpusHaveTheSmsOfBoth) {
  const auto on = [](int device, const std::string& name, double start, double duration, double blocks) {
    return event("kernel", name, std::to_string(device), "7", start, duration,
                 "\"device\":" + std::to_string(device) +
                     ",\"stream\":7,\"grid\":[4,1,1],\"block\":[128,1,1],\"blocks per SM\":" + std::to_string(blocks) +
                     ",\"est. achieved occupancy %\":40");
  };
  const std::string step = event("user_annotation", "ProfilerStep#1", "5", "10", 0, 100);
  const Profile one = read({step, on(0, "a", 10, 80, 0.5)});
  EXPECT_EQ(one.ranks[0].gpus, 1u);
  EXPECT_NE(report::profile_csv(job_, one, report::ProfileTable::gpu).find("0,ProfilerStep#1,80.00,40.00,40.00,"),
            std::string::npos);
  const Profile two = read({step, on(0, "a", 10, 80, 0.5), on(1, "a", 10, 80, 0.5)});
  EXPECT_EQ(two.ranks[0].gpus, 2u);
  EXPECT_NE(report::profile_csv(job_, two, report::ProfileTable::gpu).find("0,ProfilerStep#1,80.00,40.00,40.00,"),
            std::string::npos)
      << report::profile_csv(job_, two, report::ProfileTable::gpu);
  EXPECT_NE(report::profile_json(job_, two, {.indent = -1}).find("\"sm_efficiency\":0.4"), std::string::npos);
}

}  // namespace
}  // namespace distsim::profile
