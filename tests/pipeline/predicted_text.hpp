// Predictions of experiments that a test writes out.
#pragma once

#include <string>
#include <vector>

#include "sim/config/config.hpp"
#include "sim/pipeline/pipeline.hpp"

namespace distsim::pipeline {

inline Result<config::Experiment> experiment_of(const std::string& text, const std::vector<std::string>& sets = {}) {
  TRY_ASSIGN(const ConfigNode parsed, config::parse_experiment_text(text, "x.yaml", sets));
  return config::resolve(parsed);
}

inline Result<Prediction> predicted_text(const std::string& text, const std::vector<std::string>& sets = {}) {
  TRY_ASSIGN(const config::Experiment experiment, experiment_of(text, sets));
  Passes passes;
  return predict(experiment, passes);
}

}  // namespace distsim::pipeline
