// A whole table of sensitivities against one prediction from the text of its files, in the same run. The goal is ten times
// as long; twice that is an error, so that a busy machine is none.
#include <chrono>
#include <string>

#include "bench.hpp"
#include "sim/study/sensitivity/sensitivity.hpp"

namespace distsim::perf {
namespace {

const std::string kConfig = DISTSIM_ROOT "/configs/dgx_a100_4node.yaml";
constexpr double kGoal = 10;

template <class Work>
double seconds_of(Work work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void sensitivity_over_prediction(benchmark::State& state) {
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
  if (table > 2 * kGoal * prediction) state.SkipWithError("a table takes more than 20 times as long as a prediction");
}

BENCHMARK(sensitivity_over_prediction)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace distsim::perf

int main(int argc, char** argv) { return distsim::perf::run_benchmarks(argc, argv); }
