// Events a second of the serving emulator. Goal: 5 million a second and core. `bare` is the least that such an emulator does:
// the same number of arrivals and ends on so many servers with one queue, in a heap of the standard library, and nothing
// of models, policies, links or results. Ratios to it are more reliable than times.

#include <cmath>
#include <cstdint>
#include <queue>
#include <utility>
#include <vector>

#include "base/random.hpp"
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

void bare(benchmark::State& state) {
  const auto servers = static_cast<std::uint32_t>(state.range(0));
  constexpr std::uint32_t kRequests = 200'000;
  std::uint64_t events = 0;
  for (auto _ : state) {
    Random random(1);
    const auto exponential = [&](double mean) {
      return static_cast<std::int64_t>(-mean * std::log(1 - random.uniform()));
    };
    using End = std::pair<std::int64_t, std::uint32_t>;
    std::priority_queue<End, std::vector<End>, std::greater<>> ends;
    std::queue<std::uint32_t> waiting;
    std::int64_t arrival = 0, total = 0;
    std::uint32_t sent = 0, busy = 0;
    while (sent < kRequests || !ends.empty()) {
      if (sent < kRequests && (ends.empty() || arrival < ends.top().first)) {
        if (busy < servers)
          ++busy, ends.emplace(arrival + exponential(3e9), sent);
        else
          waiting.push(sent);
        ++sent;
        arrival += exponential(1e12 / (300.0 * servers));
      } else {
        const End end = ends.top();
        ends.pop();
        total += end.first;
        if (waiting.empty()) {
          --busy;
        } else {
          ends.emplace(end.first + exponential(3e9), waiting.front());
          waiting.pop();
        }
      }
      ++events;
    }
    benchmark::DoNotOptimize(total);
  }
  state.counters["events/s"] = benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
}

BENCHMARK(bare)->Arg(1)->Arg(1000)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(serve, fifo_1_gpu, "fifo", "1")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(serve, fifo_1000_gpus, "fifo", "1000")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(serve, least_loaded_1000_gpus, "least_loaded", "1000")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace distsim::perf

int main(int argc, char** argv) { return distsim::perf::run_benchmarks(argc, argv); }
