// What pricing one op costs. Goal: 2 us, an op of one kernel; an embedding bag, 2 us a table.
#include <benchmark/benchmark.h>

#include "../opmodels/device_fixtures.hpp"
#include "opmodels/op_models.hpp"
#include "sim/app/device_models.hpp"

namespace distsim {
namespace {

void price(benchmark::State& state, const Op& op) {
  const OpModels models = *OpModels::create(test::measured_devices().at("A100-SXM4-80GB"));
  for (auto _ : state) benchmark::DoNotOptimize(models.price(op));
}

/// With the learned models that are shipped. The op grows by one row a call, so that no price is remembered from the call before.
void price_learned(benchmark::State& state, Op op) {
  const OpModels models = *OpModels::create(test::measured_devices().at("A100-SXM4-80GB"), *shipped_learned_models());
  std::int64_t calls = 0;
  for (auto _ : state) {
    if (auto* gemm = std::get_if<Gemm>(&op)) gemm->m = 4096 + ++calls % 65536;
    if (auto* conv = std::get_if<Conv2d>(&op)) conv->n = 32 + ++calls % 65536;
    if (auto* norm = std::get_if<Normalization>(&op)) norm->rows = 4096 + ++calls % 65536;
    if (auto* elementwise = std::get_if<Elementwise>(&op)) elementwise->elements = 1'000'000 + ++calls % 65536;
    benchmark::DoNotOptimize(models.price(op));
  }
}

EmbeddingBag bag(double alpha) {
  EmbeddingBag op;
  op.tables.assign(26, EmbeddingTable{1'000'000, 128, 1, alpha});
  op.batch = 65536;
  return op;
}

BENCHMARK_CAPTURE(price, gemm_large, Gemm{1, 8192, 8192, 8192, DType::fp16});
BENCHMARK_CAPTURE(price, gemm_small_split_k, Gemm{1, 64, 64, 8192, DType::fp16});
BENCHMARK_CAPTURE(price, conv2d, Conv2d{32, 256, 14, 14, 256, 3, 3, 1, 1});
BENCHMARK_CAPTURE(price, elementwise, Elementwise{1'000'000});
BENCHMARK_CAPTURE(price, interaction, Interaction{8192, 27, 128});
BENCHMARK_CAPTURE(price, attention, Attention{8, 16, 512, 512, 64, true, false, true, DType::fp16});
BENCHMARK_CAPTURE(price, embedding_26_tables_uniform, bag(0));
BENCHMARK_CAPTURE(price, embedding_26_tables_skewed, bag(1.05));
BENCHMARK_CAPTURE(price_learned, gemm_fp16, Gemm{1, 8192, 8192, 8192, DType::fp16});
BENCHMARK_CAPTURE(price_learned, gemm_fp32, Gemm{1, 8192, 1024, 1024, DType::fp32});
BENCHMARK_CAPTURE(price_learned, gemm_small_split_k, Gemm{1, 64, 64, 8192, DType::fp16});
BENCHMARK_CAPTURE(price_learned, conv2d, Conv2d{32, 256, 14, 14, 256, 3, 3, 1, 1});
BENCHMARK_CAPTURE(price_learned, layer_norm, Normalization{NormKind::layer, 4096, 1024});
BENCHMARK_CAPTURE(price_learned, elementwise, Elementwise{1'000'000});

}  // namespace
}  // namespace distsim
