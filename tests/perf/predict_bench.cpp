// How long a prediction takes after start-up, in one process: an experiment as it is, and on 1,250 nodes.
//   build/bin/predict_bench [CONFIG] [flags of Google Benchmark]      CONFIG: configs/dgx_a100_4node.yaml
#include <string>
#include <vector>

#include "prediction.hpp"
#include "test_paths.hpp"

namespace distsim::perf {
namespace {

std::string config_file = test::root() + "/configs/dgx_a100_4node.yaml";

void predict(benchmark::State& state, const std::vector<std::string>& sets) {
  predict_repeatedly(state, config::load_experiment(config_file, sets));
}

/// From the text of the files to the report: all files are read again in each iteration.
void predict_from_text(benchmark::State& state) {
  for (auto _ : state) {
    pipeline::Passes passes;
    const auto prediction = pipeline::predict(config_file, {}, passes);
    benchmark::DoNotOptimize(prediction);
    if (failed(state, prediction)) return;
  }
}

BENCHMARK(predict_from_text)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(predict, as_configured, std::vector<std::string>{})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(predict, on_1250_nodes, std::vector<std::string>{"cluster.nodes=1250", "model.global_batch=20480000"})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace distsim::perf

int main(int argc, char** argv) { return distsim::perf::run_benchmarks(argc, argv, &distsim::perf::config_file); }
