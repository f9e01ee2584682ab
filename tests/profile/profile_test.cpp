// Profiles of small traces, every figure worked out by hand.
#include <gtest/gtest.h>

#include "kineto_text.hpp"
#include "rank_text.hpp"
#include "sim/profile/impossible_rates.hpp"
#include "sim/profile/ops/op_flops.hpp"
#include "sim/profile/profile.hpp"
#include "traces/trace_reader.hpp"

namespace distsim::profile {
namespace {

using test::event;
using test::trace;

class ProfileTest : public testing::Test {
 protected:
  void read(const std::vector<std::string>& texts) {
    std::vector<std::string> paths;
    for (std::size_t i = 0; i < texts.size(); ++i)
      paths.push_back(test::write(folder_, "rank" + std::to_string(i) + ".json", texts[i]));
    auto job = traces::read_traces(paths);
    ASSERT_TRUE(job.ok()) << job.error().text();
    job_ = std::move(job).value();
    auto profile = make_profile(job_);
    ASSERT_TRUE(profile.ok()) << profile.error().text();
    profile_ = std::move(profile).value();
  }
  std::string folder_ = test::scratch_dir("profile");
  traces::TraceJob job_;
  Profile profile_;
};

// two_steps(): in a step of 100 us a kernel runs at [20, 60) and an all-reduce at [55, 65).
TEST_F(ProfileTest, SplitsASteps) {
  read({trace(test::two_steps())});
  ASSERT_EQ(profile_.ranks[0].steps.size(), 2u);
  const TimeSplit& s = profile_.ranks[0].steps[0].split;
  EXPECT_EQ(s.wall, 100'000);
  EXPECT_EQ(s.busy, 45'000);
  EXPECT_EQ(s.compute, 40'000);
  EXPECT_EQ(s.comm, 10'000);
  EXPECT_EQ(s.exposed, 5'000);  // [60, 65)
  EXPECT_EQ(s.idle, 55'000);
  EXPECT_EQ(profile_.ranks[0].steps[0].gpu_start_to_start, 100'000);
  EXPECT_EQ(profile_.ranks[0].steps[1].gpu_start_to_start, -1);
  EXPECT_EQ(profile_.ranks[0].steps[1].measured, 100'000);  // its own span
  EXPECT_EQ(profile_.ranks[0].steps[0].kernels, 2u);
  EXPECT_EQ(profile_.ranks[0].steps[0].launches, 2u);
  EXPECT_EQ(profile_.ranks[0].steps[0].gaps.count, 0u);
  EXPECT_EQ(profile_.ranks[0].steps[0].gaps.waiting_for_host, 55'000);  // [0, 20) and [65, 100), launched at 10 and 110
  EXPECT_EQ(profile_.ranks[0].steps[1].gaps.waiting_for_host, 20'000);  // [100, 120); nothing follows what ends at 165
  // From the first kernel (20) to the end of the last collective (165).
  EXPECT_EQ(profile_.ranks[0].whole.split.wall, 145'000);
  EXPECT_EQ(profile_.ranks[0].whole.gaps.count, 1u);
  EXPECT_EQ(profile_.ranks[0].whole.gaps.total, 55'000);             // [65, 120)
  EXPECT_EQ(profile_.ranks[0].whole.gaps.waiting_for_host, 55'000);  // the next launch began at 110
}

// aten::mm at [5, 25) launches at [10, 14): T2 = 5, T4 = 4, T3 = 11; the ops of the two steps lie 80 apart (25 -> 105):
// T1.
TEST_F(ProfileTest, HostOverheads) {
  read({trace(test::two_steps())});
  const HostOverheads& h = profile_.ranks[0].overheads;
  EXPECT_EQ(h.t1.count, 1u);
  EXPECT_EQ(h.t1.total, 80'000);
  EXPECT_EQ(h.t2.total, 10'000);
  EXPECT_EQ(h.t3.total, 22'000);
  EXPECT_EQ(h.t4.total, 8'000);
  EXPECT_EQ(h.t5.count, 0u);
}

// Launched at 80, when the GPU had work until 90: what lies before it in its step is no time that waits for the host.
TEST_F(ProfileTest, WorkLaunchedAheadOfItsStepWaitsForNoHost) {
  read({trace({event("user_annotation", "ProfilerStep#1", "5", "10", 0, 85),
               event("cuda_runtime", "cudaLaunchKernel", "5", "10", 5, 2, "\"correlation\":1"),
               event("kernel", "gemm", "0", "7", 10, 80, "\"stream\":7,\"correlation\":1"),
               event("cuda_runtime", "cudaLaunchKernel", "5", "10", 80, 2, "\"correlation\":2"),
               event("user_annotation", "ProfilerStep#2", "5", "10", 100, 100),
               event("kernel", "gemm", "0", "7", 120, 40, "\"stream\":7,\"correlation\":2"),
               event("cuda_runtime", "cudaLaunchKernel", "5", "10", 130, 2, "\"correlation\":3"),
               event("kernel", "gemm", "0", "7", 165, 5, "\"stream\":7,\"correlation\":3")})});
  ASSERT_EQ(profile_.ranks[0].steps.size(), 2u);
  EXPECT_EQ(profile_.ranks[0].steps[0].gaps.waiting_for_host, 10'000);
  EXPECT_EQ(profile_.ranks[0].steps[1].gaps.waiting_for_host, 0);
}

TEST_F(ProfileTest, TwoLaunchesOfAnOpAreT5Apart) {
  read({trace(
      {event("cpu_op", "aten::a", "5", "10", 0, 100), event("cuda_runtime", "cudaLaunchKernel", "5", "10", 10, 5),
       event("cpu_op", "aten::inner", "5", "10", 20, 30), event("cuda_runtime", "cudaMemcpyAsync", "5", "10", 40, 5),
       event("user_annotation", "ProfilerStep#1", "5", "10", -1, 200)})});
  const HostOverheads& h = profile_.ranks[0].overheads;
  EXPECT_EQ(h.t5.count, 1u);
  EXPECT_EQ(h.t5.total, 25'000);  // 15 -> 40
  EXPECT_EQ(h.t3.total, 55'000);  // 45 -> 100
}

// mm of 64x32 by 32x16: 2 * 64 * 32 * 16 = 65536 flops a call, two calls of 40 us.
TEST_F(ProfileTest, OpsTreeAndKernels) {
  read({trace(test::two_steps())});
  const OpRate& mm = profile_.ranks[0].ops.at(0);
  EXPECT_EQ(mm.name, "aten::mm");
  EXPECT_EQ(mm.shapes, "64x32, 32x16 (float)");
  EXPECT_EQ(mm.calls, 2u);
  EXPECT_EQ(mm.device_time, 80'000);
  EXPECT_DOUBLE_EQ(mm.flops, 131072);
  const std::vector<WorkNode>& tree = profile_.ranks[0].tree;
  ASSERT_EQ(tree.size(), 5u);  // root, aten::mm, gemm, nccl:all_reduce, its kernel; the step's mark is none
  EXPECT_EQ(tree[1].name, "aten::mm");
  EXPECT_EQ(tree[2].name, "gemm");
  EXPECT_EQ(tree[2].depth, 2u);
  EXPECT_EQ(tree[3].name, "nccl:all_reduce");
  EXPECT_EQ(tree[0].device_time, 100'000);
  EXPECT_EQ(profile_.ranks[0].kernels.at(0).name, "gemm");
  EXPECT_EQ(profile_.ranks[0].kernels[1].communication, true);
}

/// Two calls, with skews of 0 and 100 us.
TEST_F(ProfileTest, TheMedianSkewOfTwoCallsIsTheirMean) {
  const auto rank = [](int r, double late) {
    std::vector<std::string> events{event("user_annotation", "ProfilerStep#1", "5", "10", 0, 1000)};
    for (const double begin : {100.0, 500 + late})
      events.push_back(event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "0", "9", begin,
                             (begin < 400 ? 300 : 700) - begin,
                             "\"stream\":9,\"Collective name\":\"allreduce\",\"In msg nelems\":250000,\"Out msg "
                             "nelems\":250000,\"Group size\":2,\"dtype\":\"Float\",\"Process Group Name\":\"0\""));
    return trace(events, "\"distributedInfo\":{\"rank\":" + std::to_string(r) + ",\"world_size\":2},");
  };
  read({rank(0, 0), rank(1, 100)});
  EXPECT_EQ(profile_.collectives.at(0).skew_median, 50'000);
  EXPECT_EQ(profile_.collectives[0].skew_max, 100'000);
}

// The all-reduce of 1 MB (250000 floats) on two ranks: rank 0 runs it at [100, 200), rank 1 at [150, 200). Skew 50,
// transfer 50 us. algbw = 1e6 B / 50 us = 20 GB/s, busbw of two ranks = algbw * 2 * (2 - 1) / 2 = 20 GB/s.
TEST_F(ProfileTest, CollectivesAndStragglers) {
  const auto rank = [](int r, double begin) {
    return trace({event("user_annotation", "ProfilerStep#1", "5", "10", 0, 300),
                  event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "0", "9", begin, 200 - begin,
                        "\"stream\":9,\"Collective name\":\"allreduce\",\"In msg nelems\":250000,\"Out msg "
                        "nelems\":250000,\"Group size\":2,\"dtype\":\"Float\",\"Process Group Name\":\"0\"")},
                 "\"distributedInfo\":{\"rank\":" + std::to_string(r) + ",\"world_size\":2},");
  };
  read({rank(0, 100), rank(1, 150)});
  const CollectiveSummary& c = profile_.collectives.at(0);
  EXPECT_EQ(c.kind, "all_reduce");
  EXPECT_EQ(c.bytes, 1'000'000);
  EXPECT_EQ(c.calls, 1u);
  EXPECT_EQ(c.ranks_seen, 2u);
  EXPECT_EQ(c.skew_median, 50'000);
  EXPECT_EQ(c.transfer, 50'000);
  EXPECT_NEAR(c.busbw, 20e9, 1);
  ASSERT_EQ(profile_.standing.size(), 2u);
  EXPECT_EQ(profile_.standing[0].waited, 50'000);
  EXPECT_EQ(profile_.standing[1].last_arrivals, 1u);
  EXPECT_EQ(profile_.standing[1].made_others_wait, 50'000);
  EXPECT_TRUE(profile_.standing[1].straggler);
  EXPECT_FALSE(profile_.standing[0].straggler);
}

/// Of the steps that ranks share: one that another recording lacks, or a rank without marks, is compared with none.
TEST_F(ProfileTest, ComputeIsComparedOverSharedSteps) {
  test::RankText whole, late, unmarked;
  late.first = 5;
  unmarked.marked = false;
  read({whole.text(0), late.text(1)});
  ASSERT_EQ(profile_.standing.size(), 2u);
  for (const RankStanding& s : profile_.standing) {
    ASSERT_TRUE(s.compute_excess.has_value());
    EXPECT_NEAR(*s.compute_excess, 0, 1e-9);
    EXPECT_EQ(s.made_others_wait, 0);
  }
  EXPECT_EQ(profile_.collectives.at(0).skew_max, 0);
  EXPECT_EQ(profile_.collectives.at(0).calls, 24u);
  EXPECT_EQ(profile_.collectives.at(0).transfers, 20u);          // those of step 4 are on one rank
  EXPECT_EQ(profile_.collectives.at(0).transfer, 20 * 129'500);  // 100 us and 20 to 39 us: all-reduces 20 to 39
  read({whole.text(0, 3), whole.text(1, 3), unmarked.text(2, 3)});
  ASSERT_EQ(profile_.standing.size(), 3u);
  EXPECT_NEAR(profile_.standing[0].compute_excess.value_or(9), 0, 1e-9);
  EXPECT_FALSE(profile_.standing[2].compute_excess.has_value());
  read({unmarked.text(0), unmarked.text(1)});
  EXPECT_NEAR(profile_.standing[1].compute_excess.value_or(9), 0, 1e-9);
  whole.number_offset = 100;
  read({late.text(0), whole.text(1)});
  for (const RankStanding& s : profile_.standing) EXPECT_FALSE(s.compute_excess.has_value());
}

traces::OpInputs inputs(std::vector<std::vector<std::int64_t>> shapes, std::vector<std::string> values = {}) {
  traces::OpInputs in;
  for (auto& s : shapes) in.tensors.push_back({std::move(s), "float", -1});
  in.values = std::move(values);
  return in;
}

/// 2 * 4096^3 operations in fp32: 137 TFLOP/s in 1 ms, below the 156 of TF32 products; 1.37 PFLOP/s in 100 us.
TEST(ImpossibleRates, AProductAboveThePeakIsNamed) {
  topology::DeviceSpec device;
  device.name = "a100";
  device.peak["fp32"] = FlopsPerSecond(19.5e12);
  device.peak["tf32"] = FlopsPerSecond(156e12);
  const auto found = [&](const std::string& op, std::int64_t ns, const char* type = "float") {
    Profile profile;
    profile.ranks.emplace_back().ops.push_back(
        {op, "4096x4096, 4096x4096 (" + std::string(type) + ")", 1, ns, 2.0 * 4096 * 4096 * 4096, 0, 0});
    return rate_above_peak(profile, device);
  };
  EXPECT_EQ(found("aten::mm", 1'000'000), "");
  EXPECT_EQ(found("aten::mm", 100'000),
            "aten::mm of 4096x4096, 4096x4096 (float): found 1.374 PFLOP/s, expected at most 156 TFLOP/s, the peak of "
            "a100: are times and shapes those of one run?");
  EXPECT_NE(found("aten::mm", 100'000, "Tensor(float)"), "") << "as execution traces have it";
  EXPECT_EQ(found("aten::mm", 1'000'000, "Tensor(float)"), "");
  EXPECT_EQ(found("aten::convolution", 100'000), "") << "Winograd's needs fewer";
}

/// 400 MB written in 100 us are 4 TB/s, of which the L2 may hold twice 40 MB: 3.2 TB/s of HBM.
TEST(ImpossibleRates, AnOpAboveTheMemoryIsNamed) {
  topology::DeviceSpec device;
  device.name = "a100";
  device.hbm.bandwidth = BytesPerSecond(2e12);
  device.l2.capacity = Bytes(40'000'000);
  const auto found = [&](double least, std::int64_t ns) {
    Profile profile;
    profile.ranks.emplace_back().ops.push_back({"aten::fill_", "100000000 (float)", 1, ns, 0, 400e6, least});
    return rate_above_peak(profile, device);
  };
  EXPECT_EQ(
      found(400e6, 100'000),
      "aten::fill_ of 100000000 (float): found 3.2 TB/s, expected at most 2 TB/s, the memory bandwidth of a100: are "
      "times and shapes those of one run?");
  EXPECT_EQ(found(400e6, 200'000), "");
  EXPECT_EQ(found(80e6, 10'000), "") << "all of it may be in the L2";
}

/// A bias is added inside a product whose kernel another op launches.
TEST_F(ProfileTest, WorkOfAnInnerOpIsNotThatOfItsCallerAgain) {
  const std::string shapes = "\"Input Dims\":[[8,4],[4,2]],\"Input type\":[\"float\",\"float\"]";
  read({trace({event("cpu_op", "aten::matmul", "5", "10", 0, 50, shapes),
               event("cpu_op", "aten::mm", "5", "10", 1, 20, shapes),
               event("cuda_runtime", "cudaLaunchKernel", "5", "10", 2, 5, "\"correlation\":1"),
               event("cpu_op", "aten::add_", "5", "10", 30, 10),
               event("cuda_runtime", "cudaLaunchKernel", "5", "10", 31, 5, "\"correlation\":2"),
               event("kernel", "gemm", "0", "7", 60, 10, "\"stream\":7,\"correlation\":1"),
               event("kernel", "bias", "0", "7", 80, 10, "\"stream\":7,\"correlation\":2")})});
  const std::vector<OpRate>& ops = profile_.ranks.at(0).ops;
  ASSERT_EQ(ops.size(), 2u);
  EXPECT_EQ(ops[0].name, "aten::add_");
  EXPECT_EQ(ops[1].name, "aten::mm");
  EXPECT_EQ(ops[1].flops, 128);
}

TEST(OpFlops, Formulas) {
  EXPECT_DOUBLE_EQ(op_work("aten::mm", inputs({{8, 4}, {4, 2}})).flops, 2 * 8 * 4 * 2);
  EXPECT_DOUBLE_EQ(op_work("aten::mm", inputs({{8, 4}, {4, 2}})).bytes, 4 * (32 + 8 + 16));
  EXPECT_DOUBLE_EQ(op_work("aten::addmm", inputs({{2}, {8, 4}, {4, 2}})).flops, 128);
  EXPECT_DOUBLE_EQ(op_work("aten::bmm", inputs({{3, 8, 4}, {3, 4, 2}})).flops, 3 * 128);
  EXPECT_DOUBLE_EQ(op_work("aten::linear", inputs({{5, 8, 4}, {2, 4}, {2}})).flops, 5 * 128);
  // 3x3 over 8x8 with stride 2 and padding 1: 4x4 outputs; N 2, C 3, K 6: 2 * (2*6*16) * (3*9) = 10368.
  const std::vector<std::string> values{"", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"};
  EXPECT_DOUBLE_EQ(op_work("aten::convolution", inputs({{2, 3, 8, 8}, {6, 3, 3, 3}, {}}, values)).flops, 10368);
  EXPECT_DOUBLE_EQ(op_work("aten::convolution", inputs({{2, 3, 8, 8}, {6, 3, 3, 3}, {}})).flops,
                   0);  // stride not recorded
  EXPECT_DOUBLE_EQ(op_work("aten::convolution_backward", inputs({{2, 6, 4, 4}, {2, 3, 8, 8}, {6, 3, 3, 3}})).flops,
                   2 * 10368);
  EXPECT_DOUBLE_EQ(
      op_work("aten::_scaled_dot_product_flash_attention", inputs({{2, 4, 16, 8}, {2, 4, 32, 8}, {2, 4, 32, 8}})).flops,
      4. * 2 * 4 * 16 * 32 * 8);
  EXPECT_DOUBLE_EQ(op_work("aten::add", inputs({{10}, {10}})).bytes, 120);
  for (const auto& odd : {inputs({}), inputs({{-1, 4}, {4, 2}}), inputs({{8, 4}, {5, 2}}), inputs({{8}, {4}})})
    EXPECT_EQ(op_work("aten::mm", odd).flops, 0);
  EXPECT_EQ(op_work("mine::mm", inputs({{8, 4}, {4, 2}})).flops, 0);
}

TEST_F(ProfileTest, ExecutionTracesAloneHaveNoTimes) {
  const std::string text = R"x({"schema":"1.0.1","nodes":[{"id":2,"name":"a","parent":1}]})x";
  const auto job = traces::read_traces({test::write(folder_, "et.json", text)});
  ASSERT_TRUE(job.ok());
  EXPECT_FALSE(make_profile(*job).ok());
  const auto mixed = traces::read_traces(
      {test::write(folder_, "rank0.json", trace(test::two_steps())), test::write(folder_, "rank1.json", text)});
  ASSERT_TRUE(mixed.ok()) << mixed.error().text();
  const auto refused = make_profile(*mixed);
  ASSERT_FALSE(refused.ok()) << "a rank without times is no idle one";
  EXPECT_NE(refused.error().what.find("without times of rank 1, expected one with them"), std::string::npos)
      << refused.error().text();
}

TEST_F(ProfileTest, WorkBeforeTheFirstStepIsNamed) {
  read({trace(test::two_steps())});
  EXPECT_EQ(work_before_steps(profile_.ranks[0]), "");
  std::vector<std::string> events = test::two_steps();
  events.push_back(event("kernel", "warm_up", "0", "7", -500, 50));
  read({trace(events)});
  EXPECT_EQ(
      work_before_steps(profile_.ranks[0]),
      "50 us of 150 us of kernels and copies ran before the first step, 'ProfilerStep#1': the tables of kernels, ops "
      "and the tree are without them");
}

}  // namespace
}  // namespace distsim::profile
