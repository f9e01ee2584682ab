// A whole table of sensitivities against one prediction from the text of its files, in the same run, in CPU time of all
// threads, which a busy machine changes little, after what a process does once. The goal is ten times as much; it is
// near 8, and more than 12 is an error.
#include <ctime>
#include <string>

#include "bench.hpp"
#include "sim/study/sensitivity/sensitivity.hpp"
#include "test_paths.hpp"

namespace distsim::perf {
namespace {

const std::string kConfig = test::root() + "/configs/dgx_a100_4node.yaml";
constexpr double kMost = 12;

template <class Work>
double seconds_of(Work work) {
  const std::clock_t begin = std::clock();
  work();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

void sensitivity_over_prediction(benchmark::State& state) {
  {
    pipeline::Passes passes;
    if (failed(state, pipeline::predict(kConfig, {}, passes))) return;  // reads the learned models
  }
  double prediction = 0, table = 0;
  for (auto _ : state) {
    prediction += seconds_of([&] {
      pipeline::Passes passes;
      const auto p = pipeline::predict(kConfig, {}, passes);
      benchmark::DoNotOptimize(p);
      failed(state, p);
    });
    table += seconds_of([&] {
      const auto e = config::load_experiment(kConfig, {});
      if (failed(state, e)) return;
      const auto s = study::sensitivity(*e, {}, [] {});
      benchmark::DoNotOptimize(s);
      failed(state, s);
    });
  }
  state.counters["ratio"] = table / prediction;
  if (table > kMost * prediction) state.SkipWithError("a table takes more than 12 times as long as a prediction");
}

BENCHMARK(sensitivity_over_prediction)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace distsim::perf

int main(int argc, char** argv) { return distsim::perf::run_benchmarks(argc, argv); }
