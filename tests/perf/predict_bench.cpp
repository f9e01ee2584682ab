// How long a prediction takes after start-up, in one process: the flagship, and the same on 1,250 nodes. Run:
// build/bin/predict_bench
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>

#include "sim/pipeline/pipeline.hpp"

namespace {

distsim::config::Experiment experiment(const std::vector<std::string>& sets) {
  return distsim::config::load_experiment(std::string(DISTSIM_ROOT) + "/configs/dgx_a100_4node.yaml", sets).value();
}

void predict(benchmark::State& state, const std::vector<std::string>& sets) {
  const distsim::config::Experiment e = experiment(sets);
  std::vector<distsim::pipeline::Passes::Time> times;
  distsim::pipeline::CostModelCache cache;  // as in a sweep or a validation
  for (auto _ : state) {
    distsim::pipeline::Passes passes;
    auto prediction = distsim::pipeline::predict(e, passes, cache);
    benchmark::DoNotOptimize(prediction);
    if (!prediction.ok()) {
      state.SkipWithError(prediction.error().text().c_str());
      return;
    }
    times = passes.times();
  }
  for (const auto& t : times) state.counters[t.name + "_ms"] = t.ms;
}

/// Work from config text to report, files read anew each time.
void flagship_from_text(benchmark::State& state) {
  for (auto _ : state) {
    distsim::pipeline::Passes passes;
    auto prediction =
        distsim::pipeline::predict(std::string(DISTSIM_ROOT) + "/configs/dgx_a100_4node.yaml", {}, passes);
    benchmark::DoNotOptimize(prediction);
  }
}

}  // namespace

BENCHMARK(flagship_from_text)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(predict, flagship_32_ranks, std::vector<std::string>{})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(predict, flagship_10000_ranks,
                  std::vector<std::string>{"cluster.nodes=1250", "model.global_batch=20480000"})
    ->Unit(benchmark::kMillisecond);
