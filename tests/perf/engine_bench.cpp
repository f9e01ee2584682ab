// Row evaluator against the bare loop that its recurrence comes down to.
//
//   BareLoop       end[r] = max(end[r], other[r]) + duration[step][r], nothing kept: what a rank-step costs at least
//   Makespan       the same program through evaluate_makespan
//   Timeline       the same, ready, start and end of all kept, with the digest
//   Uniform        a program of equal ranks
//   Irregular      the same steps as lists of each rank; items_per_second are steps
//
// The counter `ns_per_rank_step` makes runs of different size comparable; compare with BareLoop of the same run.

#include <algorithm>

#include "base/random.hpp"
#include "bench.hpp"
#include "sim/engine/events/irregular_evaluator.hpp"
#include "sim/engine/rows/row_evaluator.hpp"
#include "sim/engine/timeline/verify.hpp"

namespace distsim::perf {
namespace {

constexpr std::uint32_t kSteps = 220;
constexpr std::uint32_t kNode = 8;

/// Small noise around `mean`: cheap to fill, different on every rank.
engine::Row noisy(Random& random, std::uint32_t ranks, std::int64_t mean) {
  std::vector<std::int64_t> values(ranks);
  for (auto& v : values) v = mean + static_cast<std::int64_t>(random.next() >> 50);
  return engine::Row(std::move(values));
}

/// Compute and communication streams; every step waits for the one before it on the other stream; every tenth joins
/// (all ranks, nodes, rails in turn).
engine::Program two_streams(std::uint32_t ranks, bool per_rank, bool joins) {
  Random random(1);
  engine::Program p;
  p.ranks = ranks;
  p.streams = 2;
  p.groups = {{ranks, 1, {}, {}}, {kNode, 1, {}, {}}, {ranks / kNode, kNode, {}, {}}};
  for (std::uint32_t s = 0; s < kSteps; ++s) {
    engine::Row duration = per_rank ? noisy(random, ranks, 1'000'000) : engine::Row(1'000'000 + s);
    const StepId wait(s == 0 ? 0 : s - 1);
    const std::uint32_t group = joins && s % 10 == 9 ? s / 10 % 3 : engine::Step::kNoGroup;
    p.add({StreamId(s % 2), std::move(duration), group}, std::span(&wait, s == 0 ? 0u : 1u));
  }
  return p;
}

void set_rate(benchmark::State& state, std::uint32_t ranks) {
  const double rank_steps = static_cast<double>(ranks) * kSteps;
  state.counters["ns_per_rank_step"] = benchmark::Counter(
      rank_steps * 1e-9, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

#if defined(__x86_64__)
__attribute__((target_clones("default", "avx2", "avx512f"), optimize("O3")))
#endif
void bare_step(std::int64_t* end, const std::int64_t* other, const std::int64_t* duration, std::size_t n) {
  for (std::size_t r = 0; r < n; ++r) end[r] = std::max(end[r], other[r]) + duration[r];
}

void BareLoop(benchmark::State& state) {
  const auto ranks = static_cast<std::uint32_t>(state.range(0));
  const engine::Program p = two_streams(ranks, true, false);
  for (auto _ : state) {
    std::vector<std::int64_t> end[2] = {std::vector<std::int64_t>(ranks, 0), std::vector<std::int64_t>(ranks, 0)};
    for (std::uint32_t s = 0; s < kSteps; ++s) {
      bare_step(end[s % 2].data(), end[1 - s % 2].data(), p.steps[StepId(s)].duration.values().data(), ranks);
    }
    benchmark::DoNotOptimize(*std::max_element(end[1].begin(), end[1].end()));
  }
  set_rate(state, ranks);
}
BENCHMARK(BareLoop)->Arg(131'072)->Unit(benchmark::kMillisecond);

void Makespan(benchmark::State& state) {
  const auto ranks = static_cast<std::uint32_t>(state.range(0));
  const engine::Program p = two_streams(ranks, true, state.range(1));
  for (auto _ : state) benchmark::DoNotOptimize(engine::evaluate_makespan(p)->makespan);
  set_rate(state, ranks);
}
BENCHMARK(Makespan)
    ->ArgNames({"ranks", "joins"})
    ->Args({131'072, 0})
    ->Args({131'072, 1})
    ->Unit(benchmark::kMillisecond);

void Timeline(benchmark::State& state) {
  const auto ranks = static_cast<std::uint32_t>(state.range(0));
  const engine::Program p = two_streams(ranks, true, state.range(1));
  for (auto _ : state) benchmark::DoNotOptimize(engine::evaluate_rows(p)->digest);
  set_rate(state, ranks);
}
BENCHMARK(Timeline)
    ->ArgNames({"ranks", "joins"})
    ->Args({131'072, 0})
    ->Args({131'072, 1})
    ->Args({10'240, 1})
    ->Unit(benchmark::kMillisecond);

void Uniform(benchmark::State& state) {
  const auto ranks = static_cast<std::uint32_t>(state.range(0));
  const engine::Program p = two_streams(ranks, false, true);
  for (auto _ : state) benchmark::DoNotOptimize(engine::evaluate_rows(p)->digest);
}
BENCHMARK(Uniform)->Arg(32)->Arg(1'048'576)->Unit(benchmark::kMicrosecond);

void Small(benchmark::State& state) {
  const engine::Program p = two_streams(32, true, true);
  for (auto _ : state) benchmark::DoNotOptimize(engine::evaluate_rows(p)->digest);
}
BENCHMARK(Small)->Unit(benchmark::kMicrosecond);

void Irregular(benchmark::State& state) {
  const auto ranks = static_cast<std::uint32_t>(state.range(0));
  const auto program = engine::expand(two_streams(ranks, true, true));
  for (auto _ : state) benchmark::DoNotOptimize(engine::evaluate_irregular(*program)->digest);
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * program->steps.size()));
}
BENCHMARK(Irregular)->Arg(1'024)->Arg(4'096)->Unit(benchmark::kMillisecond);

void Verify(benchmark::State& state) {
  const auto ranks = static_cast<std::uint32_t>(state.range(0));
  const engine::Program p = two_streams(ranks, state.range(1), true);
  const auto timeline = engine::evaluate_rows(p);
  for (auto _ : state) {
    if (failed(state, engine::verify(p, *timeline))) return;
  }
  set_rate(state, ranks);
}
BENCHMARK(Verify)
    ->ArgNames({"ranks", "per_rank"})
    ->Args({131'072, 1})
    ->Args({1'048'576, 0})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace distsim::perf

int main(int argc, char** argv) { return distsim::perf::run_benchmarks(argc, argv); }
