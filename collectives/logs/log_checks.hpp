// Ranks and nodes of a run: what the lines of its log say against each other and against the flags.
#pragma once

#include <string>

#include "base/result.hpp"
#include "collectives/curves/curve_set.hpp"
#include "collectives/logs/log_tables.hpp"

namespace distsim::collectives {

/// Errors: groups of several sizes, a rank that the list of ranks lacks, ranks and nodes that are not those of the list or
/// of what the log states.
Result<void> check_hints(const LogContext& context, const std::string& file, const LogHints& hints);

/// Error: more nodes than ranks.
Result<void> check_shape(const LogContext& context, const std::string& file);

}  // namespace distsim::collectives
