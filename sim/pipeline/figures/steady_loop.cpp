#include "sim/pipeline/figures/steady_loop.hpp"

#include <utility>

#include "sim/pipeline/contention/interference.hpp"
#include "sim/pipeline/experiment_inputs.hpp"

namespace distsim::pipeline {
namespace {

constexpr std::size_t kMostNumbers = std::size_t{1} << 24;  // 128 MiB

}  // namespace

SteadyLoop::SteadyLoop(const graph::CostedGraph& costed, LoweredLoop lowered)
    : costed_(costed), lowered_(std::move(lowered)), roles_(engine::roles_of(lowered_.loop)) {
  lowered_.loop = engine::loop_of_roles(std::move(lowered_.loop), roles_);
}

Result<std::unique_ptr<SteadyLoop>> SteadyLoop::play(const graph::CostedGraph& costed, const CostModels& models,
                                                     const config::Experiment& e) {
  if (e.engine.contended() || !e.engine.slow_gpus.empty()) return std::unique_ptr<SteadyLoop>();
  TRY_ASSIGN(LoweredLoop lowered, lower_loop(costed, launch_model_of(e)));
  std::unique_ptr<SteadyLoop> out(new SteadyLoop(costed, std::move(lowered)));
  if (!out->play_until_settled(models)) out.reset();
  return out;
}

bool SteadyLoop::play_until_settled(const CostModels& models) {
  for (std::uint32_t iterations = kPlayedIterations;; iterations *= 2) {
    if (engine::LoopPlayer::numbers_of(lowered_.loop, iterations) > kMostNumbers) return false;
    player_.emplace(lowered_.loop, iterations);
    if (!player_->play()) return false;
    slow_overlaps(played(), shared_device_of(models));
    if (!player_->play()) return false;
    if (iterations * 2 > kMostIterations || report::is_settled(played())) return true;
  }
}

}  // namespace distsim::pipeline
