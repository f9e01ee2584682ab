// Folds: experiments of many equal micro-steps, or of many rounds of micro-batches through a pipeline, of which only the first
// are played (sim/report/fold.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "sim/config/config.hpp"
#include "sim/graph/pipeline_order.hpp"
#include "sim/report/report.hpp"

namespace distsim::pipeline {

/// What a report says of an iteration of which only a part is played.
struct Whole {
  double samples = 0;
  double parts = 1;          ///< over those that are played
  std::string batch;         ///< how the batch is divided
  std::string played_parts;  ///< "2 of 8 micro-steps are"
  bool mixed = false;        ///< of several sizes
};

/// An experiment of which only a part is played.
struct Folds {
  config::Experiment shorter, longer;
  std::int64_t more = 0;  ///< times what `longer` has beyond `shorter`
  Whole whole;
  std::int64_t block = 1;  ///< micro-steps that `longer` has beyond `shorter`
};

/// For folds_of and predict(): nothing is folded, neither micro-steps nor micro-batches of a pipeline.
inline constexpr std::int64_t kAllMicroSteps = INT64_MAX;

/// With accumulations of more than `played` micro-steps of one size; nothing where all of it is played. `stretch`: times as
/// much is played.
Result<std::optional<Folds>> folds_of(const config::Experiment& experiment, std::int64_t played,
                                      std::int64_t stretch = 1);

/// What was played of an experiment: all of it, or the two parts of a fold. `Of` is a Report, a Brief or a Prediction.
template <class Of>
struct PlayedParts {
  std::optional<Folds> folds;
  std::optional<Of> shorter;  ///< where there are folds
  Of longer;
  std::int64_t stretch = 1;
};

/// Twice as much again and again, until a further micro-step adds what all others will (`is_linear(shorter, longer)`), or all
/// is played. `play(experiment)` is a Result<Of>.
template <class Of, class Play, class IsLinear>
Result<PlayedParts<Of>> play_parts(const config::Experiment& e, std::int64_t played, Play play, IsLinear is_linear) {
  constexpr std::int64_t kMostStretch = 256;  // of a thousand micro-steps none is unlike the others any more
  for (std::int64_t stretch = 1;; stretch *= 2) {
    TRY_ASSIGN(std::optional<Folds> folds, folds_of(e, played, stretch));
    if (!folds) {
      TRY_ASSIGN(Of all, play(e));
      return PlayedParts<Of>{std::nullopt, std::nullopt, std::move(all), stretch};
    }
    TRY_ASSIGN(Of shorter, play(folds->shorter));
    TRY_ASSIGN(Of longer, play(folds->longer));
    if (stretch == kMostStretch || is_linear(shorter, longer))
      return PlayedParts<Of>{std::move(folds), std::move(shorter), std::move(longer), stretch};
  }
}

/// The passes of a pipeline's stages as predict() plays them (Prediction::stretch); nothing without a pipeline.
Result<std::optional<graph::PipelineOrder>> played_pipeline(const config::Experiment& experiment,
                                                            std::int64_t played_micro_steps, std::int64_t stretch);

/// The context of a report of the whole iteration, from that of the longer part.
report::ReportContext folded_context(const Whole& whole, report::ReportContext context);

}  // namespace distsim::pipeline
