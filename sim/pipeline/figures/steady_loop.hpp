// SteadyLoop: an iteration played as a loop of roles until it has its rhythm: the passes lower, interfere and simulate at
// the price of figures, without a program, a timeline or assumptions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "sim/config/config.hpp"
#include "sim/pipeline/lower.hpp"
#include "sim/pipeline/price.hpp"
#include "sim/report/loop/loop_figures.hpp"

namespace distsim::pipeline {

/// Iterations that are played; the last one is reported, when host and GPU have found their rhythm. Twice as many until
/// they have (report::is_settled), up to kMostIterations: where a stream that waits a little longer in each iteration
/// will hold the others up later on.
inline constexpr std::uint16_t kPlayedIterations = 3, kMostIterations = 48;

class SteadyLoop {
 public:
  /// Null where an iteration has to be played as a program: with contention or slow GPUs, with too many steps of too many different
  /// ranks, or where a time would reach the limit of the engine.
  static Result<std::unique_ptr<SteadyLoop>> play(const graph::CostedGraph& costed, const CostModels& models,
                                                  const config::Experiment& experiment);
  report::LoopPlay played() { return {&costed_, &lowered_.origins, &roles_, &*player_}; }

 private:
  SteadyLoop(const graph::CostedGraph& costed, LoweredLoop lowered);
  bool play_until_settled(const CostModels& models);

  const graph::CostedGraph& costed_;
  LoweredLoop lowered_;
  engine::Roles roles_;
  std::optional<engine::LoopPlayer> player_;
};

}  // namespace distsim::pipeline
