// Predictions of one experiment, one after another as in a sweep, with the time of each pass as a counter.
#pragma once

#include "bench.hpp"
#include "sim/pipeline/pipeline.hpp"

namespace distsim::perf {

inline void predict_repeatedly(benchmark::State& state, const Result<config::Experiment>& experiment) {
  if (failed(state, experiment)) return;
  std::vector<pipeline::Passes::Time> times;
  pipeline::CostModelCache cache;
  for (auto _ : state) {
    pipeline::Passes passes;
    const auto prediction = pipeline::predict(*experiment, passes, cache);
    benchmark::DoNotOptimize(prediction);
    if (failed(state, prediction)) return;
    times = passes.times();
  }
  for (const auto& t : times) state.counters[t.name + "_ms"] = t.ms;
}

}  // namespace distsim::perf
