// An experiment of which keys are asked.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "sim/config/config.hpp"
#include "sim/pipeline/cost_model_cache.hpp"
#include "sim/pipeline/pipeline.hpp"
#include "sim/study/idle/comparison.hpp"
#include "sim/study/idle/key_paths.hpp"

namespace distsim::study::idle {

/// May be asked by several threads: as a whole it is predicted once, for the first key that needs it.
class Asked {
 public:
  Asked(ConfigNode parsed, pipeline::CostModelCache& cache);

  /// `unasked`: it is needed, a name, or repeats what would hold without it; `unknown`: there is no prediction.
  enum class Effect : std::uint8_t { some, none, unasked, unknown };
  Effect effect_of(const Path& path);

  /// Whether the prediction is another without these keys together. False where there is none.
  bool depends_on(const std::vector<Path>& paths);

 private:
  bool is_predicted();

  const ConfigNode parsed_;
  const Result<config::Experiment> whole_;
  pipeline::CostModelCache& cache_;
  std::mutex predicting_;
  std::optional<Result<pipeline::Prediction>> prediction_;
  std::optional<Comparison> comparison_;
};

}  // namespace distsim::study::idle
