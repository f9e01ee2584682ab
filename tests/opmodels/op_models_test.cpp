// Laws that every op model keeps: finite, positive, repeatable, refusing nonsense; and that each registers itself.
#include "opmodels/op_models.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "device_fixtures.hpp"
#include "opmodels/registry.hpp"

namespace distsim {
namespace {

OpModels models(const std::string& gpu) { return *OpModels::create(test::measured_devices().at(gpu)); }
double us(const OpModels& m, const Op& op) {
  const auto cost = m.price(op);
  EXPECT_TRUE(cost.ok()) << describe(op) << ": " << (cost.ok() ? "" : cost.error().text());
  return cost.ok() ? cost->mean.us() : -1;
}

EmbeddingBag bag(std::int64_t batch, EmbeddingTable table, Pass pass = Pass::forward, SparseUpdate update = SparseUpdate::fused) {
  EmbeddingBag op;
  op.tables = {table};
  op.batch = batch;
  op.pass = pass;
  op.update = update;
  return op;
}

/// One op of each kind whose size grows with `s`.
std::vector<Op> growing(std::int64_t s) {
  std::vector<Op> ops{Gemm{1, 64 * s, 256, 512, DType::fp16},
                      Gemm{1, 64, 256, 512 * s, DType::fp16},
                      Gemm{1, 64, 256 * s, 512, DType::fp32},
                      Conv2d{s, 64, 56, 56, 64, 3, 3, 1, 1},
                      Conv2d{s, 64, 56, 56, 64, 3, 3, 1, 1, 1, 1, DType::fp16, true, Pass::backward},
                      Conv2d{s, 32, 56, 56, 32, 3, 3, 1, 1, 1, 32},
                      bag(1024 * s, {1'000'000, 128, 10, 0}),
                      bag(1024 * s, {1'000'000, 128, 10, 1.05}, Pass::backward),
                      bag(1024 * s, {1'000'000, 128, 10, 1.05}, Pass::backward, SparseUpdate::sort_dedup),
                      bag(1024 * s, {1'000'000, 128, 10, 1.05}, Pass::backward, SparseUpdate::atomic),
                      Interaction{1024 * s, 27, 128},
                      Interaction{1024 * s, 27, 128, DType::fp16, true, Pass::backward},
                      CrossLayer{1024 * s, 3456, 512, DType::fp16},
                      Normalization{NormKind::batch, 1000 * s, 64},
                      Normalization{NormKind::layer, 1000 * s, 1024, DType::fp16, Pass::backward},
                      Softmax{100 * s, 4096},
                      Attention{s, 16, 512, 512, 64, true, true, false, DType::fp16},
                      Attention{s, 16, 512, 512, 64, true, false, true, DType::fp16, Pass::backward},
                      Elementwise{100'000 * s},
                      Loss{LossKind::cross_entropy, 1024 * s, 1000},
                      Copy{CopyKind::h2d, 1'000'000 * s},
                      Copy{CopyKind::d2d, 1'000'000 * s},
                      Concat{1'000'000 * s, 4},
                      Transpose{1000 * s, 512},
                      Optimizer{OptimizerKind::adam, 1'000'000 * s, 10}};
  return ops;
}

TEST(OpModels, FinitePositiveWithItsBandAroundItOnEveryDevice) {
  for (const auto& [name, spec] : test::measured_devices()) {
    const OpModels m = *OpModels::create(spec);
    for (const Op& op : growing(3)) {
      const auto cost = m.price(op);
      if (!cost.ok()) {
        EXPECT_NE(cost.error().what.find("expected a matrix type"), std::string::npos) << name << " " << cost.error().text();
        continue;
      }
      EXPECT_GT(cost->mean.ps(), 0) << describe(op);
      EXPECT_LE(cost->low, cost->mean) << describe(op);
      EXPECT_LE(cost->mean, cost->high) << describe(op);
      EXPECT_EQ(cost->basis, Basis::analytic);
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
        const Op op = growing(s)[i];
        const double now = us(m, op);
        EXPECT_GE(now, before * (1 - 1e-9)) << gpu << " " << describe(op);
        before = now;
      }
    }
  }
}

TEST(OpModels, TheSameOpCostsTheSameToTheBit) {
  const OpModels a = models("A100-SXM4-80GB"), b = models("A100-SXM4-80GB");
  for (const Op& op : growing(7)) EXPECT_EQ(a.price(op)->mean, b.price(op)->mean) << describe(op);
}

TEST(OpModels, NeverFasterThanThePeakOrTheMemory) {
  const OpModels m = models("A100-SXM4-80GB");
  for (const std::int64_t size : {64, 512, 4096, 32768}) {
    const Op op = Gemm{1, size, size, size, DType::bf16};
    EXPECT_LT(flops_of(op) / (us(m, op) * 1e-6), 312e12) << size;
  }
  // 8 GB read and written at 2039 GB/s: at least 4 ms.
  EXPECT_GT(us(m, Elementwise{1'000'000'000, 1, 1}), 8e9 / 2039e9 * 1e6);
}

TEST(OpModels, RefusesZeroAndNegativeSizes) {
  const OpModels m = models("A100-SXM4-80GB");
  const std::vector<Op> bad{Gemm{1, 0, 8, 8, DType::fp16}, Gemm{1, 8, -1, 8, DType::fp16}, Gemm{0, 8, 8, 8, DType::fp16},
                            Conv2d{1, 3, 0, 8, 8, 3, 3}, Conv2d{1, 3, 8, 8, 8, 3, 3, 0}, Conv2d{1, 3, 2, 2, 8, 5, 5}, Conv2d{1, 3, 8, 8, 8, 3, 3, 1, 1, 1, 2},
                            EmbeddingBag{}, bag(0, {10, 8, 1, 0}), bag(8, {0, 8, 1, 0}), bag(8, {10, 0, 1, 0}), bag(8, {10, 8, -1, 0}),
                            bag(8, {10, 8, std::nan(""), 0}), bag(8, {10, 8, 1, -0.5}), Interaction{8, 1, 8}, CrossLayer{8, 16, 17}, CrossLayer{8, 16, -1},
                            Normalization{NormKind::layer, 0, 8}, Softmax{8, 0}, Attention{1, 0, 8, 8, 8}, Elementwise{0}, Elementwise{8, -1, 1},
                            Elementwise{8, 1, std::nan("")}, Loss{LossKind::cross_entropy, 0, 8}, Copy{CopyKind::d2d, 0}, Concat{0, 2}, Concat{8, 0},
                            Transpose{8, 0}, Optimizer{OptimizerKind::sgd, 0, 1}, Optimizer{OptimizerKind::sgd, 8, 0}};
  for (const Op& op : bad) {
    const auto cost = m.price(op);
    ASSERT_FALSE(cost.ok()) << describe(op);
    EXPECT_NE(cost.error().what.find("expected"), std::string::npos) << cost.error().text();
  }
}

TEST(OpModels, RefusesProductsBeyondSixtyTwoBits) {
  const OpModels m = models("A100-SXM4-80GB");
  const std::int64_t big = std::int64_t{1} << 62;
  for (const Op& op : std::vector<Op>{Gemm{1, big, 2, 2, DType::fp16}, Conv2d{big, big, 8, 8, 8, 3, 3}, Softmax{big, big}, Transpose{big, big},
                                      Attention{big, big, 8, 8, 8}, bag(big, {big, big, 1, 0}), Interaction{big, 27, 128}}) {
    EXPECT_FALSE(m.price(op).ok()) << describe(op);
  }
}

TEST(OpModels, RefusesATypeTheDeviceLacksAndNamesBoth) {
  for (const auto& [gpu, dtype] : {std::pair{"V100-SXM2-32GB", DType::fp8}, {"V100-SXM2-32GB", DType::bf16}, {"V100-SXM2-32GB", DType::tf32},
                                   {"A100-SXM4-80GB", DType::fp8}, {"A100-SXM4-80GB", DType::int64}}) {
    const auto cost = models(gpu).price(Gemm{1, 64, 64, 64, dtype});
    ASSERT_FALSE(cost.ok()) << gpu;
    EXPECT_NE(cost.error().what.find(name_of(dtype)), std::string::npos) << cost.error().text();
    EXPECT_NE(cost.error().what.find(gpu), std::string::npos) << cost.error().text();
  }
}

TEST(OpModels, RefusesPassesAnOpDoesNotHave) {
  const OpModels m = models("A100-SXM4-80GB");
  EXPECT_FALSE(m.price(Softmax{8, 8, DType::fp32, Pass::update}).ok());
  EXPECT_FALSE(m.price(bag(8, {10, 8, 1, 0}, Pass::backward_data)).ok());
  EXPECT_FALSE(m.price(Collective{}).ok()) << "collectives are priced elsewhere";
}

TEST(OpModels, GivenDurationsComeBackExactly) {
  const OpModels m = models("A100-SXM4-80GB");
  for (const std::int64_t ps : {std::int64_t{0}, std::int64_t{1}, std::int64_t{123'456'789'012'345}}) {
    const auto cost = m.price(Measured{Duration::picoseconds(ps)});
    EXPECT_EQ(cost->mean.ps(), ps);
    EXPECT_EQ(cost->low, cost->high);
    EXPECT_EQ(cost->basis, Basis::measured);
  }
  EXPECT_EQ(m.price(Absent{})->mean.ps(), 0);
  EXPECT_FALSE(m.price(Measured{Duration::picoseconds(-1)}).ok());
}

TEST(OpModels, TheSustainedClockSlowsWhatComputesAndNotWhatStreams) {
  DeviceSpec capped = test::measured_devices().at("A100-SXM4-80GB");
  capped.clock.sustained = Hertz(capped.clock.sustained.value() / 2);  // as under half the power
  const OpModels full = models("A100-SXM4-80GB"), half = *OpModels::create(capped);
  const Op product = Gemm{1, 8192, 8192, 8192, DType::bf16}, stream = Elementwise{1'000'000'000};
  EXPECT_GT(us(half, product) / us(full, product), 1.6) << "the loads from L2 stay as they are";
  EXPECT_NEAR(us(half, stream) / us(full, stream), 1, 0.01);
}

TEST(OpModels, RefusesADeviceWithoutItsFacts) {
  const auto spec = test::measured_devices().at("A100-SXM4-80GB");
  const std::vector<std::function<void(DeviceSpec&)>> breakers{
      [](DeviceSpec& d) { d.sm_count = 0; }, [](DeviceSpec& d) { d.hbm.bandwidth = BytesPerSecond(0); },
      [](DeviceSpec& d) { d.l2.bandwidth = BytesPerSecond(-1); }, [](DeviceSpec& d) { d.clock.sustained = Hertz(std::nan("")); },
      [](DeviceSpec& d) { d.peak.clear(); }, [](DeviceSpec& d) { d.pcie_bandwidth = BytesPerSecond(0); }};
  for (const auto& breaker : breakers) {
    DeviceSpec broken = spec;
    breaker(broken);
    EXPECT_FALSE(OpModels::create(broken).ok());
  }
}

TEST(Registry, EveryAlternativeHasItsModelUnderItsOwnName) {
  const auto entries = op_model_entries();
  ASSERT_EQ(entries.size(), std::variant_size_v<Op> - 1) << "all but Collective";
  std::vector<Op> alternatives{Absent{}, Gemm{}, Conv2d{}, EmbeddingBag{}, Interaction{}, CrossLayer{}, Normalization{}, Softmax{}, Attention{}, Elementwise{},
                               Loss{}, Copy{}, Concat{}, Transpose{}, Optimizer{}, HostWork{}, Measured{}};
  ASSERT_EQ(alternatives.size(), entries.size());
  std::set<std::string_view> sentences;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    EXPECT_EQ(entries[i].info.kind, kind_of(alternatives[i]));
    EXPECT_FALSE(entries[i].info.sentence.empty());
    EXPECT_EQ(op_model_registry()[i].kind, entries[i].info.kind);
  }
}

}  // namespace
}  // namespace distsim
