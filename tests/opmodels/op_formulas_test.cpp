// The formulas on paper: small cases worked out in the comments.
#include <gtest/gtest.h>

#include <cmath>

#include <array>
#include <limits>

#include "device_fixtures.hpp"
#include "opmodels/hardware/matrix_kernel.hpp"
#include "opmodels/op_models.hpp"

namespace distsim::opmodels {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// 100 SMs of 1 TFLOP/s, free memory, one tile size, no losses: what is left is tiles and waves.
struct PlainMachine {
  std::array<Tile, 1> tiles{{{128, 128}}};
  MatrixTraits traits{1.0, 0.0, 1e-6, 1, 1, 100, tiles};
  MatrixMachine machine{1e14, 100, kInfinite, kInfinite, kInfinite, 2e-6, &traits};
  double us(double m, double n, double k, double max_split = 1) const {
    MatrixShape shape{1, m, n, k};
    shape.max_split = max_split;
    return matrix_time(machine, shape).seconds * 1e6;
  }
};

TEST(MatrixKernel, OneFullWave) {
  // 10 x 10 tiles on 100 SMs: 2 * 128 * 128 * 1024 flops at 1e12 a second = 33.554 us, 1 us of fill and drain, 2 us of
  // floor.
  EXPECT_NEAR(PlainMachine().us(1280, 1280, 1024), 36.554, 0.001);
  EXPECT_NEAR(PlainMachine().us(1153, 1153, 1024), 36.554, 0.001) << "part-filled tiles cost whole ones";
  EXPECT_NEAR(PlainMachine().us(128, 128, 1024), 36.554, 0.001) << "one tile takes as long as a hundred";
}

TEST(MatrixKernel, TailWaveIsSpreadInPart) {
  // 11 x 10 tiles: 1.1 waves count 0.15 * 2 + 0.85 * 1.1 = 1.235; 1.235 * (33.554 + 1) + 2 = 44.674.
  EXPECT_NEAR(PlainMachine().us(1281, 1280, 1024), 44.674, 0.001);
}

TEST(MatrixKernel, SplitKUsesIdleSms) {
  // One tile, k = 32768: 1073.7 us alone. Split 32 ways, 1024 each: 33.554 + 1 + 2.2 (second pass) + 2 = 38.754.
  EXPECT_NEAR(PlainMachine().us(128, 128, 32768), 1076.742, 0.01);
  EXPECT_NEAR(PlainMachine().us(128, 128, 32768, 32), 38.754, 0.001);
}

TEST(MatrixKernel, MemoryBoundProductRunsAtMemorySpeed) {
  PlainMachine p;
  p.machine.hbm = 1e12;
  MatrixShape shape{1, 128, 12800, 128};
  shape.compulsory_bytes = 1e9;  // 1 ms, against 4 us of arithmetic
  EXPECT_NEAR(matrix_time(p.machine, shape).seconds * 1e6, 1003, 1);
}

TEST(MatrixKernel, LoadsFromL2BoundThinTilesAndSlowDownUnaligned) {
  // 10 x 10 tiles load 100 * 256 * 1024 * 2 bytes at 10 GB/s: 5243 us, against 34 us of arithmetic.
  PlainMachine p;
  p.machine.l2 = 1e10;
  MatrixShape shape{1, 1280, 1280, 1024};
  shape.max_split = 1;
  EXPECT_NEAR(matrix_time(p.machine, shape).seconds * 1e6, 5246, 2);
  shape.load_penalty = 2;
  EXPECT_NEAR(matrix_time(p.machine, shape).seconds * 1e6, 10489, 2);
}

OpModels a100() { return *OpModels::create(measured_devices().at("A100-SXM4-80GB")); }
double us(const graph::Op& op) { return a100().price(op)->mean.us(); }

TEST(Elementwise, BytesOverBandwidth) {
  // 1e9 elements, 2 reads and 1 write of fp16: 6 GB at 2039 GB/s * 0.90 = 3269.6 us, and 2 us of floor.
  EXPECT_NEAR(us(graph::Elementwise{1'000'000'000, 2, 1, 0, graph::DType::fp16}), 3271.6, 1);
  EXPECT_NEAR(us(graph::Elementwise{1, 1, 1, 1}), 2, 0.01) << "an empty kernel";
}

TEST(Copy, HostLinkAndMemory) {
  EXPECT_NEAR(us(graph::Copy{graph::CopyKind::h2d, 26'000'000}), 1004, 0.1) << "26 MB at 26 GB/s, two floors to start";
  EXPECT_NEAR(us(graph::Copy{graph::CopyKind::d2d, 1'000'000'000}), 2e9 / (2039e9 * 0.9) * 1e6 + 2, 0.5)
      << "read and written";
}

TEST(Gemm, BatchesOfUnalignedProductsRunOnThePlainLanes) {
  // 64 heads of 2048 x 2048 x 150: rows of 300 bytes, 80.5 GFLOP; at 19.5 TFLOP/s on the lanes 4.1 ms at least.
  const auto heads = [](std::int64_t dim) { return us(graph::Gemm{64, 2048, 2048, dim, graph::DType::fp16}); };
  EXPECT_GT(heads(150), 2.0 * 64 * 2048 * 2048 * 150 / 19.5e12 * 1e6);
  EXPECT_LT(heads(152), 0.25 * heads(150));
  // One product is only slowed in its loads, experts' products are no batch of equal strides.
  EXPECT_LT(us(graph::Gemm{1, 2048, 2048, 150, graph::DType::fp16}),
            3 * us(graph::Gemm{1, 2048, 2048, 152, graph::DType::fp16}));
  graph::Gemm experts{64, 2048, 2048, 150, graph::DType::fp16};
  experts.grouped = true;
  EXPECT_LT(us(experts), 0.5 * heads(150));
  // The attention op's own products.
  const graph::Attention unfused{2, 32, 2048, 2048, 150, true, false, false, graph::DType::fp16};
  graph::Attention aligned = unfused;
  aligned.head_dim = 152;
  EXPECT_GT(us(unfused), 2 * us(aligned));
}

TEST(Gemm, SumsOverTheRowsNeedNoAlignedNumberOfRows) {
  // Of the gradient of a weight m and n are the pitches: 4097 tokens are 4096 and one more, 4097 outputs are not.
  const auto gradient = [](std::int64_t m, std::int64_t tokens) {
    graph::Gemm g{8, m, 4096, tokens, graph::DType::bf16};
    g.grouped = true;
    g.pass = graph::Pass::backward_weight;
    return us(g);
  };
  EXPECT_LT(gradient(4096, 4097), 1.02 * gradient(4096, 4096));
  EXPECT_GT(gradient(4097, 4096), 1.5 * gradient(4096, 4096));
}

TEST(Optimizer, BytesPerParameter) {
  // 1e9 fp32 parameters, sgd: 4 + 8 = 12 bytes each; adam: 28. Launches: ceil(1e9 / (320 * 65536)) = 48 floors of 2 us.
  EXPECT_NEAR(us(graph::Optimizer{graph::OptimizerKind::sgd, 1'000'000'000, 100}), 12e9 / (2039e9 * 0.9) * 1e6 + 96, 1);
  EXPECT_NEAR(us(graph::Optimizer{graph::OptimizerKind::adam, 1'000'000'000, 100}), 28e9 / (2039e9 * 0.9) * 1e6 + 96,
              1);
  // Without a master copy 16-bit weights have 16-bit state: 2 + 4 + 8. With one: 2 + 8 + 16 + 2.
  using graph::DType;
  const auto adam = [](bool masters, DType weight) {
    return graph::Optimizer{graph::OptimizerKind::adam, 1'000'000'000, 100, DType::bf16, masters, weight};
  };
  EXPECT_NEAR(us(adam(false, DType::bf16)), 14e9 / (2039e9 * 0.9) * 1e6 + 96, 1);
  EXPECT_NEAR(us(adam(true, DType::fp32)), 28e9 / (2039e9 * 0.9) * 1e6 + 96, 1);
  EXPECT_NEAR(us(adam(false, DType::fp32)), 26e9 / (2039e9 * 0.9) * 1e6 + 96, 1) << "gradients alone in 16 bits";
}

graph::EmbeddingBag lookups(std::int64_t rows, std::int64_t dim, double pooling, double alpha, graph::Pass pass,
                            graph::SparseUpdate update = graph::SparseUpdate::fused) {
  graph::EmbeddingBag op;
  op.tables = {{rows, dim, pooling, alpha}};
  op.batch = 65536;
  op.pass = pass;
  op.optimizer = graph::EmbeddingOptimizer::rowwise_adagrad;
  op.update = update;
  return op;
}

TEST(EmbeddingBag, ForwardWithoutReuseIsItsTraffic) {
  // 1e12 rows: nothing is met twice. 655,360 lookups of 8 + 512 + 48 bytes, 65,537 offsets of 8, 65,536 results of 512:
  // 406.3 MB at 1835.1 GB/s.
  const double memory = 406.32e6 / 1835.1e9 * 1e6;
  // 108 x 45 warps walk 65,536 bags of 1.1 us and ten rows of 0.84 us each.
  const double walk = 65536 * (1.1 + 10 * 0.84) / (108 * 45);
  EXPECT_NEAR(us(lookups(1'000'000'000'000, 128, 10, 0, graph::Pass::forward)), overlap(memory, walk) + 2, 0.1);
}

TEST(EmbeddingBag, EmptyBagsCostTheirWarps) {
  // 65,536 bags with hardly a row among them: 33 MB of results take 18 us, walking from bag to bag 15 us.
  EXPECT_NEAR(us(lookups(1'000'000'000'000, 128, 1e-9, 0, graph::Pass::forward)),
              overlap(34.1e6 / 1835.1e9 * 1e6, 65536 * 1.1 / (108 * 45)) + 2, 0.2);
}

TEST(EmbeddingBag, UnequalBagsLeaveATail) {
  graph::EmbeddingBag equal = lookups(1000, 96, 8, 0, graph::Pass::forward),
                      unequal = lookups(1000, 96, 8.001, 0, graph::Pass::forward);
  equal.batch = unequal.batch = 8192;
  // Half of ln(8192) mean bags, each of their eight rows at half of 0.84 us.
  EXPECT_NEAR(us(unequal) - us(equal), 0.5 * std::log(8192.0) * 8 * 0.42, 0.1);
}

TEST(EmbeddingBag, HotRowsComeFromL2) {
  const double cold = us(lookups(100'000'000, 128, 10, 0, graph::Pass::forward));
  EXPECT_LT(us(lookups(100'000'000, 128, 10, 1.1, graph::Pass::forward)), 0.9 * cold)
      << "skewed; the L2 of this GPU is not much faster";
  EXPECT_LE(us(lookups(10'000, 128, 10, 0, graph::Pass::forward)), 0.95 * cold) << "a table of 5 MB";
}

TEST(SparseUpdate, APassOfTheSortForEvery8BitsOfTheRows) {
  EXPECT_EQ(graph::radix_passes(1), 1);
  EXPECT_EQ(graph::radix_passes(256), 1);
  EXPECT_EQ(graph::radix_passes(257), 2);
  EXPECT_EQ(graph::radix_passes(16'777'216), 3);
  // One row more than three passes tell apart: 655,360 pairs of 8 + 4 bytes read and written once more, at 0.68 of
  // 1835.1 GB/s, and one kernel that scans over the device, 2.5 empty ones of 2 us.
  const double three = us(lookups(16'777'216, 16, 10, 0, graph::Pass::backward)),
               four = us(lookups(16'777'217, 16, 10, 0, graph::Pass::backward));
  EXPECT_NEAR(four - three, 655'360 * 24 / 0.68 / 1835.1e9 * 1e6 + 5, 0.05);
}

TEST(SparseUpdate, KernelsAreThoseOfTheTraces) {
  // FBGEMM's update of 16.8 million rows in HolisticTraceAnalysis' traces of A100: linear row numbers, histogram, its
  // sum, 3 passes, run lengths, 2 of a scan, long runs, 2 updates.
  EXPECT_EQ(lookups(16'777'216, 128, 10, 0, graph::Pass::backward).kernels(), 12);
  EXPECT_EQ(lookups(16'777'216, 128, 10, 0, graph::Pass::backward, graph::SparseUpdate::atomic).kernels(), 1);
  graph::EmbeddingBag op = lookups(1000, 16, 1, 0, graph::Pass::backward, graph::SparseUpdate::sort_dedup);
  op.table_batched = false;
  const std::int64_t whole_keys = op.kernels();
  op.index = graph::DType::int32;
  EXPECT_EQ(op.kernels(), whole_keys - 4) << "TensorFlow sorts all bits of the ids, 8 a pass";
  op.tables.assign(26, op.tables.front());
  EXPECT_EQ(op.kernels(), 26 * (whole_keys - 4));
}

TEST(SparseUpdate, TensorFlowWritesAGradientRowForEveryIdOfABag) {
  // 100 ids in bags of two, or the same ids one by one in twice the batch: the bags' gradient is written and read again.
  graph::EmbeddingBag pairs = lookups(100'000'000, 512, 2, 0, graph::Pass::backward, graph::SparseUpdate::sort_dedup);
  graph::EmbeddingBag single = lookups(100'000'000, 512, 1, 0, graph::Pass::backward, graph::SparseUpdate::sort_dedup);
  single.batch = 2 * pairs.batch;
  const double bytes = 65536.0 * 3 * 2048;
  EXPECT_NEAR(us(pairs) - us(single), bytes / 1835.1e9 * 1e6 + 5, 0.5);
  pairs.pass = graph::Pass::forward;
  pairs.update = graph::SparseUpdate::fused;
  const double pooled = us(pairs);
  pairs.table_batched = false;
  pairs.update = graph::SparseUpdate::sort_dedup;
  EXPECT_GT(us(pairs), pooled + 200) << "268 MB of rows gathered, written and read again";
}

TEST(SparseUpdate, ABlockPerRowWaitsForTheMostPopularRow) {
  // Three rows, 65,536 ids: the first row's 21,845 gradients in turn, 0.42 us each, four in flight.
  const auto update = graph::SparseUpdate::block_per_row;
  EXPECT_GT(us(lookups(3, 16, 1, 0, graph::Pass::backward, update)), 65536.0 / 3 * 0.42 / 4);
  EXPECT_LT(us(lookups(1'000'000, 16, 1, 0, graph::Pass::backward, update)), 200);
}

TEST(SparseUpdate, FusedAndAtomicAreCheaperThanTensorFlows) {
  const double generic = us(lookups(1'000'000, 16, 85, 1.05, graph::Pass::backward, graph::SparseUpdate::sort_dedup));
  EXPECT_LT(us(lookups(1'000'000, 16, 85, 1.05, graph::Pass::backward, graph::SparseUpdate::fused)), generic / 2);
  EXPECT_LT(us(lookups(1'000'000, 16, 85, 0, graph::Pass::backward, graph::SparseUpdate::atomic)), generic / 4);
}

TEST(EmbeddingBag, AtomicUpdatesQueueAtTheRowsOfATinyTable) {
  // Three rows, 65,536 updates: a third of them wait for one row, 21,845 * 1.6 cycles at 1.41 GHz = 24.8 us, more than
  // the traffic.
  EXPECT_NEAR(us(lookups(3, 16, 1, 0, graph::Pass::backward, graph::SparseUpdate::atomic)), 24.8 + 2, 0.3);
  EXPECT_LT(us(lookups(1'000'000, 16, 1, 0, graph::Pass::backward, graph::SparseUpdate::atomic)), 20);
}

TEST(EmbeddingBag, OptimizerStateAddsTraffic) {
  double before = 0;
  for (const auto optimizer : {graph::EmbeddingOptimizer::sgd, graph::EmbeddingOptimizer::rowwise_adagrad,
                               graph::EmbeddingOptimizer::adagrad, graph::EmbeddingOptimizer::adam}) {
    graph::EmbeddingBag op = lookups(100'000'000, 128, 10, 0, graph::Pass::backward);
    op.optimizer = optimizer;
    EXPECT_GT(us(op), before);
    before = us(op);
  }
}

TEST(EmbeddingBag, FractionalPoolingOfARowWiseSlice) {
  const double whole = us(lookups(80'000'000, 128, 10, 0, graph::Pass::forward)) - 2,
               eighth = us(lookups(10'000'000, 128, 1.25, 0, graph::Pass::forward)) - 2;
  EXPECT_LT(eighth, whole / 4) << "fewer lookups";
  EXPECT_GT(eighth, whole / 8) << "but every sample's result is still written";
  EXPECT_GT(us(lookups(10'000'000, 128, 0.01, 0, graph::Pass::forward)), 2);
}

/// Table by table, more ids and more tables are never cheaper, by any library.
TEST(EmbeddingBag, GathersGrowWithIdsAndTables) {
  for (const char* gpu : {"V100-SXM2-32GB", "A100-SXM4-80GB", "H100-SXM5-80GB", "L40S"}) {
    const OpModels m = *OpModels::create(measured_devices().at(gpu));
    for (const graph::SparseUpdate update : {graph::SparseUpdate::fused, graph::SparseUpdate::sort_dedup}) {
      for (const std::int64_t dim : {4, 32, 128, 1024}) {
        for (const std::int64_t batch : {64, 21760, 1 << 18}) {
          graph::EmbeddingBag op;
          op.table_batched = false;
          op.update = update;
          op.batch = batch;
          op.tables = {{30528, dim, 0.5, 0}};
          Duration before = m.price(op)->mean;
          for (const double ids : {1.0, 1.5, 2.0, 3.0, 20.0}) {
            op.tables.front().pooling_factor = ids;
            const Duration now = m.price(op)->mean;
            EXPECT_GE(now, before) << gpu << ", " << graph::name_of(update) << ", " << ids << " ids of " << dim;
            before = now;
          }
          for (op.tables.front().pooling_factor = 1; op.tables.size() < 4; op.tables.push_back(op.tables.front())) {
            graph::EmbeddingBag fewer = op;
            fewer.tables.pop_back();
            if (!fewer.tables.empty()) {
              EXPECT_GT(m.price(op)->mean, m.price(fewer)->mean) << gpu << ", " << op.tables.size() << " tables";
            }
          }
        }
      }
    }
  }
}

TEST(EmbeddingBag, OneKernelForAllTablesBeatsOneEach) {
  graph::EmbeddingBag op = lookups(1000, 64, 1, 0, graph::Pass::forward);
  op.batch = 256;
  op.tables.assign(26, op.tables.front());
  const double batched = us(op);
  op.table_batched = false;
  EXPECT_GT(us(op), batched + 24 * 2.0) << "25 more empty kernels of 2 us";
}

TEST(Attention, FlashReadsNoScores) {
  const graph::Attention flash{8, 16, 2048, 2048, 64, true, true, false, graph::DType::fp16};
  graph::Attention unfused = flash;
  unfused.flash = false;
  EXPECT_GT(us(unfused), 3 * us(flash));
  EXPECT_FALSE(a100().price(graph::Attention{8, 16, 2048, 2048, 64, true, true, false, graph::DType::fp32}).ok())
      << "flash kernels are 16-bit";
}

TEST(Conv2d, BackwardIsBothGradients) {
  graph::Conv2d conv{32, 256, 14, 14, 256, 3, 3, 1, 1, 1, 1, graph::DType::fp16};
  conv.pass = graph::Pass::backward_data;
  const double data = us(conv);
  conv.pass = graph::Pass::backward_weight;
  const double weight = us(conv);
  conv.pass = graph::Pass::backward;
  EXPECT_NEAR(us(conv), data + weight, 1e-3);
}

TEST(Conv2d, ChannelsFirstPaysTheTransposeOnTensorCores) {
  graph::Conv2d conv{32, 256, 56, 56, 256, 3, 3, 1, 1, 1, 1, graph::DType::fp16};
  const double last = us(conv);
  conv.channels_last = false;
  EXPECT_GT(us(conv), last + 50) << "205 MB of tensors read and written again";
}

TEST(CrossLayer, FusionSavesTheBytesOfItsTensors) {
  // 65,536 x 3456 in fp16, 453 MB a tensor: 8 tensors in three kernels forward and 13 in five backward; chains 4 in one
  // and 10 in four; epilogues 4 and 7 in one each.
  const double tensor = 65536.0 * 3456 * 2 / 1835.1e9 * 1e6;
  const auto saved = [](graph::Pass pass, graph::CrossFusion fusion) {
    graph::CrossLayer op{65536, 3456, 512, graph::DType::fp16, pass};
    const double apart = us(op);
    op.fusion = fusion;
    return apart - us(op);
  };
  EXPECT_NEAR(saved(graph::Pass::forward, graph::CrossFusion::chains), 4 * tensor + 2 * 2.0, 2);
  EXPECT_NEAR(saved(graph::Pass::forward, graph::CrossFusion::epilogues), 4 * tensor + 2 * 2.0, 2);
  EXPECT_NEAR(saved(graph::Pass::backward, graph::CrossFusion::chains), 3 * tensor + 1 * 2.0, 2);
  EXPECT_NEAR(saved(graph::Pass::backward, graph::CrossFusion::epilogues), 6 * tensor + 4 * 2.0, 2);
}

TEST(Interaction, FusedIsAFractionOfThreeKernels) {
  EXPECT_LT(2 * us(graph::Interaction{8192, 27, 128, graph::DType::fp16, true}),
            us(graph::Interaction{8192, 27, 128, graph::DType::fp16, false}));
}

TEST(Interaction, ThreeKernelsMoveTheSquareOfFeatures) {
  // 512 features of 8: next to their products, F x F a sample, all else is small. The product of so little depth takes
  // 1.8 times what writing them does; the gather reads them and writes the triangle, half as much; the concatenation
  // reads and writes that: 1.8 + 1.5 + 1.
  const double square = us(graph::Elementwise{std::int64_t{2048} * 512 * 512, 0, 1, 0, graph::DType::fp16});
  EXPECT_NEAR(us(graph::Interaction{2048, 512, 8, graph::DType::fp16, false}) / square, 4.3, 0.1);
}

}  // namespace
}  // namespace distsim::opmodels
