// How long it takes to price one op. Goal: 2 us for an op of one kernel, 2 us per table for an embedding bag.

#include "../opmodels/device_fixtures.hpp"
#include "bench.hpp"
#include "opmodels/op_models.hpp"
#include "sim/pipeline/device_models.hpp"

namespace distsim::perf {
namespace {

void price(benchmark::State& state, const graph::Op& op) {
  const opmodels::OpModels models = *opmodels::OpModels::create(opmodels::measured_devices().at("A100-SXM4-80GB"));
  for (auto _ : state) {
    const auto cost = models.price(op);
    benchmark::DoNotOptimize(cost);
    if (failed(state, cost)) return;
  }
}

/// With the shipped learned models. The op grows by one row per call, so that no price comes from a cache.
void price_learned(benchmark::State& state, graph::Op op) {
  const opmodels::OpModels models = *opmodels::OpModels::create(opmodels::measured_devices().at("A100-SXM4-80GB"),
                                                                *pipeline::shipped_learned_models());
  std::int64_t calls = 0;
  for (auto _ : state) {
    if (auto* gemm = std::get_if<graph::Gemm>(&op)) gemm->m = 4096 + ++calls % 65536;
    if (auto* conv = std::get_if<graph::Conv2d>(&op)) conv->n = 32 + ++calls % 65536;
    if (auto* norm = std::get_if<graph::Normalization>(&op)) norm->rows = 4096 + ++calls % 65536;
    if (auto* elementwise = std::get_if<graph::Elementwise>(&op)) elementwise->elements = 1'000'000 + ++calls % 65536;
    const auto cost = models.price(op);
    benchmark::DoNotOptimize(cost);
    if (failed(state, cost)) return;
  }
}

graph::EmbeddingBag bag(double alpha) {
  graph::EmbeddingBag op;
  op.tables.assign(26, graph::EmbeddingTable{1'000'000, 128, 1, alpha});
  op.batch = 65536;
  return op;
}

BENCHMARK_CAPTURE(price, gemm_large, graph::Gemm{1, 8192, 8192, 8192, graph::DType::fp16});
BENCHMARK_CAPTURE(price, gemm_small_split_k, graph::Gemm{1, 64, 64, 8192, graph::DType::fp16});
BENCHMARK_CAPTURE(price, conv2d, graph::Conv2d{32, 256, 14, 14, 256, 3, 3, 1, 1});
BENCHMARK_CAPTURE(price, elementwise, graph::Elementwise{1'000'000});
BENCHMARK_CAPTURE(price, interaction, graph::Interaction{8192, 27, 128});
BENCHMARK_CAPTURE(price, attention, graph::Attention{8, 16, 512, 512, 64, true, false, true, graph::DType::fp16});
BENCHMARK_CAPTURE(price, embedding_26_tables_uniform, bag(0));
BENCHMARK_CAPTURE(price, embedding_26_tables_skewed, bag(1.05));
BENCHMARK_CAPTURE(price_learned, gemm_fp16, graph::Gemm{1, 8192, 8192, 8192, graph::DType::fp16});
BENCHMARK_CAPTURE(price_learned, gemm_fp32, graph::Gemm{1, 8192, 1024, 1024, graph::DType::fp32});
BENCHMARK_CAPTURE(price_learned, gemm_small_split_k, graph::Gemm{1, 64, 64, 8192, graph::DType::fp16});
BENCHMARK_CAPTURE(price_learned, conv2d, graph::Conv2d{32, 256, 14, 14, 256, 3, 3, 1, 1});
BENCHMARK_CAPTURE(price_learned, layer_norm, graph::Normalization{graph::NormKind::layer, 4096, 1024});
BENCHMARK_CAPTURE(price_learned, elementwise, graph::Elementwise{1'000'000});

}  // namespace
}  // namespace distsim::perf

int main(int argc, char** argv) { return distsim::perf::run_benchmarks(argc, argv); }
