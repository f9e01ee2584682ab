// Op models on shapes chosen by hand: variants of an op that differ, shapes to be refused, devices without their facts.
// What every registered model keeps is in op_laws_test.cpp.
#include "opmodels/op_models.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "device_fixtures.hpp"
#include "opmodels/measured/measured_table.hpp"

namespace distsim::opmodels {
namespace {

OpModels models(const std::string& gpu) { return *OpModels::create(measured_devices().at(gpu)); }
double mean_us(const OpModels& m, const graph::Op& op) {
  const auto cost = m.price(op);
  EXPECT_TRUE(cost.ok()) << graph::describe(op) << ": " << (cost.ok() ? "" : cost.error().text());
  return cost.ok() ? cost->mean.us() : -1;
}

graph::EmbeddingBag bag(std::int64_t batch, graph::EmbeddingTable table, graph::Pass pass = graph::Pass::forward,
                        graph::SparseUpdate update = graph::SparseUpdate::fused) {
  graph::EmbeddingBag op;
  op.tables = {table};
  op.batch = batch;
  op.pass = pass;
  op.update = update;
  return op;
}

/// One op of each kind whose size grows with `s`.
std::vector<graph::Op> growing(std::int64_t s) {
  std::vector<graph::Op> ops{
      graph::Gemm{1, 64 * s, 256, 512, graph::DType::fp16},
      graph::Gemm{1, 64, 256, 512 * s, graph::DType::fp16},
      graph::Gemm{1, 64, 256 * s, 512, graph::DType::fp32},
      graph::Conv2d{s, 64, 56, 56, 64, 3, 3, 1, 1},
      graph::Conv2d{s, 64, 56, 56, 64, 3, 3, 1, 1, 1, 1, graph::DType::fp16, true, graph::Pass::backward},
      graph::Conv2d{s, 32, 56, 56, 32, 3, 3, 1, 1, 1, 32},
      bag(1024 * s, {1'000'000, 128, 10, 0}),
      bag(1024 * s, {1'000'000, 128, 10, 1.05}, graph::Pass::backward),
      bag(1024 * s, {1'000'000, 128, 10, 1.05}, graph::Pass::backward, graph::SparseUpdate::sort_dedup),
      bag(1024 * s, {1'000'000, 128, 10, 1.05}, graph::Pass::backward, graph::SparseUpdate::atomic),
      bag(1024 * s, {1'000'000, 128, 10, 1.05}, graph::Pass::backward, graph::SparseUpdate::block_per_row),
      graph::Interaction{1024 * s, 27, 128},
      graph::Interaction{1024 * s, 27, 128, graph::DType::fp16, true, graph::Pass::backward},
      graph::CrossLayer{1024 * s, 3456, 512, graph::DType::fp16},
      graph::Normalization{graph::NormKind::batch, 1000 * s, 64},
      graph::Normalization{graph::NormKind::layer, 1000 * s, 1024, graph::DType::fp16, graph::Pass::backward},
      graph::Softmax{100 * s, 4096},
      graph::Attention{s, 16, 512, 512, 64, true, true, false, graph::DType::fp16},
      graph::Attention{s, 16, 512, 512, 64, true, false, true, graph::DType::fp16, graph::Pass::backward},
      graph::Elementwise{100'000 * s},
      graph::Loss{graph::LossKind::cross_entropy, 1024 * s, 1000},
      graph::Copy{graph::CopyKind::h2d, 1'000'000 * s},
      graph::Copy{graph::CopyKind::d2d, 1'000'000 * s},
      graph::Concat{1'000'000 * s, 4},
      graph::Transpose{1000 * s, 512},
      graph::Optimizer{graph::OptimizerKind::adam, 1'000'000 * s, 10}};
  return ops;
}

TEST(OpModels, FinitePositiveWithItsBandAroundItOnEveryDevice) {
  for (const auto& [name, spec] : measured_devices()) {
    const OpModels m = *OpModels::create(spec);
    for (const graph::Op& op : growing(3)) {
      const auto cost = m.price(op);
      if (!cost.ok()) {
        EXPECT_NE(cost.error().what.find("expected a matrix type"), std::string::npos)
            << name << " " << cost.error().text();
        continue;
      }
      EXPECT_GT(cost->mean.ps(), 0) << graph::describe(op);
      EXPECT_LE(cost->low, cost->mean) << graph::describe(op);
      EXPECT_LE(cost->mean, cost->high) << graph::describe(op);
      EXPECT_EQ(cost->basis, graph::Basis::analytic);
      EXPECT_FALSE(cost->source.empty());
    }
  }
}

TEST(OpModels, NeverCheaperWhenTheWorkGrows) {
  for (const char* gpu : {"V100-SXM2-32GB", "A100-SXM4-80GB", "H100-SXM5-80GB", "L40S", "B200"}) {
    const OpModels m = models(gpu);
    const std::size_t count = growing(1).size();
    for (std::size_t i = 0; i < count; ++i) {
      double before = 0;
      for (std::int64_t s = 1; s <= 4096; s = s * 5 / 4 + 1) {
        const graph::Op op = growing(s)[i];
        const double now = mean_us(m, op);
        EXPECT_GE(now, before * (1 - 1e-9)) << gpu << " " << graph::describe(op);
        before = now;
      }
    }
  }
}

TEST(OpModels, TheSameOpCostsTheSameToTheBit) {
  const OpModels a = models("A100-SXM4-80GB"), b = models("A100-SXM4-80GB");
  for (const graph::Op& op : growing(7)) EXPECT_EQ(a.price(op)->mean, b.price(op)->mean) << graph::describe(op);
}

TEST(OpModels, NeverFasterThanThePeakOrTheMemory) {
  const OpModels m = models("A100-SXM4-80GB");
  for (const std::int64_t size : {64, 512, 4096, 32768}) {
    const graph::Op op = graph::Gemm{1, size, size, size, graph::DType::bf16};
    EXPECT_LT(graph::flops_of(op) / (mean_us(m, op) * 1e-6), 312e12) << size;
  }
  // 8 GB read and written at 2039 GB/s: at least 4 ms.
  EXPECT_GT(mean_us(m, graph::Elementwise{1'000'000'000, 1, 1}), 8e9 / 2039e9 * 1e6);
}

TEST(OpModels, RefusesZeroAndNegativeSizes) {
  const OpModels m = models("A100-SXM4-80GB");
  const std::vector<graph::Op> bad{graph::Gemm{1, 0, 8, 8, graph::DType::fp16},
                                   graph::Gemm{1, 8, -1, 8, graph::DType::fp16},
                                   graph::Gemm{0, 8, 8, 8, graph::DType::fp16},
                                   graph::Conv2d{1, 3, 0, 8, 8, 3, 3},
                                   graph::Conv2d{1, 3, 8, 8, 8, 3, 3, 0},
                                   graph::Conv2d{1, 3, 2, 2, 8, 5, 5},
                                   graph::Conv2d{1, 3, 8, 8, 8, 3, 3, 1, 1, 1, 2},
                                   graph::EmbeddingBag{},
                                   bag(0, {10, 8, 1, 0}),
                                   bag(8, {0, 8, 1, 0}),
                                   bag(8, {10, 0, 1, 0}),
                                   bag(8, {10, 8, -1, 0}),
                                   bag(8, {10, 8, std::nan(""), 0}),
                                   bag(8, {10, 8, 1, -0.5}),
                                   graph::Interaction{8, 1, 8},
                                   graph::CrossLayer{8, 16, 17},
                                   graph::CrossLayer{8, 16, -1},
                                   graph::Normalization{graph::NormKind::layer, 0, 8},
                                   graph::Softmax{8, 0},
                                   graph::Attention{1, 0, 8, 8, 8},
                                   graph::Elementwise{0},
                                   graph::Elementwise{8, -1, 1},
                                   graph::Elementwise{8, 1, std::nan("")},
                                   graph::Loss{graph::LossKind::cross_entropy, 0, 8},
                                   graph::Copy{graph::CopyKind::d2d, 0},
                                   graph::Concat{0, 2},
                                   graph::Concat{8, 0},
                                   graph::Transpose{8, 0},
                                   graph::Optimizer{graph::OptimizerKind::sgd, 0, 1},
                                   graph::Optimizer{graph::OptimizerKind::sgd, 8, 0}};
  for (const graph::Op& op : bad) {
    const auto cost = m.price(op);
    ASSERT_FALSE(cost.ok()) << graph::describe(op);
    EXPECT_NE(cost.error().what.find("expected"), std::string::npos) << cost.error().text();
  }
}

TEST(OpModels, RefusesProductsBeyondSixtyTwoBits) {
  const OpModels m = models("A100-SXM4-80GB");
  const std::int64_t big = std::int64_t{1} << 62;
  for (const graph::Op& op :
       std::vector<graph::Op>{graph::Gemm{1, big, 2, 2, graph::DType::fp16}, graph::Conv2d{big, big, 8, 8, 8, 3, 3},
                              graph::Softmax{big, big}, graph::Transpose{big, big}, graph::Attention{big, big, 8, 8, 8},
                              bag(big, {big, big, 1, 0}), graph::Interaction{big, 27, 128}}) {
    EXPECT_FALSE(m.price(op).ok()) << graph::describe(op);
  }
}

TEST(OpModels, RefusesATypeTheDeviceLacksAndNamesBoth) {
  for (const auto& [gpu, dtype] : {std::pair{"V100-SXM2-32GB", graph::DType::fp8},
                                   {"V100-SXM2-32GB", graph::DType::bf16},
                                   {"V100-SXM2-32GB", graph::DType::tf32},
                                   {"A100-SXM4-80GB", graph::DType::fp8},
                                   {"A100-SXM4-80GB", graph::DType::int64}}) {
    const auto cost = models(gpu).price(graph::Gemm{1, 64, 64, 64, dtype});
    ASSERT_FALSE(cost.ok()) << gpu;
    EXPECT_NE(cost.error().what.find(graph::name_of(dtype)), std::string::npos) << cost.error().text();
    EXPECT_NE(cost.error().what.find(gpu), std::string::npos) << cost.error().text();
  }
}

TEST(OpModels, RefusesPassesAnOpDoesNotHave) {
  const OpModels m = models("A100-SXM4-80GB");
  EXPECT_FALSE(m.price(graph::Softmax{8, 8, graph::DType::fp32, graph::Pass::update}).ok());
  EXPECT_FALSE(m.price(bag(8, {10, 8, 1, 0}, graph::Pass::backward_data)).ok());
  EXPECT_FALSE(m.price(graph::Collective{}).ok()) << "collectives are priced elsewhere";
}

TEST(OpModels, GivenDurationsComeBackExactly) {
  const OpModels m = models("A100-SXM4-80GB");
  for (const std::int64_t ps : {std::int64_t{0}, std::int64_t{1}, std::int64_t{123'456'789'012'345}}) {
    const auto cost = m.price(graph::Measured{Duration::picoseconds(ps)});
    EXPECT_EQ(cost->mean.ps(), ps);
    EXPECT_EQ(cost->basis, graph::Basis::measured);
    if (ps < 1000) continue;
    EXPECT_LT(cost->low, cost->mean) << "what was measured has a spread";
    EXPECT_GT(cost->high, cost->mean);
  }
  const auto host = m.price(graph::HostWork{Duration::microseconds(100)});
  EXPECT_EQ(host->basis, graph::Basis::analytic) << "nobody measured it";
  EXPECT_EQ(host->mean, Duration::microseconds(100));
  EXPECT_LT(host->low, host->high);
  EXPECT_EQ(m.price(graph::Absent{})->mean.ps(), 0);
  EXPECT_FALSE(m.price(graph::Measured{Duration::picoseconds(-1)}).ok());
}

TEST(OpModels, TheSustainedClockSlowsWhatComputesAndNotWhatStreams) {
  topology::DeviceSpec capped = measured_devices().at("A100-SXM4-80GB");
  capped.clock.sustained = Hertz(capped.clock.sustained.value() / 2);  // as under half the power
  const OpModels full = models("A100-SXM4-80GB"), half = *OpModels::create(capped);
  const graph::Op product = graph::Gemm{1, 8192, 8192, 8192, graph::DType::bf16},
                  stream = graph::Elementwise{1'000'000'000};
  EXPECT_GT(mean_us(half, product) / mean_us(full, product), 1.6) << "the loads from L2 stay as they are";
  EXPECT_NEAR(mean_us(half, stream) / mean_us(full, stream), 1, 0.01);
}

TEST(OpModels, ALockedClockSlowsWhatFollowsTheSmsAndNotMemory) {
  topology::DeviceSpec spec = measured_devices().at("A100-SXM4-80GB");
  const OpModels free = *OpModels::create(spec);
  spec.clock.locked = Hertz(spec.clock.sustained.value() / 2);
  const OpModels locked = *OpModels::create(spec);
  const graph::Op product = graph::Gemm{1, 8192, 8192, 8192, graph::DType::bf16},
                  stream = graph::Elementwise{1'000'000'000}, cached = graph::Elementwise{1'000'000, 1, 1},
                  copy = graph::Copy{graph::CopyKind::h2d, 1 << 30};
  EXPECT_NEAR(mean_us(locked, product) / mean_us(free, product), 2, 0.1);
  EXPECT_NEAR(mean_us(locked, stream) / mean_us(free, stream), 1, 0.01);
  EXPECT_EQ(mean_us(locked, copy), mean_us(free, copy));
  EXPECT_GT(mean_us(locked, cached), mean_us(free, cached)) << "L2 runs with the SMs";
  spec.clock.locked = spec.clock.boost;
  EXPECT_EQ(mean_us(*OpModels::create(spec), product), mean_us(free, product))
      << "a lock above the sustained clock is not held";
}

/// A table was measured with free clocks: its corrections hold at a lock, its times do not.
TEST(OpModels, AMeasuredTableIsCarriedToALockedClock) {
  topology::DeviceSpec spec = measured_devices().at("A100-SXM4-80GB");
  const graph::Op product = graph::Gemm{1, 8192, 8192, 8192, graph::DType::bf16};
  const double models_us = mean_us(*OpModels::create(spec), product);
  const auto table = std::make_shared<const MeasuredTable>(
      "a", "b", std::vector<MeasuredPoint>{{*point_of(product), 1.5 * models_us, models_us}});
  EXPECT_NEAR(mean_us(*OpModels::create(spec, nullptr, table), product), 1.5 * models_us, 0.01);
  spec.clock.locked = Hertz(spec.clock.sustained.value() / 2);
  const double locked_us = mean_us(*OpModels::create(spec), product);
  const OpModels both = *OpModels::create(spec, nullptr, table);
  EXPECT_NEAR(mean_us(both, product), 1.5 * locked_us, 0.01);
  EXPECT_EQ(both.price(product)->basis, graph::Basis::scaled);
}

/// A table was measured on the device as its file describes it. What a what-if says of the device holds for measured ops too, and
/// only for those that depend on it.
TEST(OpModels, AMeasuredTableIsCarriedToTheDeviceOfAWhatIf) {
  topology::DeviceSpec spec = measured_devices().at("A100-SXM4-80GB");
  spec.described = {spec};
  const graph::Op copy = graph::Copy{graph::CopyKind::h2d, 1 << 30}, stream = graph::Elementwise{1'000'000'000};
  const OpModels plain = *OpModels::create(spec);
  const auto table = std::make_shared<const MeasuredTable>(
      "a", "b",
      std::vector<MeasuredPoint>{
          {*point_of(copy), 1.5 * mean_us(plain, copy), mean_us(plain, copy)},
          {*point_of(stream), 1.5 * mean_us(plain, stream), mean_us(plain, stream)},
      });
  const auto with_table = [&](const topology::DeviceSpec& device) { return *OpModels::create(device, nullptr, table); };
  const OpModels as_described = with_table(spec);
  EXPECT_EQ(as_described.price(copy)->basis, graph::Basis::measured);
  spec.hbm.bandwidth = BytesPerSecond(2 * spec.hbm.bandwidth.value());
  const OpModels faster = with_table(spec);
  EXPECT_FALSE(faster.prices_as(as_described));
  EXPECT_EQ(faster.price(stream)->basis, graph::Basis::scaled);
  EXPECT_NEAR(mean_us(faster, stream), 1.5 * mean_us(*OpModels::create(spec), stream), 0.01);
  EXPECT_LT(mean_us(faster, stream), 0.95 * mean_us(as_described, stream));
  EXPECT_EQ(mean_us(faster, copy), mean_us(as_described, copy));
  EXPECT_EQ(faster.price(copy)->basis, graph::Basis::measured);
  const graph::Op near = graph::Elementwise{1'200'000'000};
  EXPECT_EQ(faster.price(near)->basis, graph::Basis::interpolated);
  EXPECT_LT(mean_us(faster, near), 0.95 * mean_us(as_described, near));
}

/// An op that the device of the table cannot run was not measured.
TEST(OpModels, ATypeThatAWhatIfAddsIsPricedByTheModels) {
  topology::DeviceSpec spec = measured_devices().at("A100-SXM4-80GB");
  spec.described = {spec};
  const graph::Op product = graph::Gemm{1, 4096, 4096, 4096, graph::DType::fp8};
  const auto table =
      std::make_shared<const MeasuredTable>("a", "b", std::vector<MeasuredPoint>{{*point_of(product), 100, 50}});
  EXPECT_FALSE(OpModels::create(spec, nullptr, table)->price(product).ok());
  spec.peak["fp8"] = FlopsPerSecond(624e12);
  EXPECT_EQ(OpModels::create(spec, nullptr, table)->price(product)->mean, OpModels::create(spec)->price(product)->mean);
}

/// Half the power beyond what does not go with the clock: a clock lower by the cube root of two. More power is never
/// slower, and helps as far as boost.
TEST(OpModels, ALowerPowerLimitSlowsWhatComputes) {
  topology::DeviceSpec d = measured_devices().at("A100-SXM4-80GB");
  d.clock.power = d.power_limit;
  const double sustained = d.clock.sustained.value();
  const auto clock = [&](double limit) {
    d.power_limit = Watts(limit * d.clock.power.value());
    return topology::clock_under_load(d).value();
  };
  EXPECT_EQ(clock(1), sustained);
  EXPECT_NEAR(clock(0.5 * (1 + topology::kStaticPowerShare)), sustained / std::cbrt(2.0), 1e-6 * sustained);
  EXPECT_EQ(clock(10), d.clock.boost.value());
  EXPECT_GT(clock(0.01), 0);
  const graph::Op product = graph::Gemm{1, 8192, 8192, 8192, graph::DType::bf16};
  double before = 1e99;
  for (const double limit : {0.05, 0.2, 0.3, 0.5, 0.7, 1.0, 1.1, 2.0}) {
    clock(limit);
    const double now = mean_us(*OpModels::create(d), product);
    EXPECT_LE(now, before) << limit;
    before = now;
  }
  d.clock.power = Watts(0);  // of whatever board
  EXPECT_EQ(clock(0.5), sustained);
}

TEST(OpModels, RefusesADeviceWithoutItsFacts) {
  const auto spec = measured_devices().at("A100-SXM4-80GB");
  const std::vector<std::function<void(topology::DeviceSpec&)>> breakers{
      [](topology::DeviceSpec& d) { d.sm_count = 0; },
      [](topology::DeviceSpec& d) { d.hbm.bandwidth = BytesPerSecond(0); },
      [](topology::DeviceSpec& d) { d.l2.bandwidth = BytesPerSecond(-1); },
      [](topology::DeviceSpec& d) { d.clock.sustained = Hertz(std::nan("")); },
      [](topology::DeviceSpec& d) { d.peak.clear(); },
      [](topology::DeviceSpec& d) { d.pcie_bandwidth = BytesPerSecond(0); }};
  for (const auto& breaker : breakers) {
    topology::DeviceSpec broken = spec;
    breaker(broken);
    EXPECT_FALSE(OpModels::create(broken).ok());
  }
}

}  // namespace
}  // namespace distsim::opmodels
