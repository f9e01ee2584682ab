// Kernels of language models: scaled and grouped products, fused norms and losses, scans.
#include <gtest/gtest.h>

#include <cmath>

#include "base/config/config_node.hpp"
#include "device_fixtures.hpp"
#include "opmodels/op_models.hpp"
#include "test_paths.hpp"

namespace distsim::opmodels {
namespace {

topology::DeviceSpec spec_of(const std::string& name) {
  return *topology::device_schema().read(*parse_yaml_file(test::config("devices/" + name + ".yaml")));
}
OpModels models_of(const std::string& name) { return *OpModels::create(spec_of(name)); }

graph::Gemm product(graph::DType dtype, graph::Scaling scaling, std::int64_t m = 8192) {
  graph::Gemm g{1, m, 8192, 8192, dtype};
  g.scaling = scaling;
  return g;
}

double us(const OpModels& models, const graph::Op& op) {
  const auto cost = models.price(op);
  EXPECT_TRUE(cost.ok()) << cost.error().text();
  return cost.ok() ? cost->mean.us() : 0;
}

TEST(ScaledProducts, NarrowerTypesAreFaster) {
  const OpModels b200 = models_of("b200");
  const double bf16 = us(b200, product(graph::DType::bf16, graph::Scaling::none));
  const double fp8 = us(b200, product(graph::DType::fp8, graph::Scaling::current));
  const double mx = us(b200, product(graph::DType::fp8, graph::Scaling::mx));
  const double fp4 = us(b200, product(graph::DType::fp4, graph::Scaling::nv));
  EXPECT_NEAR(bf16 / fp8, 2, 0.2);
  EXPECT_NEAR(mx / fp8, 1, 0.03) << "scales of blocks are part of the product, a byte for 32 elements";
  EXPECT_GT(fp8 / fp4, 1.5);
}

/// On H100 128 of k take 256 / 1903 ps an element of the result and its two operations on the plain lanes 2 / 59.4 ps, of
/// which half is not hidden: 1 + 0.5 x 0.03365 / 0.13450 = 1.125 times the main loop.
TEST(ScaledProducts, HopperAddsUpBlocksOnItsLanes) {
  const OpModels h100 = models_of("h100_sxm5_80gb");
  const double current = us(h100, product(graph::DType::fp8, graph::Scaling::current));
  EXPECT_NEAR(us(h100, product(graph::DType::fp8, graph::Scaling::blockwise)) / current, 1.125, 0.02);
  const OpModels b200 = models_of("b200");
  EXPECT_NEAR(us(b200, product(graph::DType::fp8, graph::Scaling::blockwise)) /
                  us(b200, product(graph::DType::fp8, graph::Scaling::current)),
              1, 0.03);
}

TEST(ScaledProducts, WhatAGpuHasNotIsRefusedInOneLine) {
  const auto said = [](const char* device, const graph::Gemm& g) {
    const auto cost = models_of(device).price(g);
    return cost.ok() ? std::string() : cost.error().what;
  };
  EXPECT_NE(said("a100_sxm4_80gb", product(graph::DType::fp8, graph::Scaling::delayed)).find("dtype: found fp8"),
            std::string::npos);
  EXPECT_NE(said("h100_sxm5_80gb", product(graph::DType::fp4, graph::Scaling::nv)).find("dtype: found fp4"),
            std::string::npos);
  EXPECT_EQ(
      said("h100_sxm5_80gb", product(graph::DType::fp8, graph::Scaling::mx)),
      "h100_sxm5_80gb: gemm.scaling: found mx with fp8 on h100_sxm5_80gb, expected delayed, current or blockwise: only Blackwell "
      "and CDNA4 multiply scaled blocks");
  EXPECT_EQ(said("b200", product(graph::DType::bf16, graph::Scaling::current)),
            "b200: gemm.scaling: found current with bf16 on b200, expected none");
  EXPECT_EQ(said("mi355x", product(graph::DType::fp8, graph::Scaling::mx)), "");
}

/// One kernel: 64 experts of 512 rows take about as long as one product of 32768 rows, and not 64 times a product of 512.
TEST(GroupedProducts, ExpertsShareTheSms) {
  const OpModels h100 = models_of("h100_sxm5_80gb");
  graph::Gemm experts{64, 512, 4096, 2048, graph::DType::bf16};
  experts.grouped = true;
  graph::Gemm one = experts;
  one.batch = 1;
  one.m = 64 * 512;
  EXPECT_NEAR(us(h100, experts) / us(h100, one), 1, 0.25);
  double before = us(h100, experts);
  experts.imbalance = 0.5;
  EXPECT_GE(us(h100, experts), before) << "half a tile of rows for each expert";
  for (const std::int64_t rows : {16, 64, 100, 128, 200, 1000}) {
    experts.m = rows;
    EXPECT_GE(us(h100, experts), rows == 16 ? 0 : before) << rows;
    before = us(h100, experts);
  }
}

/// Hopper adds 8-bit products in 14 bits, which gradients do not bear: 2 x 128 operations at 1979 TFLOP/s take 0.129 ps,
/// half of two at 61.8 TFLOP/s 0.016 ps: 12.5 % on the main loop. Blackwell adds in full.
TEST(Products, EightBitGradientsAreAddedUpInParts) {
  graph::Gemm g{1, 8192, 8192, 8192, graph::DType::fp8};
  g.scaling = graph::Scaling::delayed;
  for (const auto& [device, factor] : {std::pair("h100_sxm5_80gb", 1.125), std::pair("b200", 1.0)}) {
    const OpModels models = models_of(device);
    g.pass = graph::Pass::forward;
    const double forward = us(models, g);
    g.pass = graph::Pass::backward_weight;
    EXPECT_NEAR(us(models, g) / forward, factor, factor > 1 ? 0.015 : 1e-9) << device;
  }
}

/// An A100 by 4 % (283 TFLOP/s in short runs of aiconfigurator, 271 for seconds in ml-engineering), later ones by more.
TEST(Power, ProductsForSecondsAreSlowerThanInABenchmark) {
  for (const char* device : {"a100_sxm4_80gb", "h100_sxm5_80gb", "b200", "gb200"}) {
    const OpModels models = models_of(device);
    const graph::Op op = graph::Gemm{1, 16384, 16384, 16384, graph::DType::bf16};
    const auto burst = models.price(op), steady = models.price_steady(op);
    ASSERT_TRUE(burst.ok() && steady.ok());
    const topology::DeviceSpec d = spec_of(device);
    EXPECT_GE(steady->mean.seconds() / burst->mean.seconds(), std::string(device) == "a100_sxm4_80gb" ? 1.02 : 1.05)
        << device;
    EXPECT_LE(steady->mean.seconds() / burst->mean.seconds(),
              topology::clock_before_limits(d).value() / topology::clock_under_load(d).value() + 1e-6);
    const graph::Op stream = graph::Elementwise{1'000'000'000};
    EXPECT_EQ(models.price_steady(stream)->mean, models.price(stream)->mean) << device;
  }
}

/// A100, 8192 x 8192 in bf16, 134.2 MB a tensor: 2 and 3 of them over 0.90 of 2039 GB/s, 146 and 219 us.
TEST(FusedNorms, MoveEachTensorOnce) {
  const OpModels a100 = *OpModels::create(measured_devices().at("A100-SXM4-80GB"));
  graph::Normalization norm{graph::NormKind::rms, 8192, 8192, graph::DType::bf16};
  norm.fused = true;
  EXPECT_NEAR(us(a100, norm), 146.3 + 2, 3);
  norm.pass = graph::Pass::backward;
  EXPECT_NEAR(us(a100, norm), 219.4 + 2, 3);
  graph::Normalization plain = norm;
  plain.fused = false;
  EXPECT_LT(us(a100, norm), us(a100, plain));
}

/// 8192 rows of 16032 classes (an eighth of Llama 3's vocabulary) in fp32, 525 MB: read once, then read and written.
TEST(FusedLoss, SweepsOverTheLogitsOnceEachWay) {
  const OpModels a100 = *OpModels::create(measured_devices().at("A100-SXM4-80GB"));
  graph::Loss loss{graph::LossKind::cross_entropy, 8192, 16032, graph::DType::fp32, graph::Pass::forward, true};
  EXPECT_NEAR(us(a100, loss), 525.3e6 / (0.9 * 2039e9) * 1e6 + 2, 8);
  loss.pass = graph::Pass::backward;
  EXPECT_NEAR(us(a100, loss), 2 * 525.3e6 / (0.9 * 2039e9) * 1e6 + 2, 16);
  graph::Loss plain = loss;
  plain.fused = false;
  EXPECT_LT(us(a100, loss), us(a100, plain));
}

/// Nemotron-like: 8192 tokens, 128 heads of 64, state of 128, 8 groups, chunks of 256. A token is 2 (8 x 256 x 128 + 128
/// (256 x 64 + 2 x 128 x 64)) = 8.913 MFLOP, 73.0 GFLOP in all: at 0.40 of 294.3 TFLOP/s 620 us. Memory: 8192 x (2 x 8192 +
/// 2 x 1024) x 2 + 512 bytes and 16 x 8192 x 128 / 256 bytes of states, 0.86 GB, 466 us beside it; 5 kernels of 2 us.
TEST(StateSpaceScan, ByHand) {
  const OpModels a100 = *OpModels::create(measured_devices().at("A100-SXM4-80GB"));
  const graph::StateSpaceScan scan{1, 8192, 128, 64, 128, 8};
  EXPECT_NEAR(scan.useful_flops(), 8192 * 2.0 * (8 * 256 * 128 + 128 * (256 * 64 + 2.0 * 128 * 64)), 1);
  const double products = scan.useful_flops() / (0.40 * 312e12 * 1330 / 1410);
  const double bytes = 8192.0 * ((2 * 8192 + 2 * 1024) * 2 + 512 + 16.0 * 8192 * 128 / 256);
  const double memory = bytes / (0.9 * 2039e9);
  EXPECT_NEAR(us(a100, scan), 10 + 1e6 * std::pow(std::pow(products, 4) + std::pow(memory, 4), 0.25), 1);
}

}  // namespace
}  // namespace distsim::opmodels
