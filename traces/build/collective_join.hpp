// Collectives within a rank.
#pragma once

#include "traces/trace.hpp"

namespace distsim::traces {

/// When a collective of a rank ran: its kernel, else the host. REQUIRES: it has one of the two.
std::int64_t start_of(const TraceRank& rank, const TraceCollective& c);
std::int64_t end_of(const TraceRank& rank, const TraceCollective& c);

/// Gives every communication kernel a collective. What the kernel's own arguments leave open comes, in this order, from
/// the ops around its launch (arguments of record_param_comms, name and shapes of an `nccl:all_reduce` range) and from
/// the kernel's name. A call whose collective no communication kernel took gets the longest kernel that it launched; without
/// one it runs on the host (gloo, MPI, or a rank without a device), or is not timed. Host records whose collective a
/// kernel took lose it. Then orders collectives by start. Sizes are set here, as only now all kinds and the ranks of the job are known. Says in the notes how many kinds and sizes are unknown.
void complete_collectives(TraceJob& job, TraceRank& rank);

/// Says of how many communication kernels the kind or the size is not known.
void note_unknown_collectives(TraceNotes& notes, std::uint64_t kernels, std::uint64_t no_kind, std::uint64_t no_size);

}  // namespace distsim::traces
