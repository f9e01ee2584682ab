// How large a collective is, of what its call, its kernel and the ops around them say.
#pragma once

#include <string_view>

#include "traces/trace.hpp"

namespace distsim::traces {

/// Fills what is open of the elements that a rank gives and gets, and their type, from the tensors of an op. The ops of
/// torch.distributed (`c10d::_allgather_base_`) name first where the result goes and then what is given, unless a collective
/// changes its tensors; a range of a library (`nccl:all_gather`) names what is given.
void fill_elements(std::string_view op, const OpInputs& inputs, TraceCollective& collective);

/// Ranks of its group; where that is not known all ranks of the job. 0: not known either.
std::uint32_t ranks_of_group(const TraceJob& job, const TraceCollective& collective);

/// Whether a rank says only its own part of what the size counts.
bool states_a_part(const TraceCollective& collective);

/// Sets `bytes`, once the kind is known, as the size column of nccl-tests (sim/graph/ops/collective.hpp): of all_gather,
/// reduce_scatter, gather and scatter that of all parts together, where only one is stated that of one for each rank of the
/// group; else what a rank holds. -1 where it is not known.
void set_collective_bytes(const TraceJob& job, TraceCollective& collective);

/// A call that gives out another number of elements than its kind does of what it takes in: an all-reduce as many; all-gather
/// and gather as many times more as the group has ranks; reduce-scatter and scatter fewer by that. Its size is not known.
bool states_two_sizes(const TraceJob& job, const TraceCollective& collective);

}  // namespace distsim::traces
