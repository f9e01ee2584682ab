#include "mpi_bench/op/grid.hpp"

#include <gtest/gtest.h>

#include <set>

#include "mpi_bench/op/op_options.hpp"

namespace distsim::bench {
namespace {

std::string identity(const bench::OpCase& c) { return bench::describe(c); }

TEST(OpGrid, NoCaseTwiceAndEveryDimensionPositive) {
  for (bench::GridSize size : {bench::GridSize::smoke, bench::GridSize::standard}) {
    const auto cases = bench::build_grid({}, {}, size);
    ASSERT_TRUE(cases.ok());
    std::set<std::string> seen;
    for (const bench::OpCase& c : *cases) {
      EXPECT_TRUE(seen.insert(identity(c)).second) << identity(c);
      EXPECT_GT(bench::operand_bytes(c), 0) << identity(c);
      EXPECT_EQ(bench::shape_columns(bench::family_of(c)).size(), bench::shape_values(c).size());
      const auto* embedding = std::get_if<bench::EmbeddingShape>(&c.shape);
      EXPECT_TRUE(embedding == nullptr || embedding->dim % 4 == 0) << "our kernels take four elements at a time";
    }
  }
}

TEST(OpGrid, EveryOpAndDtypeIsThere) {
  std::set<std::pair<std::string, std::string>> found;
  const auto cases = bench::build_grid({}, {}, bench::GridSize::standard);
  for (const bench::OpCase& c : *cases) found.insert({c.op, c.dtype});
  for (const bench::MeasurableOp& op : bench::measurable_ops())
    for (std::string_view dtype : op.dtypes)
      EXPECT_TRUE(found.contains({std::string(op.name), std::string(dtype)})) << op.name << ' ' << dtype;
}

TEST(OpGrid, ChoosesAndRefuses) {
  const auto cases = bench::build_grid({"add", "linear"}, {"fp16"}, bench::GridSize::smoke);
  EXPECT_EQ(cases->size(), 4u + 24u);  // 2 x 2 arrays, 2 x 2 x 2 products in 3 layouts
  for (const bench::OpCase& c : *cases) {
    EXPECT_TRUE(c.op == "add" || c.op == "linear");
    EXPECT_EQ(c.dtype, "fp16");
  }
  EXPECT_NE(bench::build_grid({"lnear"}, {}, bench::GridSize::smoke).error().text().find("did you mean 'linear'"),
            std::string::npos);
  EXPECT_FALSE(bench::build_grid({"add"}, {"tf32"}, bench::GridSize::smoke).ok());
}

// bmm: 2 x 2 x 3 x 5 x 7 flop; elements A 2x3x7 = 42, B 2x7x5 = 70, C 2x3x5 = 30, together 142 of 2 bytes.
TEST(OpCase, BytesAndFlopsByHand) {
  const bench::OpCase gemm{"bmm", "fwd", "bf16", bench::GemmShape{2, 3, 5, 7, "NN"}};
  EXPECT_EQ(bench::flops(gemm), 2 * 2 * 3 * 5 * 7);
  EXPECT_EQ(bench::operand_bytes(gemm), 142 * 2);
  const bench::OpCase add{"add", "fwd", "fp32", bench::VectorShape{10, 100}};
  EXPECT_EQ(bench::operand_bytes(add), 3 * 4000);
  const bench::OpCase copy{"copy_h2d", "fwd", "int8", bench::VectorShape{1, 512}};
  EXPECT_EQ(bench::operand_bytes(copy), 512);
  EXPECT_EQ(bench::flops(copy), 0);
  // 2 tables of 50 rows of 8 halves, 3 bags each of 4 indices of 8 bytes: 1600 + 2x3x8x2 + 24x8
  const bench::OpCase bag{"embedding_bag", "fwd", "fp16", bench::EmbeddingShape{2, 3, 4, 50, 8, 1.05}};
  EXPECT_EQ(bench::operand_bytes(bag), 1600 + 96 + 192);
  EXPECT_EQ(bench::flops(bag), 24 * 8);
  EXPECT_EQ(bench::shape_values(bag), (std::vector<std::string>{"2", "3", "24", "100", "8"}));
  EXPECT_EQ(bench::extra_value(bag), "pooling=4;alpha=1.05");
}

// 2 images 4 x 5 x 5, 6 filters 2 x 3 x 3 in 2 groups, stride 2, padding 1: output 3 x 3. Images 200, filters 108,
// output 2 x 6 x 9 = 108 elements.
TEST(OpCase, ConvolutionByHand) {
  const bench::OpCase conv{"conv2d", "fwd", "bf16", bench::ConvShape{2, 4, 5, 6, 3, 2, 1, 2, "nhwc"}};
  EXPECT_EQ(bench::operand_bytes(conv), 2 * (200 + 108 + 108));
  EXPECT_EQ(bench::flops(conv), 2.0 * 108 * (2 * 3 * 3));
  EXPECT_EQ(bench::shape_values(conv),
            (std::vector<std::string>{"2", "4", "5", "5", "6", "3", "3", "2", "2", "1", "1", "1", "2"}));
  EXPECT_EQ(bench::extra_value(conv), "layout=nhwc");
  EXPECT_EQ(bench::family_of(conv), "conv2d");
}

TEST(OpCase, FusedOpsByHand) {
  // 10 samples of 3 vectors of 8 halves in; 8 and 3 pairs out. Each pair is 8 multiply-adds.
  const bench::OpCase interaction{"interaction", "fwd", "fp16", bench::VectorShape{10, 24, "features=3;dim=8"}};
  EXPECT_EQ(bench::operand_bytes(interaction), 2 * 10 * (24 + 8 + 3));
  EXPECT_EQ(bench::flops(interaction), 10 * 3 * 2 * 8);
  // 2 heads of 16 x 16 scores over 8: Q, K, V, output 4 x 2 x 16 x 8 elements, scores before and after softmax; two
  // products of 2 x 2 x 256 x 8.
  const bench::OpCase attention{"attention", "fwd", "bf16",
                                bench::VectorShape{32, 16, "heads=2;length=16;dim=8;flash=0"}};
  EXPECT_EQ(bench::operand_bytes(attention), 2 * (4 * 256 + 2 * 512));
  EXPECT_EQ(bench::flops(attention), 2.0 * (2 * 2 * 256 * 8));
  const bench::OpCase adam{"optimizer_adam", "update", "fp32", bench::VectorShape{3, 100, "tensors=3"}};
  EXPECT_EQ(bench::operand_bytes(adam), 300 * 16);
}

// The gradients by hand: 2 heads of 16 rows over 8 columns of each head: four products of 2 x 2 x 256 x 8, and one more
// where the scores are made again.
TEST(OpCase, BackwardPassesByHand) {
  const bench::OpCase norm{"layernorm", "bwd", "fp32", bench::VectorShape{10, 100, ""}};
  EXPECT_EQ(bench::operand_bytes(norm), 3 * 4000);  // x, dy, dx
  const bench::OpCase attention{"attention", "bwd", "bf16",
                                bench::VectorShape{32, 16, "heads=2;length=16;dim=8;flash=0"}};
  EXPECT_EQ(bench::operand_bytes(attention), 2 * (7 * 256 + 3 * 512));
  EXPECT_EQ(bench::flops(attention), 4.0 * (2 * 2 * 256 * 8));
  const bench::OpCase flash{"flash_attention", "bwd", "bf16",
                            bench::VectorShape{32, 16, "heads=2;length=16;dim=8;flash=1"}};
  EXPECT_EQ(bench::operand_bytes(flash), 2 * 8 * 256 + 4 * 32);
  EXPECT_EQ(bench::flops(flash), 5.0 * (2 * 2 * 256 * 8));
  const bench::OpCase peer{"copy_p2p", "fwd", "int8", bench::VectorShape{1, 512, ""}};
  EXPECT_EQ(bench::operand_bytes(peer), 512);
  EXPECT_EQ(bench::peer_of(0, 2), 1);
  EXPECT_EQ(bench::peer_of(7, 8), 0);
}

// LSTM of 2 directions, 3 sequences of 5 steps, 11 inputs, 7 units: 30 x 4 x 7 x 18 multiply-adds; 2 x 4 x 7 x (11 + 7 +
// 2) weights and biases, 15 x (11 + 14) values in and out.
TEST(OpCase, RecurrentLayersByHand) {
  const bench::OpCase lstm{"lstm", "fwd", "fp16", bench::RecurrentShape{3, 5, 11, 7, 2, "per_step"}};
  EXPECT_EQ(bench::flops(lstm), 2.0 * 30 * 4 * 7 * 18);
  EXPECT_EQ(bench::operand_bytes(lstm), 2.0 * (2 * 4 * 7 * 20 + 15 * 25));
  EXPECT_EQ(bench::family_of(lstm), "recurrent");
  EXPECT_EQ(bench::shape_values(lstm), (std::vector<std::string>{"3", "5", "11", "7", "2", "per_step"}));
  const bench::OpCase gru{"gru", "bwd_data", "fp16", bench::RecurrentShape{3, 5, 11, 7, 2, "per_step"}};
  EXPECT_EQ(bench::flops(gru), 0.75 * bench::flops(lstm));
  EXPECT_EQ(bench::operand_bytes(gru), 4.0 * (2 * 3 * 7 * 20 + 15 * 25));
}

TEST(OpGrid, PersistentKernelsAreAskedForOnlyWhereTheirWeightsFit) {
  std::size_t persistent = 0;
  const auto cases = bench::build_grid({"lstm", "gru"}, {}, bench::GridSize::standard);
  for (const bench::OpCase& c : *cases) {
    const auto& s = std::get<bench::RecurrentShape>(c.shape);
    if (s.kernels != "persistent") continue;
    ++persistent;
    EXPECT_LE(s.hidden, 1024);
    EXPECT_EQ(s.directions, 1);
    EXPECT_EQ(bench::dtype_bytes(c.dtype), 2);
  }
  EXPECT_GT(persistent, 0u);
}

// The products of the steps are those that the case counts, and the softmax's gradient is among those of the backward
// pass.
TEST(OpCase, StepsOfAttentionAddUp) {
  for (const char* pass : {"fwd", "bwd"}) {
    const bench::OpCase attention{"attention", pass, "fp16",
                                  bench::VectorShape{4 * 128, 128, "heads=4;length=128;dim=64;flash=0"}};
    double products = 0;
    int softmaxes = 0;
    for (const bench::OpCase& step : bench::attention_steps(attention)) {
      if (std::holds_alternative<bench::GemmShape>(step.shape))
        products += bench::flops(step);
      else
        softmaxes += step.op == "softmax" && step.pass == pass ? 1 : 0;
    }
    EXPECT_EQ(products, bench::flops(attention)) << pass;
    EXPECT_EQ(softmaxes, 1) << pass;
  }
}

TEST(OpGrid, GradientsAreThereForWhatHasThem) {
  std::set<std::string> backward;
  const auto cases = bench::build_grid({}, {}, bench::GridSize::smoke);
  for (const bench::OpCase& c : *cases) {
    if (c.pass == "bwd") backward.insert(c.op);
  }
  EXPECT_EQ(backward, (std::set<std::string>{"attention", "flash_attention", "layernorm", "softmax"}));
}

TEST(OpGrid, EightBitProductsAreThoseThatTheLibraryHas) {
  const auto cases = bench::build_grid({"linear"}, {"fp8"}, bench::GridSize::standard);
  for (const bench::OpCase& c : *cases) {
    const auto& s = std::get<bench::GemmShape>(c.shape);
    EXPECT_EQ(s.layout, "NT");
    EXPECT_EQ(s.n % 16 + s.k % 16, 0);
  }
}

TEST(OpOptions, ListHasALineACase) {
  const auto cases = bench::build_grid({"copy_d2d"}, {}, bench::GridSize::smoke);
  const std::string text = bench::list_text(*cases);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), static_cast<std::ptrdiff_t>(cases->size()) + 1);
  EXPECT_NE(text.find("copy_d2d,fwd,int8,1x256,,512,0\n"), std::string::npos);
}

