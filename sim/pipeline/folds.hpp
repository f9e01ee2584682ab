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

/// With accumulations of more than `played` micro-steps of one size; nothing where all of it is played.
Result<std::optional<Folds>> folds_of(const config::Experiment& experiment, std::int64_t played);

/// The passes of a pipeline's stages as predict() plays them; nothing without a pipeline.
Result<std::optional<graph::PipelineOrder>> played_pipeline(const config::Experiment& experiment,
                                                            std::int64_t played_micro_steps);

/// The context of a report of the whole iteration, from that of the longer part.
report::ReportContext folded_context(const Whole& whole, report::ReportContext context);

}  // namespace distsim::pipeline
