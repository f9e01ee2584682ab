// One event of a Kineto (Chrome) trace, taken out of its JSON. Texts point into the JSON and are as written there
// (escapes kept).
#pragma once

#include <cstdint>
#include <string_view>

#include "traces/build/collective_text.hpp"

namespace distsim::traces {

/// A number or text in an argument, without its quotes. Empty: absent or null.
using KinetoText = std::string_view;

struct KinetoArgs {
  KinetoText external, correlation, device, stream, context, bytes, record_function, grid, block, registers,
      shared_memory;
  KinetoText dims, types, values;  ///< Input Dims, Input type, Concrete Inputs: JSON arrays as written
  KinetoText memory_change, memory_total, device_type, device_id;  ///< "Bytes", "Total Allocated", ... of "[memory]"
  KinetoText copy_kind, name;                                      ///< "DtoD"; the name of a process or thread
  KinetoText sync_kind, wait_stream, wait_record;
  KinetoText coll_name, coll_in, coll_out, coll_size, coll_dtype, group_name, group_description, group_ranks, in_split,
      out_split, sequence, from_rank, to_rank, rank_start, rank_stride;
};

struct KinetoEvent {
  KinetoText phase, category, name, process, thread, start, duration;
  KinetoArgs args;
};

/// Microseconds as written ("1606910596297023", "3743411230047.485", "1.7e15") in nanoseconds, exact to the nanosecond;
/// false when it is no number or does not fit.
bool nanoseconds_of(std::string_view text, std::int64_t& ns);

/// A whole number, also in quotes, with a fraction ("8.0") or above INT64_MAX (wraps as uint64); false when it is none.
bool integer_of(std::string_view text, std::int64_t& value);

/// JSON escapes resolved, control characters and broken UTF-8 kept (printing is somebody else's business).
std::string unescaped(std::string_view text);

}  // namespace distsim::traces
