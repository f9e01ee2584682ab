// One event of a Kineto (Chrome) trace, taken out of its JSON. Texts point into the JSON and are as written there
// (escapes kept).
#pragma once

#include <string_view>

#include "traces/build/collective_text.hpp"
#include "traces/files/json_values.hpp"

namespace distsim::traces {

/// A number or text in an argument, without its quotes. Empty: absent or null.
using KinetoText = std::string_view;

struct KinetoArgs {
  KinetoText external, correlation, device, stream, context, bytes, record_function, grid, block, registers,
      shared_memory, blocks_per_sm, occupancy, graph, graph_node;
  KinetoText dims, types, values, strides;  ///< Input Dims, Input type, Concrete Inputs, Input Strides: JSON arrays
  KinetoText memory_change, memory_total, memory_reserved, device_type,
      device_id;               ///< "Bytes", "Total Allocated", ... of "[memory]"
  KinetoText copy_kind, name;  ///< "DtoD"; the name of a process or thread
  KinetoText sync_kind, wait_stream, wait_record;
  KinetoText coll_name, coll_in, coll_out, coll_size, coll_dtype, group_name, group_description, group_ranks, in_split,
      out_split, sequence, from_rank, to_rank, rank_start, rank_stride;
};

struct KinetoEvent {
  KinetoText phase, category, name, process, thread, start, duration;
  KinetoArgs args;
};

}  // namespace distsim::traces
