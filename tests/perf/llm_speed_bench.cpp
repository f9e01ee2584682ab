// What a plan pays for a layout of Llama 3.1 405B on 1,024 H100 (tensor 8 x context 2 x pipeline 8, 8 chunks a stage): its
// figures, another depth, a layout that is refused, what is known before its work is written down. Each against a whole
// prediction in the same run, in CPU time of all threads, which a busy machine changes little, with cost models loaded; each
// fails above its bound. Times are in docs/performance.md.
#include <ctime>
#include <string>

#include "bench.hpp"
#include "sim/pipeline/pipeline.hpp"

namespace distsim::perf {
namespace {

constexpr const char* kLayout =
    "model: {name: llama31_405b, precision: fp8_current, global_batch: 1536}\n"
    "cluster: {system: dgx_h100, nodes: 128}\n"
    "framework: {name: megatron_bridge}\n"
    "parallel: {tensor: 8, sequence_parallel: true, context: 2, pipeline: 8, virtual_stages: 8, micro_batch: 1}\n";

template <class Work>
double seconds_of(Work work) {
  const std::clock_t begin = std::clock();
  work();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

Result<config::Experiment> layout(const std::vector<std::string>& sets) {
  TRY_ASSIGN(const ConfigNode parsed, config::parse_experiment_text(kLayout, "", sets));
  return config::resolve(parsed);
}

/// `work(experiment, cache)` of the layout with `sets` against its whole prediction.
template <class Work>
void against_prediction(benchmark::State& state, const std::vector<std::string>& sets, double most, Work work) {
  const auto whole = layout({}), asked = layout(sets);
  if (failed(state, whole) || failed(state, asked)) return;
  pipeline::CostModelCache cache;
  const auto predicted = [&] {
    pipeline::Passes passes;
    const auto p = pipeline::predict(*whole, passes, cache);
    benchmark::DoNotOptimize(p);
    failed(state, p);
  };
  predicted();  // reads the curves and the learned models
  double prediction = 0, part = 0;
  constexpr int kTimes = 20;  // a clock tick is a microsecond
  for (auto _ : state) {
    prediction += seconds_of(predicted) * kTimes;
    part += seconds_of([&] {
      for (int i = 0; i < kTimes; ++i) work(*asked, cache);
    });
  }
  state.counters["ratio"] = part / prediction;
  state.counters["each_ms"] = part / kTimes / static_cast<double>(state.iterations()) * 1e3;
  if (part > most * prediction) state.SkipWithError("takes more of a whole prediction's time than its bound");
}

void figures(benchmark::State& state, const std::vector<std::string>& sets) {
  against_prediction(state, sets, 0.2, [&](const config::Experiment& e, pipeline::CostModelCache& cache) {
    const auto r = pipeline::predict_figures(e, cache, report::Transfers::left_out);
    benchmark::DoNotOptimize(r);
    failed(state, r);
  });
}

void refusal(benchmark::State& state, const std::vector<std::string>& sets) {
  against_prediction(state, sets, 0.01, [&](const config::Experiment& e, pipeline::CostModelCache& cache) {
    const auto r = pipeline::predict_figures(e, cache);
    benchmark::DoNotOptimize(r);
    if (r.ok()) state.SkipWithError("is not refused");
  });
}

void bounds(benchmark::State& state) {
  against_prediction(state, {}, 0.01, [&](const config::Experiment& e, pipeline::CostModelCache&) {
    const auto r = pipeline::layout_bounds(e);
    benchmark::DoNotOptimize(r);
    failed(state, r);
  });
}

using Sets = std::vector<std::string>;
BENCHMARK_CAPTURE(figures, as_published, Sets{})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(figures, of_another_depth, Sets{"model.llm.layers=190"})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(refusal, does_not_divide, Sets{"parallel.tensor=3"})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(refusal, does_not_fit,
                  Sets{"parallel.pipeline=1", "parallel.virtual_stages=1", "parallel.offload=none"})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(bounds)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace distsim::perf

int main(int argc, char** argv) { return distsim::perf::run_benchmarks(argc, argv); }
