// Files that an experiment names (curves, systems, placements) as inputs of a study, before its work is done.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace distsim::app {

/// check_outputs() once more, when the files that the experiment names are known. They are once it is predicted, which is
/// done here only where one of the outputs exists: of others none can be an input. What is wrong with the experiment is for
/// the study to say.
Result<void> check_named_inputs(const std::vector<std::pair<std::string, std::string>>& flag_and_path,
                                const std::string& config, const std::vector<std::string>& sets);

}  // namespace distsim::app
