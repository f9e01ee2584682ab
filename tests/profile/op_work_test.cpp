// Operations and traffic of ops, against counts by hand.
#include <gtest/gtest.h>

#include "sim/profile/ops/op_flops.hpp"

namespace distsim::profile {
namespace {

using Shapes = std::vector<std::vector<std::int64_t>>;

traces::OpInputs call_of(const Shapes& shapes, std::vector<std::string> values = {},
                         const std::vector<std::string>& types = {}) {
  traces::OpInputs in;
  for (std::size_t i = 0; i < shapes.size(); ++i)
    in.tensors.push_back({shapes[i], i < types.size() ? types[i] : "float", -1});
  in.values = std::move(values);
  return in;
}

double attention(const std::string& name, const Shapes& shapes, std::vector<std::string> values = {}) {
  return op_work(name, call_of(shapes, std::move(values))).flops;
}

const std::vector<std::int64_t> kHeadsFirst{2, 16, 1024, 64}, kLengthFirst{2, 1024, 16, 64}, kPacked{2048, 16, 64};
constexpr double kForward = 4. * 2 * 16 * 1024 * 1024 * 64, kBackward = 2.5 * kForward;
constexpr double kCausal = kForward * 1025 / 2048;  // 1024 * 1025 / 2 of 1024^2 pairs

TEST(AttentionFlops, LayoutsAreTold) {
  const Shapes heads(3, kHeadsFirst), lengths(3, kLengthFirst);
  for (const char* name : {"scaled_dot_product_attention", "_scaled_dot_product_flash_attention",
                           "_scaled_dot_product_efficient_attention", "_scaled_dot_product_cudnn_attention",
                           "_scaled_dot_product_attention_math", "_scaled_dot_product_flash_attention_for_cpu",
                           "_cudnn_attention_forward", "_scaled_dot_product_fused_attention_overrideable"})
    EXPECT_DOUBLE_EQ(attention("aten::" + std::string(name), heads), kForward) << name;
  for (const char* name :
       {"aten::_flash_attention_forward", "aten::_efficient_attention_forward", "flash_attn::_flash_attn_forward"})
    EXPECT_DOUBLE_EQ(attention(name, lengths), kForward) << name;
  const Shapes heads_back(6, kHeadsFirst), lengths_back(6, kLengthFirst);
  for (const char* name : {"flash", "efficient", "cudnn", "fused"}) {
    const std::string op = "aten::_scaled_dot_product_" + std::string(name) + "_attention" +
                           (name == std::string("fused") ? "_overrideable" : "") + "_backward";
    EXPECT_DOUBLE_EQ(attention(op, heads_back), kBackward) << op;
  }
  for (const char* name :
       {"aten::_flash_attention_backward", "aten::_efficient_attention_backward", "flash_attn::_flash_attn_backward"})
    EXPECT_DOUBLE_EQ(attention(name, lengths_back), kBackward) << name;
}

TEST(AttentionFlops, FewerKeysHeadsAndWidths) {
  // q of 32 heads, k and v of 8; 16 queries, 48 keys; heads of 64, of v 128.
  EXPECT_DOUBLE_EQ(
      attention("aten::_scaled_dot_product_flash_attention", {{3, 32, 16, 64}, {3, 8, 48, 64}, {3, 8, 48, 128}}),
      2. * (64 + 128) * 3 * 32 * 16 * 48);
}

TEST(AttentionFlops, CausalPairsOnly) {
  const Shapes heads(3, kHeadsFirst), lengths(3, kLengthFirst);
  EXPECT_DOUBLE_EQ(
      attention("aten::_scaled_dot_product_flash_attention", heads, {"", "", "", "0.", "True", "False", ""}), kCausal);
  EXPECT_DOUBLE_EQ(attention("aten::scaled_dot_product_attention", heads, {"", "", "", "", "0.", "True", "", "False"}),
                   kCausal);
  EXPECT_DOUBLE_EQ(
      attention("aten::_scaled_dot_product_efficient_attention", heads, {"", "", "", "", "True", "0.", "False", ""}),
      kForward);
  EXPECT_DOUBLE_EQ(attention("aten::_scaled_dot_product_cudnn_attention", heads,
                             {"", "", "", "", "False", "0.", "True", "False", ""}),
                   kCausal);
  EXPECT_DOUBLE_EQ(attention("aten::_flash_attention_forward", lengths,
                             {"", "", "", "", "", "1024", "1024", "0.", "True", "False", "", "", "", "", ""}),
                   kCausal);
  EXPECT_DOUBLE_EQ(attention("aten::_efficient_attention_forward", lengths,
                             {"", "", "", "", "", "", "", "", "0.", "1", "True", "", "", ""}),
                   kCausal);
  EXPECT_DOUBLE_EQ(
      attention("flash_attn::_flash_attn_forward", lengths, {"", "", "", "0.", "0.125", "True", "-1", "-1"}), kCausal);
  // One query and 1024 keys: flash attention lets it see all, scaled_dot_product_attention the first.
  const Shapes one{{1, 1, 8, 64}, {1, 1024, 8, 64}, {1, 1024, 8, 64}};
  EXPECT_DOUBLE_EQ(attention("flash_attn::_flash_attn_forward", one, {"", "", "", "0.", "", "True", "-1", "-1"}),
                   4. * 8 * 1024 * 64);
}

TEST(AttentionFlops, UnknownWorkIsNone) {
  const Shapes lengths(3, kLengthFirst);
  EXPECT_EQ(attention("flash_attn::_flash_attn_forward", lengths, {"", "", "", "0.", "", "True", "128", "0"}), 0)
      << "a window";
  Shapes packed(3, kPacked);
  packed.insert(packed.end(), {{3}, {3}});
  const std::vector<std::string> even{"", "", "", "", "", "1024", "1024", "0.", "", "False", "-1", "-1"},
      uneven{"", "", "", "", "", "1536", "1536", "0.", "", "False", "-1", "-1"};
  EXPECT_DOUBLE_EQ(attention("flash_attn::_flash_attn_varlen_forward", packed, even), kForward);
  EXPECT_DOUBLE_EQ(attention("aten::_flash_attention_forward", packed, even), kForward);
  EXPECT_EQ(attention("flash_attn::_flash_attn_varlen_forward", packed, uneven), 0) << "sequences of several lengths";
}

TEST(ConvolutionFlops, TransposedAndGradients) {
  const auto values = [](const char* transposed) {
    return std::vector<std::string>{"", "", "", "[2, 2]", "[0, 0]", "[1, 1]", transposed, "[0, 0]", "1"};
  };
  const Shapes x{{32, 64, 56, 56}, {64, 32, 2, 2}};
  EXPECT_DOUBLE_EQ(op_work("aten::convolution", call_of(x, values("True"))).flops, 2. * 32 * 64 * 56 * 56 * 32 * 2 * 2);
  EXPECT_DOUBLE_EQ(op_work("aten::conv_transpose2d", call_of(x)).flops, 2. * 32 * 64 * 56 * 56 * 32 * 2 * 2);
  const double forward = 2. * 32 * 128 * 28 * 28 * 64 * 3 * 3;
  const auto backward = [&](const char* mask) {
    return op_work("aten::convolution_backward",
                   call_of({{32, 128, 28, 28}, {32, 64, 56, 56}, {128, 64, 3, 3}},
                           {"", "", "", "[0]", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1", mask}))
        .flops;
  };
  EXPECT_DOUBLE_EQ(backward("[True, True, False]"), 2 * forward);
  EXPECT_DOUBLE_EQ(backward("[False, True, True]"), forward);
  EXPECT_DOUBLE_EQ(backward("[True, False, False]"), forward);
  EXPECT_DOUBLE_EQ(backward("[False, False, True]"), 0);
  EXPECT_DOUBLE_EQ(backward(""), 2 * forward);
}

TEST(ElementwiseTraffic, ReadsAndWrites) {
  const auto bytes = [](const std::string& name, const Shapes& shapes, const std::vector<std::string>& types = {}) {
    return op_work("aten::" + name, call_of(shapes, {}, types)).bytes;
  };
  EXPECT_DOUBLE_EQ(bytes("copy_", {{100}, {100}, {}}), 800);
  EXPECT_DOUBLE_EQ(bytes("copy_", {{100}, {100}, {}}, {"c10::Half", "float"}), 600);
  EXPECT_DOUBLE_EQ(bytes("copy_", {{10, 100}, {100}, {}}), 4400) << "a source that is repeated";
  for (const char* name : {"fill_", "zero_", "normal_", "uniform_", "random_", "bernoulli_", "exponential_"})
    EXPECT_DOUBLE_EQ(bytes(name, {{100}, {}}), 400) << name;
  EXPECT_DOUBLE_EQ(bytes("add_", {{100}, {100}, {}}), 1200);
  EXPECT_DOUBLE_EQ(bytes("relu_", {{100}}), 800);
  EXPECT_DOUBLE_EQ(bytes("add", {{100}, {100}, {}}), 1200);
  EXPECT_DOUBLE_EQ(bytes("add", {{100}, {100}, {}, {100}}), 1200) << "out=";
  EXPECT_DOUBLE_EQ(bytes("mul", {{100, 1}, {1, 50}}), 4 * (100 + 50 + 5000)) << "broadcast";
  EXPECT_DOUBLE_EQ(bytes("cat", {{100}, {100}, {}}), 1600);
  EXPECT_DOUBLE_EQ(bytes("cat", {{100}, {100}, {}, {200}}), 1600) << "out=";
}

TEST(ElementwiseTraffic, ExpandedInputsAreWhatTheyHold) {
  traces::OpInputs in = call_of({{8, 100}, {8, 100}});
  EXPECT_DOUBLE_EQ(op_work("aten::copy_", in).bytes, 6400);
  EXPECT_DOUBLE_EQ(op_work("aten::copy_", in).least_bytes, 3200) << "the source may be expanded";
  in.tensors[1].in_memory = 100;
  EXPECT_DOUBLE_EQ(op_work("aten::copy_", in).bytes, 3600);
  EXPECT_DOUBLE_EQ(op_work("aten::copy_", in).least_bytes, 3600);
}

}  // namespace
}  // namespace distsim::profile
