// A point of a sweep, with everything that it takes from the values of its keys to its row, against a bare prediction whose
// costs are known, in the same run, in CPU time, which a busy machine changes little. Points of new batches price new
// shapes; those of new links do not. More than three times the prediction is an error.
#include <ctime>
#include <string>
#include <vector>

#include "bench.hpp"
#include "sim/pipeline/pipeline.hpp"
#include "sim/study/sweep/sweep.hpp"
#include "test_paths.hpp"

namespace distsim::perf {
namespace {

const std::string kConfig = test::root() + "/configs/dgx_a100_4node.yaml";
constexpr double kMost = 3;
constexpr std::size_t kPoints = 64;

template <class Work>
double seconds_for(Work work) {
  const std::clock_t begin = std::clock();
  for (std::size_t i = 0; i < kPoints; ++i) work(i);
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

study::SweepAxis batches() { return study::parse_axis("model.global_batch=32768..65536:512").value(); }

study::SweepAxis links() {
  study::SweepAxis axis{"cluster.nic.bandwidth", {}};
  for (std::size_t i = 0; i <= kPoints; ++i) axis.values.push_back(std::to_string(100 + i) + " Gb/s");
  return axis;
}

void points_over_prediction(benchmark::State& state, const study::SweepAxis& axis) {
  const auto experiment = config::load_experiment(kConfig, {});
  if (failed(state, experiment)) return;
  pipeline::CostModelCache cache;
  const auto predict = [&](std::size_t) {
    pipeline::Passes passes;
    const auto p = pipeline::predict(*experiment, passes, cache);
    benchmark::DoNotOptimize(p);
    failed(state, p);
  };
  predict(0);
  double prediction = 0, points = 0;
  for (auto _ : state) {
    const auto list = study::sweep_points({.config = kConfig, .axes = {axis}}, false);
    if (failed(state, list)) return;
    (void)list->evaluate(kPoints);  // reads the files and the learned models
    prediction += seconds_for(predict);
    points += seconds_for([&](std::size_t i) {
      const study::Row row = list->evaluate(i);
      if (!row.error.empty()) state.SkipWithError(row.error.c_str());
    });
  }
  state.counters["point_ms"] = 1e3 * points / static_cast<double>(kPoints * state.iterations());
  state.counters["ratio"] = points / prediction;
  if (points > kMost * prediction) state.SkipWithError("a point takes more than three times as long as a prediction");
}

BENCHMARK_CAPTURE(points_over_prediction, new_batches, batches())->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(points_over_prediction, new_links, links())->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace distsim::perf

int main(int argc, char** argv) { return distsim::perf::run_benchmarks(argc, argv); }
