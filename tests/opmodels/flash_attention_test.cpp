// Fused attention: worked out by hand, laws, and the rates that the libraries' authors publish.
#include "opmodels/analytic/flash_attention.hpp"

#include <gtest/gtest.h>

#include "base/config/config_node.hpp"
#include "device_fixtures.hpp"
#include "opmodels/op_models.hpp"
#include "test_paths.hpp"

namespace distsim::opmodels {
namespace {

using graph::AttentionLibrary;

OpModels shipped(const std::string& name) {
  const auto node = parse_yaml_file(test::config("devices/" + name + ".yaml"));
  return *OpModels::create(*topology::device_schema().read(*node));
}

/// 16k tokens in all, as the papers have it.
graph::Attention paper_op(std::int64_t dim, std::int64_t length, bool causal, graph::Pass pass) {
  return {16384 / length, 2048 / dim, length, length, dim, causal, true, false, graph::DType::bf16, pass};
}

double tflops(const OpModels& models, const graph::Attention& op) {
  const double counted = op.useful_flops() * (op.pass == graph::Pass::backward ? 1.25 : 1);  // papers: 2.5 x forward
  return counted / models.price(op)->mean.seconds() * 1e-12;
}

/// One query for each of 65536 keys and values: 17.2 GB of them in 16 x 32 heads, at no more than 2039 GB/s.
TEST(FlashAttention, OneTokenAtATimeReadsAllKeysAndValues) {
  const OpModels models = *OpModels::create(measured_devices().at("A100-SXM4-80GB"));
  const graph::Attention op{16, 32, 1, 65536, 128, false, true, false, graph::DType::bf16};
  EXPECT_GT(models.price(op)->mean.us(), 2.0 * 16 * 32 * 65536 * 256 / 2039e3);
}

/// A100 of the fixtures at 1330 of 1410 MHz: 294.298 TFLOP/s of bf16, 18.394 of fp32. 4 x 32 heads of 4096 x 4096 scores:
/// 2.14748e9. A score is 2 (128 + 128) flops at 0.945 of the rate, 1.84098 ps, and 0.70 of an exponential (16 x 108 a
/// clock: 0.43512 ps) and a lane operation (0.10873 ps): 0.38070 ps. 4.77100 ms in 37.926 waves, x 1.00029, and 38 x 2.2 us
/// of filling; one launch of 2 us. Memory (0.54 GB) takes 0.29 ms of the same time: overlap adds 0.00001.
TEST(FlashAttention, ForwardByHand) {
  const OpModels models = *OpModels::create(measured_devices().at("A100-SXM4-80GB"));
  graph::Attention op{4, 32, 4096, 4096, 128, false, true, false, graph::DType::bf16};
  op.library = AttentionLibrary::flash2;
  EXPECT_NEAR(models.price(op)->mean.us(), 4771.0 * 1.00029 + 83.6 + 2, 1);
  op.pass =
      graph::Pass::backward;  // 5 products at 0.83; 15.22 ps / 18.394 of lanes: (5.24 + 0.70 (0.43512 + 1.52224)) ps
  EXPECT_NEAR(models.price(op)->mean.us(), (5.2400 + 1.3702) * 2147.48 * 1.00029 + 83.6 + 4, 2);
}

/// Queries and keys of 192, values of 128: a score is 2 (192 + 128) flops forward, 2 (3 x 192 + 2 x 128) backward.
TEST(FlashAttention, LatentAttentionCountsBothWidths) {
  const OpModels models = shipped("a100_sxm4_80gb");
  graph::Attention mla{1, 128, 8192, 8192, 192, false, true, false, graph::DType::bf16};
  mla.value_dim = 128;
  graph::Attention square = mla;
  square.head_dim = 160;
  square.value_dim = 0;
  EXPECT_NEAR(models.price(mla)->mean.us() / models.price(square)->mean.us(), 1, 0.001) << "192 + 128 = 2 x 160";
  EXPECT_DOUBLE_EQ(mla.useful_flops(), square.useful_flops());
  mla.pass = square.pass = graph::Pass::backward;
  EXPECT_GT(models.price(mla)->mean, models.price(square)->mean) << "3 of the 5 products have the width of queries";
}

struct Published {
  const char* device;
  AttentionLibrary library;
  std::int64_t dim;
  double forward, backward;  // 0: not published
};
constexpr Published kPublished[] = {{"a100_sxm4_80gb", AttentionLibrary::flash1, 128, 120, 0},
                                    {"a100_sxm4_80gb", AttentionLibrary::flash2, 64, 192, 165},
                                    {"a100_sxm4_80gb", AttentionLibrary::flash2, 128, 227, 196},
                                    {"h100_sxm5_80gb", AttentionLibrary::flash2, 64, 320, 0},
                                    {"h100_sxm5_80gb", AttentionLibrary::flash2, 128, 390, 330},
                                    {"h100_sxm5_80gb", AttentionLibrary::flash3, 64, 497, 470},
                                    {"h100_sxm5_80gb", AttentionLibrary::flash3, 128, 650, 550},
                                    {"h100_sxm5_80gb", AttentionLibrary::flash3, 256, 740, 0},
                                    {"h100_sxm5_80gb", AttentionLibrary::cudnn, 128, 610, 530},
                                    {"b200", AttentionLibrary::cudnn, 128, 1400, 1050},
                                    {"b200", AttentionLibrary::flash4, 128, 1600, 1100},
                                    {"mi300x", AttentionLibrary::flash2, 128, 500, 330}};

TEST(FlashAttention, LongSequencesReachWhatIsPublished) {
  constexpr double kClose = 0.08;
  for (const Published& p : kPublished) {
    const OpModels models = shipped(p.device);
    graph::Attention op = paper_op(p.dim, 16384, false, graph::Pass::forward);
    op.library = p.library;
    const double forward = tflops(models, op);
    EXPECT_NEAR(forward / p.forward, 1, kClose) << p.device << " " << graph::name_of(p.library) << " " << p.dim;
    op.pass = graph::Pass::backward;
    const double backward = tflops(models, op);
    if (p.backward > 0) {
      EXPECT_NEAR(backward / p.backward, 1, kClose) << p.device << " " << graph::name_of(p.library) << " " << p.dim;
    }
  }
}

TEST(FlashAttention, TheFirstLibraryIsNoFasterThanTheSecond) {
  for (const char* device : {"t4", "a100_sxm4_80gb", "l40s", "h100_sxm5_80gb", "b200", "mi300x"}) {
    const OpModels models = shipped(device);
    for (const graph::Pass pass : {graph::Pass::forward, graph::Pass::backward}) {
      for (const std::int64_t dim : {64, 128, 256}) {
        graph::Attention op = paper_op(dim, 8192, true, pass);
        op.dtype = graph::DType::fp16;
        op.library = AttentionLibrary::flash2;
        const Duration second = models.price(op)->mean;
        op.library = AttentionLibrary::flash1;
        EXPECT_GE(models.price(op)->mean, second) << device << ", " << dim;
      }
    }
  }
}

/// A mask of whole blocks: at 2048 keys 1024 + 64 + 64 of a row's 2048 scores are worked on.
TEST(FlashAttention, CausalSavesLessThanHalf) {
  const OpModels models = shipped("a100_sxm4_80gb");
  const auto us = [&](std::int64_t length, bool causal) {
    return models.price(paper_op(128, length, causal, graph::Pass::forward))->mean.us();
  };
  EXPECT_NEAR(us(2048, true) / us(2048, false), 0.5 + 128.0 / 2048, 0.03);
  EXPECT_NEAR(us(16384, true) / us(16384, false), 0.5, 0.03);
  EXPECT_LE(us(128, true), us(128, false));
}

TEST(FlashAttention, AWindowBoundsTheWork) {
  const OpModels models = shipped("h100_sxm5_80gb");
  graph::Attention op{1, 64, 16384, 16384, 64, true, true, false, graph::DType::bf16};
  const auto full = models.price(op)->mean;
  Duration before;
  for (const std::int64_t window : {128, 1024, 4096, 8192, 16384, 65536}) {
    op.window = window;
    const auto now = models.price(op)->mean;
    EXPECT_GE(now, before) << window;
    EXPECT_LE(now, full) << window;
    before = now;
  }
  EXPECT_EQ(before, full) << "a window of all keys is none";
}

/// A window, however close to all keys, leaves no more to do than the causal mask alone.
TEST(FlashAttention, AWindowNeverCosts) {
  const OpModels models = shipped("h100_sxm5_80gb");
  for (const bool causal : {true, false}) {
    for (const std::int64_t length : {64, 200, 512, 1000, 4096}) {
      graph::Attention op{8, 64, length, length, 64, causal, true, false, graph::DType::bf16};
      const auto without = models.price(op)->mean;
      for (op.window = 1; op.window < length; op.window = op.window * 3 / 2 + 1)
        EXPECT_LE(models.price(op)->mean, without) << length << " keys, window " << op.window;
      op.window = length - 1;
      EXPECT_LE(models.price(op)->mean, without) << length;
    }
  }
}

/// A block works as long on one query more as on 128 of them.
TEST(FlashAttention, MoreQueriesAreNeverFaster) {
  for (const char* device : {"t4", "a100_sxm4_80gb", "h100_sxm5_80gb", "b200", "mi300x"}) {
    const OpModels models = shipped(device);
    for (const graph::Pass pass : {graph::Pass::forward, graph::Pass::backward}) {
      for (const bool causal : {true, false}) {
        for (const std::int64_t keys : {100, 1024, 65536}) {
          graph::Attention op{1, 8, 1, keys, 128, causal, true, false, graph::DType::fp16, pass};
          Duration before;
          for (; op.q_len < 3000; op.q_len += 1 + op.q_len / 20) {
            const Duration now = models.price(op)->mean;
            EXPECT_GE(now, before) << device << ", " << op.q_len << " queries of " << keys << " keys";
            before = now;
          }
        }
      }
    }
  }
}

/// Sequences as they come: queries and keys grow together.
TEST(FlashAttention, ALongerSequenceIsNeverFaster) {
  for (const char* device : {"a100_sxm4_80gb", "h100_sxm5_80gb"}) {
    const OpModels models = shipped(device);
    for (const std::int64_t window : {0, 256}) {
      Duration before;
      for (std::int64_t length = 1; length < 8192; length += 1 + length / 20) {
        graph::Attention op{4, 16, length, length, 128, true, true, false, graph::DType::bf16};
        op.window = window;
        const Duration now = models.price(op)->mean;
        EXPECT_GE(now, before) << device << ", " << length << ", window " << window;
        before = now;
      }
    }
  }
}

TEST(FlashAttention, SharedKeysSaveOnlyMemory) {
  const OpModels models = shipped("h100_sxm5_80gb");
  graph::Attention op{1, 64, 8192, 8192, 128, true, true, false, graph::DType::bf16};
  const double all = models.price(op)->mean.us();
  op.kv_heads = 8;
  EXPECT_LE(models.price(op)->mean.us(), all);
  EXPECT_NEAR(models.price(op)->mean.us() / all, 1, 0.02);
  op.kv_heads = 65;
  EXPECT_NE(models.price(op).error().what.find("attention.kv_heads: found 65, expected a number from 0 to 64"),
            std::string::npos);
  op.kv_heads = 5;
  EXPECT_NE(models.price(op).error().what.find("attention.kv_heads: found 5, expected a divisor of heads (64)"),
            std::string::npos);
}

/// Less traffic beside the same products keeps the units no busier, so the power limit leaves no lower clock.
TEST(FlashAttention, FewerKeyHeadsAreNoSlowerForSeconds) {
  for (const char* device : {"a100_sxm4_80gb", "h100_sxm_96gb_hbm2e", "h100_sxm5_80gb", "b200", "l40s"}) {
    const OpModels models = shipped(device);
    for (const graph::Pass pass : {graph::Pass::forward, graph::Pass::backward}) {
      for (std::int64_t length = 64; length <= 16384; length = length * 3 / 2) {
        graph::Attention op{8, 64, length, length, 64, true, true, false, graph::DType::fp16, pass};
        Duration before;
        for (op.kv_heads = 1; op.kv_heads <= 64; op.kv_heads *= 2) {
          const Duration now = models.price_steady(op)->mean;
          EXPECT_GE(now.seconds(), before.seconds() * (1 - 1e-3)) << device << ", " << length << ", " << op.kv_heads;
          before = now;
        }
      }
    }
  }
}

TEST(FlashAttention, ALibraryThatDoesNotRunGivesWayToOneThatDoes) {
  graph::Attention op = paper_op(128, 8192, false, graph::Pass::forward);
  const auto us = [&](const char* device, AttentionLibrary library) {
    op.library = library;
    return shipped(device).price(op)->mean.us();
  };
  EXPECT_EQ(us("a100_sxm4_80gb", AttentionLibrary::flash3), us("a100_sxm4_80gb", AttentionLibrary::flash2));
  EXPECT_EQ(us("h100_sxm5_80gb", AttentionLibrary::flash4), us("h100_sxm5_80gb", AttentionLibrary::flash2));
  EXPECT_EQ(us("b200", AttentionLibrary::best), us("b200", AttentionLibrary::cudnn));
  const auto source = [&](const char* device, AttentionLibrary library) {
    op.library = library;
    return std::string(shipped(device).price(op)->source);
  };
  op.dtype = graph::DType::fp16;  // which Turing has too
  EXPECT_EQ(source("a100_sxm4_80gb", AttentionLibrary::flash3),
            "attention roofline of flash2, which the GPU runs instead");
  EXPECT_EQ(source("t4", AttentionLibrary::flash2), "attention roofline of flash1, which the GPU runs instead");
  for (const AttentionLibrary runs : {AttentionLibrary::best, AttentionLibrary::flash2, AttentionLibrary::flash3})
    EXPECT_EQ(source("h100_sxm5_80gb", runs), "attention roofline") << graph::name_of(runs);
  EXPECT_LT(us("h100_sxm5_80gb", AttentionLibrary::flash3), us("h100_sxm5_80gb", AttentionLibrary::flash2));
}

/// BigScience's heads of 150, without a fused kernel: rows of 300 bytes are loaded 4 bytes at a time, which slows the
/// product of probabilities and values although it is smaller; both products together write and read the same scores.
TEST(Attention, HeadsOf150HaveSlowProducts) {
  const OpModels models = shipped("a100_sxm4_80gb");
  const auto us = [&](std::int64_t dim) {
    return models.price(graph::Gemm{96, 2048, dim, 2048, graph::DType::fp16})->mean.us();
  };
  EXPECT_GT(us(150), 1.15 * us(160));
}

}  // namespace
}  // namespace distsim::opmodels
