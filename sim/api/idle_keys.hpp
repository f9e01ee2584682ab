// The keys of an experiment that change nothing, in its report: for `distsim predict` and the library's predict().
#pragma once

#include <string>
#include <vector>

#include "sim/config/config.hpp"
#include "sim/pipeline/pipeline.hpp"

namespace distsim::api {

/// "no effect on this prediction: ..."; empty where all keys have one. `threads`: 0: as many as help.
std::string idle_keys(const ConfigNode& parsed, const config::Experiment& experiment,
                      const pipeline::Prediction& prediction, bool trials, pipeline::CostModelCache& cache,
                      unsigned threads = 0);

/// The same of those of `sets` that later ones replace, so that no key of the experiment is theirs.
std::string replaced_keys(const std::vector<std::string>& sets);

}  // namespace distsim::api
