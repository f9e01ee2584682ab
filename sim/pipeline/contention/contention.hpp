// Contention: collectives that run at once slow each other where they share links, adapters or uplinks, and slow
// hardware slows those that use it.
//
// Every rank's steps are played by the event evaluator (sim/engine/contended_evaluator.hpp) with the demands of
// SharedLinks, all copies of the job together. What it finds is kept as the program's new durations: a step that was
// slowed takes end - start. Played by rows, that program has the same times.
#pragma once

#include "base/result.hpp"
#include "sim/graph/costed_graph.hpp"
#include "sim/pipeline/contention/shared_links.hpp"
#include "sim/pipeline/lower.hpp"
#include "topology/topology.hpp"

namespace distsim::pipeline {

/// Divides the durations of the kernels on slow GPUs by their speeds. Errors: a rank that is not there.
Result<void> slow_gpus(Lowered& lowered, const config::EngineSpec& engine);

/// Returns what was slowed, in words, the worst first; empty where nothing was. Errors: those of SharedLinks; more
/// steps on all ranks than some 8 GB hold (every rank's are played one by one).
Result<std::vector<std::string>> contend(Lowered& lowered, const graph::CostedGraph& costed,
                                         const topology::Topology& topology, const config::EngineSpec& engine);

}  // namespace distsim::pipeline