TEST(OpOptions, ListNamesFlagsOfMeasurements) {
  const auto remarks = [](std::vector<const char*> flags) {
    flags.insert(flags.begin(), "op_bench");
    return bench::parse_op_bench(static_cast<int>(flags.size()), flags.data())->remarks;
  };
  EXPECT_EQ(remarks({"--list", "--ops", "add", "--flush-l2", "--out", "x"}),
            (std::vector<std::string>{"--out: no effect, --list measures nothing",
                                      "--flush-l2: no effect, --list measures nothing"}));
  EXPECT_TRUE(remarks({"--ops", "add", "--flush-l2", "--out", "x"}).empty());
}

TEST(OpOptions, RefusalsNameTheFlag) {
  const auto error = [](std::vector<const char*> flags) {
    flags.insert(flags.begin(), "op_bench");
    const auto command = bench::parse_op_bench(static_cast<int>(flags.size()), flags.data());
    return command.ok() ? std::string("accepted") : command.error().text();
  };
  EXPECT_NE(error({"--grid", "big"}).find("--grid: found 'big'"), std::string::npos);
  EXPECT_NE(error({"--relative-error", "0"}).find("--relative-error: found 0"), std::string::npos);
  EXPECT_NE(error({"--relative-error", "nan"}).find("--relative-error"), std::string::npos);
  EXPECT_NE(error({"--min-repetitions", "010"})
                .find("found '010', expected a whole number; write it without zeros in front: 10"),
            std::string::npos);
  EXPECT_NE(error({"--min-repetitions", "1"}).find("--min-repetitions: found 1"), std::string::npos);
  EXPECT_NE(error({"--min-repetitions", "50", "--max-repetitions", "20"}).find("--max-repetitions: found 20"),
            std::string::npos);
  EXPECT_NE(error({"--device", "-1"}).find("--device: found -1"), std::string::npos);
  EXPECT_EQ(error({"--max-repetitions", "99999999999999"}),
            "--max-repetitions: found 99999999999999, expected --min-repetitions .. 1000000");
  EXPECT_EQ(error({"--device", "0", "--device", "1"}), "--device: found twice, expected once; see op_bench --help");
  EXPECT_EQ(error({"--ops", "add,,mul"}),
            "--ops: found an empty word in 'add,,mul', expected a word before and after each comma");
  EXPECT_EQ(error({"--ops", "add,mul", "--dtypes", "fp16", "--flush-l2"}), "accepted");
}

}  // namespace
}  // namespace distsim::bench
