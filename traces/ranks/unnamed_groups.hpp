// Collectives of which no trace says between which ranks they are.
#pragma once

#include "traces/trace.hpp"

namespace distsim::traces {

/// Whether a match was made without a group though the job has more than two ranks, among which there may be several.
bool is_of_unnamed_group(const TraceJob& job, const CollectiveMatch& match);

/// How far apart ends are that need not be those of one collective: more than its transfer takes, and than `tolerance_ns`.
/// Nothing where a root or a sender may leave early, or times do not tell.
bool ends_too_far_apart(const TraceJob& job, const CollectiveMatch& match, std::int64_t tolerance_ns);

/// Gives up the matches of unnamed groups of a kind where more than a quarter of them have ends that are too far apart to
/// be one; else those that do. Says so, and that all ranks are taken for one group.
void give_up_unlike_matches(TraceJob& job, std::int64_t tolerance_ns);

}  // namespace distsim::traces
