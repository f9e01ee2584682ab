// Events a second of the serving emulator. Goal: 5 million a second and core.

#include "bench.hpp"
#include "sim/serving/spec/serving_spec.hpp"

namespace distsim::perf {
namespace {

void serve(benchmark::State& state, const std::string& policy, const std::string& gpus) {
  const std::string text =
      "gpus: [{name: a, count: " + gpus +
      "}]\n"
      "models: [{name: m, layer_times: [1 ms, 2 ms], variation: exponential}, {name: n, layer_times: [3 ms]}]\n"
      "load: {rate_per_s: " +
      std::to_string(std::stoi(gpus) * 300) +
      ", requests: 200000}\n"
      "policies: [" +
      policy + "]\n";
  const auto e = serving::parse_experiment(text, "bench.yaml", {});
  if (failed(state, e)) return;
  std::uint64_t events = 0;
  for (auto _ : state) {
    const auto run = serving::emulate(e->scenario, *e->policies[0], e->policy_options, e->load, e->run);
    if (failed(state, run)) return;
    events += run->events + run->sent;  // arrivals are events, too
  }
  state.counters["events/s"] = benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
}

BENCHMARK_CAPTURE(serve, fifo_1_gpu, "fifo", "1")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(serve, fifo_1000_gpus, "fifo", "1000")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(serve, least_loaded_1000_gpus, "least_loaded", "1000")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace distsim::perf

int main(int argc, char** argv) { return distsim::perf::run_benchmarks(argc, argv); }
