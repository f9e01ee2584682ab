// Contention: collectives that run at once slow each other where they share links, NICs or uplinks, and slow hardware
// slows those that use it.
//
// Every rank's steps are played by the event evaluator (sim/engine/events/contended_evaluator.hpp) with the demands of
// SharedLinks, all copies of the job together. What it finds is kept as the program's new durations: a step that was
// slowed takes end - start. Played by rows, that program has the same times.
#pragma once

#include "base/result.hpp"
#include "sim/graph/costed_graph.hpp"
#include "sim/pipeline/contention/shared_links.hpp"
#include "sim/pipeline/lower.hpp"
#include "sim/pipeline/passes/passed.hpp"

namespace distsim::pipeline {

/// Of the program for contend(), where so many are to be in its result: one more where links are shared, as nothing of a
/// next iteration slows the end of the last one.
std::uint16_t lowered_iterations(std::uint16_t wanted, const config::EngineSpec& engine);

/// The pass `contend`. Divides the durations of kernels on slow GPUs by their speeds, then lengthens collectives by
/// what they lose on shared links, and drops the last iteration (lowered_iterations). Assumptions say what was slowed,
/// the worst first. Where the engine asks for neither, the program is returned as it is. Errors: a rank that is not there; those of SharedLinks; more steps on all ranks
/// than about 8 GB hold (every rank's are played one by one).
Result<Passed<Lowered>> contend(Lowered lowered, const graph::CostedGraph& costed, const CostModels& models,
                                const config::EngineSpec& engine);

}  // namespace distsim::pipeline
