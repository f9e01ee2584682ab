#include "opmodels/limits.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "device_fixtures.hpp"
#include "opmodels/registry.hpp"

namespace distsim::opmodels {
namespace {

graph::Cost priced(const OpModels& models, const graph::Op& op) { return models.price(op).value(); }

/// Every registered op on every device: shares are shares, and a kernel has a bound.
TEST(Limits, SharesOfEveryOp) {
  for (const auto& [name, device] : measured_devices()) {
    const OpModels models = OpModels::create(device).value();
    for (const OpModelEntry& entry : op_model_entries()) {
      const auto cost = models.price(entry.example);
      if (!cost.ok()) continue;
      const graph::BoundShares& s = cost->shares;
      for (const double share : {s.matrix, s.vector, s.memory}) EXPECT_TRUE(share >= 0 && share <= 1) << entry.kind;
      EXPECT_LE(s.matrix + s.vector + s.memory, 1 + 1e-12) << entry.kind;
      if (graph::work_of(entry.example) == graph::Work::kernel) {
        EXPECT_NE(cost->bound, graph::Bound::none) << entry.kind << " on " << name;
      }
    }
  }
}

TEST(Limits, BoundsOfPlainCases) {
  const OpModels models = OpModels::create(measured_devices().at("A100-SXM4-80GB")).value();
  EXPECT_EQ(priced(models, graph::Gemm{1, 8192, 8192, 8192, graph::DType::fp16}).bound, graph::Bound::matrix);
  EXPECT_EQ(priced(models, graph::Gemm{1, 1, 65536, 4096, graph::DType::fp16}).bound, graph::Bound::memory);
  EXPECT_EQ(priced(models, graph::Elementwise{1 << 28, 1, 1, 1, graph::DType::fp16}).bound, graph::Bound::memory);
  EXPECT_EQ(priced(models, graph::Elementwise{1 << 28, 1, 1, 2000, graph::DType::fp16}).bound, graph::Bound::vector);
  EXPECT_EQ(priced(models, graph::Elementwise{64, 1, 1, 1, graph::DType::fp16}).bound, graph::Bound::latency);
  EXPECT_EQ(priced(models, graph::HostWork{Duration::microseconds(5)}).bound, graph::Bound::none);
}

/// Where a product's inner size grows from memory-bound to matrix-bound, its share grows without a jump.
TEST(Limits, SharesAreContinuousAcrossTheRidge) {
  const OpModels models = OpModels::create(measured_devices().at("A100-SXM4-80GB")).value();
  double before = 0;
  for (std::int64_t k = 64; k <= 4096; k += 8) {
    const double share = priced(models, graph::Gemm{1, 16384, 16384, k, graph::DType::fp16}).shares.matrix;
    if (k > 64) {
      EXPECT_LT(std::abs(share - before), 0.1) << k;
    }
    before = share;
  }
  EXPECT_GT(before, 0.95);
}

/// Products at the ridge are busy all the time above the floor, although memory is too and has half of the shares.
TEST(Limits, UnitsAreAsBusyWhateverMemoryDoes) {
  const OpModels models = OpModels::create(measured_devices().at("A100-SXM4-80GB")).value();
  for (std::int64_t k = 512; k <= 8192; k += 8) {
    const graph::Cost cost = priced(models, graph::Gemm{1, 16384, 16384, k, graph::DType::fp16});
    if (cost.bound != graph::Bound::matrix) continue;
    EXPECT_NEAR(cost.busy.matrix, cost.shares.matrix + cost.shares.vector + cost.shares.memory, 1e-9) << k;
  }
  const graph::Cost thin = priced(models, graph::Gemm{1, 16, 16384, 16384, graph::DType::fp16});
  EXPECT_EQ(thin.bound, graph::Bound::memory);
  EXPECT_LT(thin.busy.matrix, 0.2);
}

/// Units and memory that take as long overlap, so a clock lower by a third costs ((1.5^4 + 1) / 2)^(1/4) = 1.3195.
TEST(Limits, TimeAtALowerClockIsTheOverlap) {
  graph::Cost cost = graph::make_cost(1e-3, 0.1, 0.1, graph::Basis::analytic, "x").value();
  cost.shares = {0.25, 0.25, 0.5};
  EXPECT_NEAR(graph::at_clock(cost, 1.5)->mean.us(), 1319.5, 0.1);
  cost.shares = {0.5, 0, 0};  // half is latency
  EXPECT_NEAR(graph::at_clock(cost, 1.5)->mean.us(), 1250, 1e-6);
  cost.shares = {0, 0, 0.9};
  EXPECT_NEAR(graph::at_clock(cost, 1.5)->mean.us(), 1000, 1e-6);
}

/// 2 x 8192^3 / (312 x 1330 / 1410) TFLOP/s; 2^31 bytes less twice the L2 at 90 % of 2039 GB/s.
TEST(Limits, LeastTimes) {
  const OpModels models = OpModels::create(measured_devices().at("A100-SXM4-80GB")).value();
  const graph::Cost product = priced(models, graph::Gemm{1, 8192, 8192, 8192, graph::DType::fp16});
  EXPECT_NEAR(product.least.us(), 3736, 2);
  EXPECT_LT(product.least, product.mean);
  const graph::Cost stream = priced(models, graph::Elementwise{1 << 29, 1, 1, 1, graph::DType::fp16});
  EXPECT_NEAR(stream.least.us(), (2147483648.0 - 2 * 40 * 1048576) / (0.9 * 2039e3), 1);
  EXPECT_LE(stream.least, stream.mean);
  const graph::Softmax scores{.rows = 1 << 19, .cols = 1024, .dtype = graph::DType::fp16};  // read and written once
  EXPECT_NEAR(priced(models, scores).least.us(), stream.least.us(), 1);
}

/// Input and output of 8 channels each, 1,644,167,168 bytes together, less twice the L2; both gradients move them twice.
TEST(Limits, LeastTimesOfConvolutions) {
  const OpModels models = OpModels::create(measured_devices().at("A100-SXM4-80GB")).value();
  graph::Conv2d thin{.n = 1024, .c = 8, .h = 224, .w = 224, .k = 8, .dtype = graph::DType::fp16};
  const double bytes = 2.0 * 2 * 1024 * 8 * 224 * 224;
  EXPECT_NEAR(priced(models, thin).least.us(), (bytes - 2 * 40 * 1048576) / (0.9 * 2039e3), 1);
  thin.pass = graph::Pass::backward;
  EXPECT_NEAR(priced(models, thin).least.us(), (2 * bytes - 2 * 40 * 1048576) / (0.9 * 2039e3), 1);
}

}  // namespace
}  // namespace distsim::opmodels
