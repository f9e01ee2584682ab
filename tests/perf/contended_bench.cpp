// Contended evaluator on the patterns that make flow-level simulators slow.

#include "bench.hpp"
#include "sim/engine/events/contended_evaluator.hpp"

namespace distsim::perf {
namespace {

using Demand = engine::Contention::Demand;

struct Scene {
  engine::IrregularProgram p;
  engine::Contention c;
};

void play(benchmark::State& state, const Scene& scene) {
  for (auto _ : state) benchmark::DoNotOptimize(engine::evaluate_contended(scene.p, scene.c)->digest);
  state.counters["steps"] = static_cast<double>(scene.p.steps.size());
}

/// Every rank sends to every other at once, each message a flow of its own, over the hosts' links only. `spread` makes
/// the messages of unequal size, so that flows end at that many different times.
Scene linear_all_to_all(std::uint32_t ranks, std::uint32_t spread) {
  Scene s{{ranks, ranks - 1}, {std::vector<double>(2 * ranks, 1.0)}};
  for (std::uint32_t from = 0; from < ranks; ++from) {
    for (std::uint32_t i = 1; i < ranks; ++i) {
      const std::uint32_t to = (from + i) % ranks;
      const Demand demands[] = {{from, 1}, {ranks + to, 1}};
      s.c.add(demands);
      s.p.add({RankId(from), StreamId(i - 1), 1'000'000 + std::int64_t{i % spread} * 1'000});
    }
  }
  return s;
}

void LinearAllToAll(benchmark::State& state) {
  play(state,
       linear_all_to_all(static_cast<std::uint32_t>(state.range(0)), static_cast<std::uint32_t>(state.range(1))));
}
BENCHMARK(LinearAllToAll)
    ->ArgNames({"ranks", "sizes"})
    ->Args({64, 1})
    ->Args({64, 8})
    ->Args({512, 1})
    ->Args({512, 8})
    ->Unit(benchmark::kMillisecond);

/// 1,024 GPUs, 8 a node, 4 nodes a leaf, 8 leaves a pod, 4 pods, 2:1 oversubscribed at both levels: 20 rounds in which
/// an all-to-all over rails and an all-reduce over neighbouring nodes run at once and cross the same uplinks. Groups
/// are meetings, whose demands on uplinks add up.
Scene fat_tree(std::uint32_t rounds) {
  constexpr std::uint32_t kGpus = 1024, kPerLeaf = 32, kPerPod = 256, kLeaves = kGpus / kPerLeaf,
                          kPods = kGpus / kPerPod;
  Scene s{{kGpus, 2}, {std::vector<double>(kGpus, 25.0)}};
  s.c.capacities.insert(s.c.capacities.end(), kLeaves, 25.0 * kPerLeaf / 2);
  s.c.capacities.insert(s.c.capacities.end(), kPods, 25.0 * kPerPod / 4);
  for (std::uint32_t round = 0; round < rounds; ++round) {
    const auto first = static_cast<std::uint32_t>(s.p.meeting_sizes.size());
    s.p.meeting_sizes.insert(s.p.meeting_sizes.end(), 8, kGpus / 8);    // all-to-all: one group a rail
    s.p.meeting_sizes.insert(s.p.meeting_sizes.end(), kGpus / 64, 64);  // all-reduce: blocks of eight nodes
    for (std::uint32_t gpu = 0; gpu < kGpus; ++gpu) {
      const std::uint32_t leaf = kGpus + gpu / kPerLeaf, pod = kGpus + kLeaves + gpu / kPerPod;
      const Demand everywhere[] = {{gpu, 20}, {leaf, 19}, {pod, 15}}, nearby[] = {{gpu, 20}, {leaf, 1}};
      s.c.add(everywhere);
      s.p.add({RankId(gpu), StreamId(0), 500'000'000 + std::int64_t{gpu % 8} * 1'000'000, first + gpu % 8});
      s.c.add(nearby);
      s.p.add({RankId(gpu), StreamId(1), 300'000'000 + std::int64_t{gpu / 64} * 1'000'000, first + 8 + gpu / 64});
    }
  }
  return s;
}

void FatTree1024(benchmark::State& state) { play(state, fat_tree(static_cast<std::uint32_t>(state.range(0)))); }
BENCHMARK(FatTree1024)->ArgName("rounds")->Arg(1)->Arg(20)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace distsim::perf

int main(int argc, char** argv) { return distsim::perf::run_benchmarks(argc, argv); }
