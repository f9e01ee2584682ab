#include "sim/pipeline/kernel_time.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace distsim::pipeline {
namespace {

constexpr HeldClock kFreeClock{Hertz(1), Hertz(1)};  // no limit of power

Duration us(std::int64_t t) { return Duration::microseconds(t); }

graph::Cost cost_of_shares(graph::BoundShares shares, graph::Basis basis = graph::Basis::analytic) {
  graph::Cost c{us(10), us(8), us(14), basis, ""};
  c.described_shares = shares;
  return c;
}

/// Kernels bound by matrix units, memory, both, latency; a measured one, a copy and a collective: 10 us each (low 8,
/// high 14).
graph::CostedGraph seven_ops() {
  graph::TaskGraphBuilder b(2);
  for (const char* name : {"matrix", "memory", "both", "latency", "measured"}) b.add(name, {}, graph::Elementwise{100});
  b.add("copy", {graph::Stream::copy, graph::Phase::input, {0, 1}}, graph::Copy{graph::CopyKind::h2d, 100});
  b.add_collective("sum", {graph::Stream::comm, graph::Phase::gradient_sync, {1, 1}}, graph::Collective{},
                   graph::Partition::strided(2, 1));
  graph::CostedGraph c;
  c.graph = std::move(b).finish().value();
  c.costs.push_back(cost_of_shares({1, 0, 0}));
  c.costs.push_back(cost_of_shares({0, 0.5, 0.5}));
  c.costs.push_back(cost_of_shares({0.5, 0, 0.5}));
  c.costs.push_back(cost_of_shares({}));
  c.costs.push_back(cost_of_shares({1, 0, 0}, graph::Basis::measured));
  c.costs.push_back(cost_of_shares({0, 0, 1}));
  c.costs.push_back(cost_of_shares({0, 0, 1}));
  return c;
}

/// Framework 1.5 (matrix) and 0.8 (memory), device 1.2 and 1, slowest rank 1.1. A measured cost has no device's factor.
TEST(KernelTime, EachBoundHasItsFactor) {
  graph::CostedGraph c = seven_ops();
  ASSERT_TRUE(scale_kernels(c, {{1.5, 0.8, {}}, {1.2, 1, {}}, 1.1}, kFreeClock).ok());
  EXPECT_EQ(c.costs[OpId(0)].mean.ps(), 19'800'000);  // 1.5 x 1.2 x 1.1
  EXPECT_EQ(c.costs[OpId(0)].low.ps(), 15'840'000);
  EXPECT_EQ(c.costs[OpId(0)].high.ps(), 27'720'000);
  EXPECT_EQ(c.costs[OpId(1)].mean.ps(), 8'800'000);   // 0.8 x 1.1
  EXPECT_EQ(c.costs[OpId(2)].mean.ps(), 13'915'000);  // 1.15 x 1.1 x 1.1
  EXPECT_EQ(c.costs[OpId(3)].mean.ps(), 11'000'000);
  EXPECT_EQ(c.costs[OpId(4)].mean.ps(), 16'500'000);
  EXPECT_EQ(c.costs[OpId(5)].mean, us(10));
  EXPECT_EQ(c.costs[OpId(6)].mean, us(10));
}

/// A device whose matrix products are slow does not slow what memory bounds.
TEST(KernelTime, AMatrixFactorLeavesMemoryAlone) {
  graph::CostedGraph c = seven_ops();
  ASSERT_TRUE(scale_kernels(c, {{}, {1.264, 1, {}}, 1}, kFreeClock).ok());
  EXPECT_EQ(c.costs[OpId(0)].mean.ps(), 12'640'000);
  EXPECT_EQ(c.costs[OpId(1)].mean, us(10));
}

/// Products of the other width than most of a job's have the correction of theirs, and it is said.
TEST(KernelTime, TheDevicesFactorGoesByTheWidthOfProducts) {
  topology::DeviceSpec d;
  d.calibration = {1.2, 0.9, 1, 0, {}};
  for (const auto precision : {workload::Precision::bf16, workload::Precision::fp32}) {
    graph::CostedGraph c = seven_ops();
    c.costs[OpId(0)].wide_products = true;
    const KernelTime t = kernel_time_of(workload::FrameworkSpec{}, d, precision, 1);
    EXPECT_EQ(describe(t, c).size(), 2u);
    ASSERT_TRUE(scale_kernels(c, t, kFreeClock).ok());
    EXPECT_EQ(c.costs[OpId(0)].mean, us(9));
  }
  graph::CostedGraph narrow = seven_ops();
  ASSERT_TRUE(
      scale_kernels(narrow, kernel_time_of(workload::FrameworkSpec{}, d, workload::Precision::fp32, 1), kFreeClock)
          .ok());
  EXPECT_EQ(narrow.costs[OpId(0)].mean, us(12));
}

/// No product of factors goes below what the hardware allows; a measured time is as it was measured.
TEST(KernelTime, StopsAtTheLeastTime) {
  graph::CostedGraph c = seven_ops();
  c.costs[OpId(0)].least = c.costs[OpId(4)].least = us(9);
  ASSERT_TRUE(scale_kernels(c, {{0.8, 1, {}}, {0.9, 1, {}}, 1}, kFreeClock).ok());
  EXPECT_EQ(c.costs[OpId(0)].mean, us(9));
  EXPECT_EQ(c.costs[OpId(4)].mean, us(8));
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
  ASSERT_TRUE(scale_kernels(c, {{}, {}, 1.1}, kFreeClock).ok());
  EXPECT_EQ(c.costs[OpId(0)].mean.ps(), 11'000'000) << "a kernel is scaled";
  EXPECT_EQ(c.costs[OpId(1)].mean, us(1000));
  EXPECT_EQ(c.costs[OpId(1)].high, us(1000));
  EXPECT_EQ(c.costs[OpId(2)].mean, us(300));
}

TEST(KernelTime, FactorsOfPrecisionAndRanks) {
  workload::FrameworkSpec f;
  f.kernels.matrix = 1.3;
  f.kernels.memory = 0.9;
  topology::DeviceSpec d;
  d.calibration = {1.2, 1.1, 1.05, 0.02, {}};
  const KernelTime half = kernel_time_of(f, d, workload::Precision::bf16, 8),
                   single = kernel_time_of(f, d, workload::Precision::tf32, 1);
  for (const KernelTime& t : {half, single}) {
    EXPECT_EQ(t.framework.matrix, 1.3);
    EXPECT_EQ(t.framework.memory, 0.9);
    EXPECT_EQ(t.device.memory, 1.05);
  }
  EXPECT_EQ(half.device.matrix, 1.2);
  EXPECT_EQ(single.device.matrix, 1.1);
  EXPECT_DOUBLE_EQ(half.slowest, 1 + 0.02 * expected_largest_of(8));
  EXPECT_EQ(single.slowest, 1);
}

TEST(KernelTime, SaysWhatIsNotOneAndWhatItRestsOn) {
  EXPECT_TRUE(describe(KernelTime{}, {}).empty());
  const std::vector<std::string> said = describe({{1.3, 1, {120, 4}}, {1, 0.9, {}}, 1}, {});
  ASSERT_EQ(said.size(), 2u);
  EXPECT_EQ(said[0], "matrix-bound kernel times x1.300 (framework, fitted on 120 rows of 4 systems)");
  EXPECT_EQ(said[1], "memory-bound kernel times x0.900 (device)");
  workload::FrameworkSpec f;
  EXPECT_EQ(describe_host(f), "");
  f.host.scale = 1.2;
  f.evidence = {1, 1};
  EXPECT_EQ(describe_host(f), "host time per call x1.200 (framework, fitted on 1 row of 1 system)");
}

}  // namespace
}  // namespace distsim::pipeline
