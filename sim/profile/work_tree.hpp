// iteration -> annotation -> op -> kernel, and kernels by name.
#pragma once

#include "sim/profile/profile.hpp"

namespace distsim::profile {

/// Device records that start in [begin, end), by the ranges and ops around their launch: all annotations, the outermost
/// op, the op that launched. The marks of the steps themselves are left out of the chain. Records without a launch
/// are listed below "(launch not recorded)".
std::vector<WorkNode> work_tree(const traces::TraceJob& job, const traces::TraceRank& rank, std::int64_t begin,
                                std::int64_t end);

/// Trees of parts of a trace as one; children in order of their time.
std::vector<WorkNode> merge_trees(const std::vector<WorkNode>& a, const std::vector<WorkNode>& b);

/// By name, longest total first.
std::vector<KernelSummary> kernel_table(const traces::TraceJob& job, const traces::TraceRank& rank, std::int64_t begin,
                                        std::int64_t end);

}  // namespace distsim::profile
