// Files that an experiment names (curves, systems, placements) as inputs of a study, before its work is done.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace distsim::app {

/// The experiments of a study.
struct Studied {
  std::string config;               ///< their file; empty: they are all in `values`
  std::vector<std::string> sets;    ///< --set of one of them
  std::vector<std::string> values;  ///< all that any of them has of --set, or in a table
};

/// check_outputs() once more, when the files that the experiments name are known: those of points that are in a journal, that
/// another process evaluates, or that an early end leaves, too. Looked for only where one of the outputs exists: of others
/// none can be an input. What is wrong with an experiment is for the study to say.
Result<void> check_named_inputs(const std::vector<std::pair<std::string, std::string>>& flag_and_path,
                                const Studied& studied);

}  // namespace distsim::app
