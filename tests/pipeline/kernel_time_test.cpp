#include "sim/pipeline/kernel_time.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace distsim::pipeline {
namespace {

Duration us(std::int64_t t) { return Duration::microseconds(t); }

/// A kernel, a measured kernel, a copy and a collective of 10 us each (low 8, high 14).
graph::CostedGraph four_ops() {
  graph::TaskGraphBuilder b(2);
  b.add("kernel", {}, graph::Elementwise{100});
  b.add("measured", {}, graph::Elementwise{200});
  b.add("copy", {graph::Stream::copy, graph::Phase::input, {0, 1}}, graph::Copy{graph::CopyKind::h2d, 100});
  b.add_collective("sum", {graph::Stream::comm, graph::Phase::gradient_sync, {1, 1}}, graph::Collective{},
                   graph::Partition::strided(2, 1));
  graph::CostedGraph c;
  c.graph = std::move(b).finish().value();
  for (std::size_t i = 0; i < c.graph.ops.size(); ++i)
    c.costs.push_back({us(10), us(8), us(14), graph::Basis::analytic, ""});
  c.costs[OpId(1)].basis = graph::Basis::measured;
  return c;
}

/// 1.5 x 1.2 x 1.1 = 1.98; a measured cost is not multiplied by the device's 1.2: 1.65.
TEST(KernelTime, ScalesKernelsAlone) {
  graph::CostedGraph c = four_ops();
  ASSERT_TRUE(scale_kernels(c, {1.5, 1.2, 1.1}).ok());
  EXPECT_EQ(c.costs[OpId(0)].mean.ps(), 19'800'000);
  EXPECT_EQ(c.costs[OpId(0)].low.ps(), 15'840'000);
  EXPECT_EQ(c.costs[OpId(0)].high.ps(), 27'720'000);
  EXPECT_EQ(c.costs[OpId(1)].mean.ps(), 16'500'000);
  EXPECT_EQ(c.costs[OpId(2)].mean, us(10));
  EXPECT_EQ(c.costs[OpId(3)].mean, us(10));
}

/// What the user gives is not what a model predicts: a program's step of 1 ms stays 1 ms.
TEST(KernelTime, GivenTimesStayAsTheyAre) {
  graph::TaskGraphBuilder b(2);
  b.add("kernel", {}, graph::Elementwise{100});
  b.add("step", {}, graph::Measured{us(1000)});
  b.add("input", {graph::Stream::host, graph::Phase::input, {0, 0}}, graph::HostWork{us(300)});
  graph::CostedGraph c;
  c.graph = std::move(b).finish().value();
  for (const std::int64_t time : {10, 1000, 300})
    c.costs.push_back({us(time), us(time), us(time), graph::Basis::measured, "given"});
  ASSERT_TRUE(scale_kernels(c, {1.5, 1.2, 1.1}).ok());
  EXPECT_EQ(c.costs[OpId(0)].mean.ps(), 16'500'000) << "a kernel is scaled";
  EXPECT_EQ(c.costs[OpId(1)].mean, us(1000));
  EXPECT_EQ(c.costs[OpId(1)].high, us(1000));
  EXPECT_EQ(c.costs[OpId(2)].mean, us(300));
}

TEST(KernelTime, FactorsOfPrecisionAndRanks) {
  workload::FrameworkSpec f;
  f.kernels.scale_16bit = 1.3;
  f.kernels.scale_32bit = 0.9;
  topology::DeviceSpec d;
  d.calibration = {1.2, 1.1, 0.02};
  const KernelTime half = kernel_time_of(f, d, workload::Precision::bf16, 8),
                   single = kernel_time_of(f, d, workload::Precision::tf32, 1);
  EXPECT_EQ(half.framework, 1.3);
  EXPECT_EQ(half.device, 1.2);
  EXPECT_DOUBLE_EQ(half.slowest, 1 + 0.02 * expected_largest_of(8));
  EXPECT_EQ(single.framework, 0.9);
  EXPECT_EQ(single.device, 1.1);
  EXPECT_EQ(single.slowest, 1);
}

TEST(KernelTime, SaysWhatIsNotOne) {
  EXPECT_TRUE(describe(KernelTime{}).empty());
  ASSERT_EQ(describe({1.3, 1, 1}).size(), 1u);
  EXPECT_NE(describe({1.3, 1, 1}).front().find("1.300"), std::string::npos);
}

}  // namespace
}  // namespace distsim::pipeline
