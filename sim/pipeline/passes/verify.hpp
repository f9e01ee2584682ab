// The invariants of every pass's result. A broken one is a fault of ours, found by `Passes` in every build: better no
// prediction than a wrong one. Each returns the first broken invariant. Cost: about that of reading the value once.
#pragma once

#include <memory>

#include "base/config/config_node.hpp"
#include "base/result.hpp"
#include "sim/config/config.hpp"
#include "sim/engine/timeline/timeline.hpp"
#include "sim/graph/costed_graph.hpp"
#include "sim/pipeline/lower.hpp"
#include "sim/pipeline/passes/passed.hpp"
#include "sim/pipeline/price.hpp"
#include "sim/report/report.hpp"
#include "sim/workload/workload.hpp"

namespace distsim::pipeline {

/// A mapping whose keys are each there once, at every level.
Result<void> verify(const ConfigNode& config);

/// A machine with GPUs and a model.
Result<void> verify(const config::Experiment& experiment);

/// Ranks are nodes x GPUs. The route from the first GPU to the last is unbroken, and every hop has bandwidth.
Result<void> verify(const topology::Topology& topology);

/// Models whose topology was verified when they were made (make_cost_models): many predictions share them.
Result<void> verify(const std::shared_ptr<const CostModels>& models);

/// Tasks, ops, tables of ranks and groups refer to each other within bounds; dependencies point to earlier tasks.
Result<void> verify(const graph::TaskGraph& graph);

/// Samples and flops are finite and not negative; memory is that of one rank or of all.
Result<void> verify(const workload::Workload& workload);

/// A cost per op; 0 <= low <= mean <= high; every cost has a source.
Result<void> verify(const graph::CostedGraph& costed);

/// An origin per step, and iterations in order, each with the same steps. What a program must be to be played at all is
/// checked by the engine, since a time that the user gave may break it.
Result<void> verify(const Lowered& lowered);

/// The laws of sim/engine/timeline/verify.hpp.
Result<void> verify(const engine::Timeline& timeline, const Lowered& lowered);

/// Parts add up: those of the iteration on every rank and on average, and the critical cycle. low <= iteration <= high.
Result<void> verify(const report::Report& report);

template <class T>
Result<void> verify(const Passed<T>& passed) {
  for (const graph::Assumption& a : passed.assumptions) {
    if (a.text.empty()) return Error{"an assumption without words", "", ""};
  }
  return verify(passed.value);
}

}  // namespace distsim::pipeline
