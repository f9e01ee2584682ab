#include "sim/graph/op.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "sim/graph/cost.hpp"

namespace distsim::graph {
namespace {

TEST(DType, NamesComeBackAsTheSameType) {
  for (int i = 0; i < 9; ++i) {
    const auto dtype = static_cast<DType>(i);
    ASSERT_TRUE(parse_dtype(name_of(dtype)).ok());
    EXPECT_EQ(*parse_dtype(name_of(dtype)), dtype);
  }
}

TEST(DType, SizesInMemory) {
  EXPECT_EQ(size_of(DType::fp64), 8);
  EXPECT_EQ(size_of(DType::fp32), 4);
  EXPECT_EQ(size_of(DType::tf32), 4) << "tf32 is a way to multiply, stored as fp32";
  EXPECT_EQ(size_of(DType::bf16), 2);
  EXPECT_EQ(size_of(DType::fp8), 1);
  EXPECT_EQ(size_of(DType::int64), 8);
}

TEST(DType, SpellingsOfFrameworks) {
  EXPECT_EQ(*parse_dtype("float32"), DType::fp32);
  EXPECT_EQ(*parse_dtype("BFloat16"), DType::bf16);
  EXPECT_EQ(*parse_dtype("half"), DType::fp16);
  EXPECT_EQ(*parse_dtype("long"), DType::int64);
}

TEST(DType, UnknownNameIsAnErrorThatListsTheKnown) {
  const auto result = parse_dtype("bf17");
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().what.find("found 'bf17'"), std::string::npos);
  EXPECT_NE(result.error().what.find("bf16"), std::string::npos);
  EXPECT_FALSE(parse_dtype("").ok());
}

TEST(Collective, SpellingsOfNcclAndTorch) {
  EXPECT_EQ(*parse_collective("AllReduce"), CollectiveKind::all_reduce);
  EXPECT_EQ(*parse_collective("all-to-all"), CollectiveKind::all_to_all);
  EXPECT_EQ(*parse_collective("alltoallv"), CollectiveKind::all_to_all_v);
  EXPECT_EQ(*parse_collective("sendrecv"), CollectiveKind::send_recv);
  EXPECT_EQ(*parse_collective("bcast"), CollectiveKind::broadcast);
  EXPECT_FALSE(parse_collective("all_reduc3").ok());
  EXPECT_FALSE(parse_collective("").ok());
  for (int i = 0; i < 11; ++i) {
    const auto kind = static_cast<CollectiveKind>(i);
    EXPECT_EQ(*parse_collective(name_of(kind)), kind);
  }
}

TEST(Op, KindsFollowTheAlternatives) {
  EXPECT_EQ(kind_of(Absent{}), "absent");
  EXPECT_EQ(kind_of(Gemm{}), "gemm");
  EXPECT_EQ(kind_of(EmbeddingBag{}), "embedding_bag");
  EXPECT_EQ(kind_of(CrossLayer{}), "cross_layer");
  EXPECT_EQ(kind_of(Elementwise{}), "elementwise");
  EXPECT_EQ(kind_of(Optimizer{}), "optimizer");
  EXPECT_EQ(kind_of(HostWork{}), "host_work");
  EXPECT_EQ(kind_of(Measured{}), "measured");
  EXPECT_EQ(kind_of(Collective{}), "collective");
}

TEST(Op, OneLineForPeople) {
  EXPECT_EQ(describe(Gemm{1, 2048, 1024, 480, DType::fp16}), "gemm 2048x1024x480 fp16");
  EXPECT_EQ(describe(Gemm{64, 27, 27, 128, DType::fp32}), "gemm 64 of 27x27x128 fp32");
  EXPECT_EQ(describe(Copy{CopyKind::h2d, 1024}), "copy h2d 1024 B");
  EXPECT_EQ(describe(Absent{}), "absent");
  EXPECT_EQ(describe(Measured{Duration::microseconds(3)}), "measured 3 us");
  EmbeddingBag bag;
  bag.tables = {{1000, 64, 10, 0}, {10, 64, 1, 0}};
  bag.batch = 512;
  EXPECT_EQ(describe(bag), "embedding_bag 2 tables batch 512 indices/sample 11 fp32");
}

TEST(Flops, ProductsCountAMultiplyAddAsTwo) {
  EXPECT_DOUBLE_EQ(flops_of(Gemm{4, 3, 5, 7, DType::fp32}), 2.0 * 4 * 3 * 5 * 7);
  EXPECT_DOUBLE_EQ(flops_of(Gemm{1, 1'000'000'000, 1'000'000'000, 1'000'000'000, DType::fp32}), 2e27) << "beyond int64";
}

TEST(Flops, ConvolutionOfResNetStem) {
  // 7x7 stride 2 pad 3 on 224x224: 112x112 outputs. 2 * 112*112*64 * 3*7*7 = 236,027,904 a sample.
  Conv2d conv{1, 3, 224, 224, 64, 7, 7, 2, 3};
  EXPECT_DOUBLE_EQ(flops_of(conv), 236027904.0);
  conv.pass = Pass::backward;
  EXPECT_DOUBLE_EQ(flops_of(conv), 2 * 236027904.0) << "data and weight gradient";
  conv.stride = 0;
  EXPECT_DOUBLE_EQ(flops_of(conv), 0) << "no division by zero on a shape that is refused elsewhere";
}

TEST(Flops, OnlyUsefulWorkCounts) {
  // 27 vectors of 128: 351 dot products of 128 multiply-adds a sample, not 27 x 27.
  EXPECT_DOUBLE_EQ(flops_of(Interaction{2, 27, 128}), 2 * 351 * 2.0 * 128);
  Attention attention{2, 3, 8, 8, 4};
  EXPECT_DOUBLE_EQ(flops_of(attention), 2 * 2.0 * (2 * 3) * 8 * 8 * 4);
  attention.causal = true;
  EXPECT_DOUBLE_EQ(flops_of(attention), 2.0 * (2 * 3) * 8 * 8 * 4);
  EXPECT_DOUBLE_EQ(flops_of(Copy{CopyKind::d2d, 1 << 20}), 0);
  EXPECT_DOUBLE_EQ(flops_of(Collective{}), 0);
}

TEST(Cost, BuildsTheBandAroundTheMean) {
  const auto cost = make_cost(10e-6, 0.2, 0.5, Basis::analytic, "test");
  ASSERT_TRUE(cost.ok());
  EXPECT_EQ(cost->mean, Duration::microseconds(10));
  EXPECT_EQ(cost->low, Duration::microseconds(8));
  EXPECT_EQ(cost->high, Duration::microseconds(15));
  EXPECT_EQ(name_of(cost->basis), "analytic");
}

TEST(Cost, RefusesWhatIsNoTime) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  for (const double bad : {nan, inf, -inf, -1e-9, 1e7})
    EXPECT_FALSE(make_cost(bad, 0.1, 0.1, Basis::learned, "").ok()) << bad;
  for (const double bad : {nan, inf, -0.1, 1.5})
    EXPECT_FALSE(make_cost(1e-6, bad, 0.1, Basis::learned, "").ok()) << bad;
  for (const double bad : {nan, inf, -0.1}) EXPECT_FALSE(make_cost(1e-6, 0.1, bad, Basis::learned, "").ok()) << bad;
}

}  // namespace
}  // namespace distsim::graph
