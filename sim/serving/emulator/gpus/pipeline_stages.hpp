// Stages of a group of GPUs that executes models as a pipeline.
//
// A model's layers are dealt to the stages in their order, so that the slowest stage takes as little time as possible for
// one request. A piece of work enters stage k when it has left stage k - 1, its data has been sent (state of the model
// after that layer, over the links between two GPUs of the box) and the piece before it has left stage k.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/serving/emulator/scenario.hpp"

namespace distsim::serving {

/// First layers of the stages of a chain of layers, and its end: of all ways to cut it into `stages` (some of which may be
/// empty) one with the least time of the slowest stage. `times`: of each layer, not negative.
std::vector<std::uint32_t> balanced_stages(const std::vector<std::int64_t>& times, std::uint32_t stages);

/// When a pipeline's stages are free, and what it takes to pass them.
class PipelineStages {
 public:
  PipelineStages(const Scenario& s, std::uint32_t gpu);

  struct Passage {
    std::int64_t first_free_ps = 0;  ///< the first stage takes the next piece
    std::int64_t end_ps = 0;
    std::int64_t busy_ps = 0;     ///< of all stages together
    std::int64_t sent_ps = 0;     ///< on the links between them
    std::int64_t held_up_ps = 0;  ///< waiting for the next stage
  };
  /// Of layers [begin, end) as a batch that enters now. Times of calls never decrease.
  Passage pass(std::int64_t now_ps, std::uint32_t model, std::uint32_t begin, std::uint32_t end, std::uint32_t batch,
               double factor);

  /// By stage: when it is free.
  const std::vector<std::int64_t>& free_at() const { return free_at_; }
  /// The same of stages that are free at other times, which it moves on.
  Passage through(std::vector<std::int64_t>& free_at, std::int64_t now_ps, std::uint32_t model, std::uint32_t begin,
                  std::uint32_t end, std::uint32_t batch, double factor) const;

 private:
  const Scenario& scenario_;
  std::uint32_t gpu_;
  std::vector<std::int64_t> free_at_;
  std::vector<std::vector<std::uint32_t>> cuts_;  ///< by model
};

}  // namespace distsim::serving
