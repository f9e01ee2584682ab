// How long it takes to price one collective. Goals: 1 us for a kind of group that was priced before, 20 us for a new
// kind.

#include <numeric>

#include "base/config/config_node.hpp"
#include "bench.hpp"
#include "collectives/collective_models.hpp"
#include "test_paths.hpp"
#include "topology/devices/device_spec.hpp"

namespace distsim::perf {
namespace {

std::string config(const std::string& name) { return test::root() + "/configs/" + name; }

std::vector<std::uint32_t> first_ranks(std::uint32_t n) {
  std::vector<std::uint32_t> out(n);
  std::iota(out.begin(), out.end(), 0u);
  return out;
}

graph::Collective op_of(graph::CollectiveKind kind, std::int64_t bytes) {
  return {kind, bytes, graph::DType::fp32, {}, {}};
}

topology::Topology shipped(const char* system, std::int64_t nodes) {
  topology::ClusterSpec spec =
      *topology::cluster_schema().read(*parse_yaml_file(config(std::string("systems/") + system + ".yaml")));
  spec.nodes = nodes;
  const topology::DeviceSpec device =
      *topology::device_schema().read(*parse_yaml_file(config("devices/" + spec.device + ".yaml")));
  return *topology::Topology::build(spec, device.compute_capability);
}

collectives::CollectiveOptions options(bool curves) {
  collectives::CollectiveOptions o;
  o.use_curves = curves;
  o.curve_dirs = {config("curves")};
  return o;
}

/// The same group again and again: the look-up and one interpolation.
void cached(benchmark::State& state, graph::CollectiveKind kind, bool curves) {
  const topology::Topology t = shipped("dgx_a100_80gb", 4);
  const collectives::CollectiveModels models = *collectives::CollectiveModels::create(t, options(curves));
  const topology::GroupFacts facts = t.facts(first_ranks(32));
  const graph::Collective op = op_of(kind, 3'000'000);
  for (auto _ : state) {
    const auto cost = models.price(op, facts);
    benchmark::DoNotOptimize(cost);
    if (failed(state, cost)) return;
  }
}

/// A new kind of group each time, told apart by its wire's latency. The models are made anew before their cache of 4096
/// kinds is full.
void uncached(benchmark::State& state, graph::CollectiveKind kind, bool curves) {
  const topology::Topology t = shipped("dgx_a100_80gb", 4);
  topology::GroupFacts facts = t.facts(first_ranks(32));
  const graph::Collective op = op_of(kind, 3'000'000);
  collectives::CollectiveModels models = *collectives::CollectiveModels::create(t, options(curves));
  std::int64_t n = 0;
  for (auto _ : state) {
    if (++n % 4000 == 0) {
      state.PauseTiming();
      models = *collectives::CollectiveModels::create(t, options(curves));
      state.ResumeTiming();
    }
    facts.inter_latency = Duration::nanoseconds(2000) + Duration::picoseconds(n);
    const auto cost = models.price(op, facts);
    benchmark::DoNotOptimize(cost);
    if (failed(state, cost)) return;
  }
}

BENCHMARK_CAPTURE(cached, all_reduce_curves, graph::CollectiveKind::all_reduce, true);
BENCHMARK_CAPTURE(cached, all_reduce_facts, graph::CollectiveKind::all_reduce, false);
BENCHMARK_CAPTURE(cached, all_to_all_curves, graph::CollectiveKind::all_to_all, true);
BENCHMARK_CAPTURE(uncached, all_reduce_curves, graph::CollectiveKind::all_reduce, true);
BENCHMARK_CAPTURE(uncached, all_reduce_facts, graph::CollectiveKind::all_reduce, false);
BENCHMARK_CAPTURE(uncached, all_to_all_curves, graph::CollectiveKind::all_to_all, true);

}  // namespace
}  // namespace distsim::perf

int main(int argc, char** argv) { return distsim::perf::run_benchmarks(argc, argv); }
