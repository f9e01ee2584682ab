// The same collective on several ranks, and their clocks by it.
#pragma once

#include "traces/trace.hpp"

namespace distsim::traces {

/// Joins the collectives of a group and kind across ranks. Those without a group are taken as one group of all ranks. Sends
/// and receives that state their other end are joined by sender and receiver, in order; in a named group of more than two
/// ranks those that do not are left out. Where all others have a recorded sequence number, equal ones are joined. Else, on ranks with numbered steps (step_numbers.hpp),
/// the k-th of a step with the k-th of the step of that number; before the first step the k-th from its mark backward. Where
/// ranks have different numbers of them in a step, or all-reduces of different sizes, sizes tell which are the same; what sizes
/// leave open is left out. A rank without numbered steps is joined in order with the one that has most of them: by sizes where
/// these fit best, else from the first, or from the last where the ends then lie closer. Fills TraceJob::matches; says how many found no partner.
void match_collectives(TraceJob& job);

/// Ranks on clocks of their own: where the ends of matched collectives lie apart by more than `tolerance_ns` at the
/// median, the later ranks are moved. Collectives in steps of different numbers do not count, and where they are most of
/// those that two ranks share no clock is moved. Broadcasts, sends and receives, which one rank may leave early, move none:
/// where nearly all of those that two ranks share end later on one of the two, and nothing else tells,
/// TraceRank::clock_is_open. Of groups that no trace names, ends whose distances differ move none either. Says so.
void align_clocks(TraceJob& job, std::int64_t tolerance_ns);

}  // namespace distsim::traces
