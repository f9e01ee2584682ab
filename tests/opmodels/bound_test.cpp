// Which side of the roofline a kernel is on.
#include "opmodels/hardware/bound.hpp"

#include <gtest/gtest.h>

#include "device_fixtures.hpp"
#include "opmodels/op_models.hpp"

namespace distsim::opmodels {
namespace {

graph::Bound bound(const graph::Op& op) {
  const OpModels models = OpModels::create(measured_devices().at("A100-SXM4-80GB")).value();
  return models.price(op).value().bound;
}

TEST(Bound, LargeProductsAreCompute) {
  EXPECT_EQ(bound(graph::Gemm{1, 4096, 4096, 4096, graph::DType::fp16}), graph::Bound::compute);
  EXPECT_EQ(bound(graph::Attention{.batch = 8,
                                   .heads = 16,
                                   .q_len = 4096,
                                   .kv_len = 4096,
                                   .head_dim = 128,
                                   .flash = true,
                                   .dtype = graph::DType::fp16}),
            graph::Bound::compute);
}

/// 312 TFLOP/s over 2.0 TB/s: about 150 operations per byte. A product of 16 rows has 16 for each byte of the weights.
TEST(Bound, ThinProductsAreMemory) {
  EXPECT_EQ(bound(graph::Gemm{1, 16, 4096, 4096, graph::DType::fp16}), graph::Bound::memory);
}

TEST(Bound, WhatStreamsIsMemory) {
  EXPECT_EQ(bound(graph::Elementwise{100'000'000, 2, 1, 1, graph::DType::fp16}), graph::Bound::memory);
  EXPECT_EQ(bound(graph::Copy{graph::CopyKind::d2d, 1 << 30}), graph::Bound::memory);
  graph::EmbeddingBag bag;
  bag.tables.assign(8, {1'000'000, 128, 10, 1.05});
  bag.batch = 65536;
  EXPECT_EQ(bound(bag), graph::Bound::memory);
}

/// 200 operations on each element of 2 bytes: more than the lanes do while it is read and written.
TEST(Bound, LongFunctionsAreCompute) {
  EXPECT_EQ(bound(graph::Elementwise{100'000'000, 1, 1, 200, graph::DType::fp16}), graph::Bound::compute);
}

}  // namespace
}  // namespace distsim::opmodels
