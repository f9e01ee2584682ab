#include "sim/graph/op.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "sim/graph/cost.hpp"

namespace distsim::graph {
namespace {

TEST(DType, NamesComeBackAsTheSameType) {
  for (std::size_t i = 0; i < kDTypes; ++i) {
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
  for (std::size_t i = 0; i < kNames<CollectiveKind>.size(); ++i) {
    const auto kind = static_cast<CollectiveKind>(i);
    EXPECT_EQ(*parse_collective(name_of(kind)), kind);
  }
}

TEST(Op, EveryKindHasItsNameAndBeginsItsLine) {
  std::set<std::string_view> names;
  for (std::size_t kind = 0; kind < kOpKinds; ++kind) {
    const Op op = default_op(kind);
    ASSERT_EQ(op.index(), kind);
    EXPECT_TRUE(names.insert(kind_of(op)).second) << kind_of(op) << " twice";
    EXPECT_TRUE(describe(op).starts_with(kind_of(op))) << describe(op);
  }
}

TEST(Op, FieldsOfAShapeHaveNamesOfTheirOwn) {
  for (std::size_t kind = 0; kind < kOpKinds; ++kind) {
    std::set<std::string_view> names;
    std::visit(
        [&](const auto& shape) {
          for_each_field([&](const Field& field, const auto&) { EXPECT_TRUE(names.insert(field.name).second); }, shape);
        },
        default_op(kind));
  }
}

TEST(Op, TheWorkOfAnOpIsWhoPricesIt) {
  EXPECT_EQ(work_of(Gemm{}), Work::kernel);
  EXPECT_EQ(work_of(Measured{}), Work::given) << "the user's time, not a model's";
  EXPECT_EQ(work_of(HostWork{}), Work::host);
  EXPECT_EQ(work_of(Copy{}), Work::copy);
  EXPECT_EQ(work_of(Collective{}), Work::collective);
  EXPECT_TRUE(has_kernels(Measured{}));
  EXPECT_FALSE(has_kernels(HostWork{}));
}

TEST(Op, OneLineForPeople) {
  EXPECT_EQ(describe(Gemm{1, 2048, 1024, 480, DType::fp16}), "gemm 2048x1024x480 fp16");
  EXPECT_EQ(describe(Gemm{64, 27, 27, 128, DType::fp32}), "gemm 64 of 27x27x128 fp32");
  EXPECT_EQ(describe(Copy{CopyKind::h2d, 1024}), "copy h2d 1024 B");
  EXPECT_EQ(describe(Absent{}), "absent");
  EXPECT_EQ(describe(Conv2d{8, 64, 56, 56, 256, 3, 3, 2, 1, 1, 4, DType::fp16, false, Pass::backward_data}),
            "conv2d 8x64x56x56 filters 256x3x3 stride 2 pad 1 groups 4 nchw fp16 backward_data");
  EXPECT_EQ(describe(CrossLayer{4, 8}), "cross_layer 4x8 full rank fp32 unfused");
  EXPECT_EQ(describe(CrossLayer{4, 8, 2}), "cross_layer 4x8 rank 2 fp32 unfused");
  EXPECT_EQ(describe(Optimizer{OptimizerKind::adam, 1000, 1, DType::fp16, true}),
            "optimizer adam 1000 parameters in 1 tensor fp16 master weights");
  EXPECT_EQ(describe(Elementwise{256, 2, 1, 1}), "elementwise 256 fp32 reads 2 writes 1");
  EXPECT_EQ(describe(Collective{CollectiveKind::all_to_all_v, 64, DType::fp32, {1, 2}, {2, 1}}),
            "collective all_to_all_v 64 B fp32 uneven");
  EXPECT_EQ(describe(Measured{Duration::microseconds(3)}), "measured 3 us");
  EXPECT_EQ(describe(Recurrent{Cell::gru, 64, 50, 512, 1024, 2, RecurrentKernels::per_step, DType::fp16,
                               Pass::backward_data}),
            "recurrent gru batch 64 length 50 from 512 to 1024 bidirectional fp16 per step backward_data");
  EmbeddingBag bag;
  bag.tables = {{1000, 64, 10, 0}, {10, 64, 1, 0}};
  bag.batch = 512;
  EXPECT_EQ(describe(bag), "embedding_bag 2 tables batch 512 indices/sample 11 fp32");
}

/// Two directions, 3 sequences of 5 steps: 30 x 4 gates x 7 units x (11 inputs + 7 states) multiply-adds.
TEST(Flops, RecurrentLayersCountTheirProducts) {
  Recurrent op{Cell::lstm, 3, 5, 11, 7, 2};
  EXPECT_DOUBLE_EQ(flops_of(op), 2.0 * 30 * 4 * 7 * 18);
  op.pass = Pass::backward;
  EXPECT_DOUBLE_EQ(flops_of(op), 4.0 * 30 * 4 * 7 * 18);
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
