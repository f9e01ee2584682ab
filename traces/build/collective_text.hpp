// What traces say about collectives, in the words of PyTorch and NCCL: names of calls and kernels, element types, lists
// of ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/trace.hpp"

namespace distsim::traces {

/// "allreduce", "_allgather_base", "all_to_allv", "nccl:all_reduce", "gloo:broadcast", "c10d::allreduce_",
/// "allreduce_coalesced",
/// ...
std::optional<graph::CollectiveKind> collective_of_call(std::string_view name);

/// The kind in a kernel's name: "ncclDevKernel_AllReduce_Sum_f16_RING_LL(...)",
/// "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(...)"; up to NCCL 2.7 "ncclAllReduceRingLLKernel_sum_f32(...)". Nothing for
/// "ncclDevKernel_Generic" and for kernels that do not communicate. SendRecv may also be an all-to-all: ask the call.
std::optional<graph::CollectiveKind> collective_of_kernel(std::string_view name);

/// The element type in the name of a kernel that reduces: "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)",
/// "ncclKernel_AllReduce_RING_LL_Sum_half". Others only move bytes, and are named by int8 or nothing whatever they move.
std::optional<graph::DType> dtype_of_kernel(std::string_view name);

/// True for kernels whose name contains nccl or rccl, in any case.
bool is_communication_kernel(std::string_view name);

/// "Float", "BFloat16", "c10::Half", "long int", "int64", "Byte", "Tensor(float)", ...
std::optional<graph::DType> dtype_of_text(std::string_view text);

/// What a trace's arguments say about one collective; fields that were absent keep their defaults.
struct CollectiveArgs {
  std::string_view name, dtype, group_name, group_description, ranks, in_split, out_split;
  std::int64_t in_elements = -1, out_elements = -1, group_size = 0, sequence = -1, from = -1, to = -1, rank_start = -1,
               rank_stride = 0;
  bool any() const { return !name.empty() || in_elements >= 0; }
};

/// Numbers in "[0, 1, 2]"; `cut` is set where the list ends in "...".
std::vector<std::int64_t> integer_list(std::string_view text, bool& cut);

/// Ranks in "[0, 8, 16]", the list of a group of `size` (0: not known). One that PyTorch cut before its last
/// ("[0, 8, ..., 504]") is rebuilt where one stride leads from the first to the last; otherwise a cut one gives none.
std::vector<std::uint32_t> listed_ranks(std::string_view text, std::int64_t size);

/// The record of a collective, its group interned in the job; without a size (complete_collectives).
TraceCollective make_collective(TraceJob& job, const CollectiveArgs& args);

/// Index of the group in the job; added where it is new. kNone beyond 4096 groups.
std::uint32_t intern_group(TraceJob& job, TraceGroup group);

}  // namespace distsim::traces
