// CSV lists of kernels and copies without the host, a row each, as nsys and nvprof print them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "traces/trace_format.hpp"

namespace distsim::traces {

struct DeviceCsvFormat {
  bool (*is_header)(std::string_view line);  ///< of a line that names the columns
  std::string_view name, expected;           ///< of the format; "CSV of `nsys ...`" for messages
  std::string_view hint_when_empty;          ///< of the error for a header without a row
  bool units_below = false;                  ///< the units of the columns are a line of their own below the header
  bool starts_at_zero = false;               ///< times are after the beginning of the recording
  bool by_start = false;                     ///< rows ascend in their starts, and an id is of one launch
  bool correlation_behind_name = false;      ///< "kernel(int) [106]"
};

/// A rank for each device. Columns are found by name, whatever their order and units ("Start (ns)", "Duration (us)",
/// "Bytes (MB)"); lines before the header are skipped. Errors: no header; not one row that can be used.
Result<std::vector<ReadRank>> read_device_csv(const TraceFile& file, const TraceOptions& options, TraceJob& job,
                                              const DeviceCsvFormat& format);

/// Whether one of the first lines names the columns, and `is_header` takes the first that does.
bool has_device_csv_header(std::string_view text, bool (*is_header)(std::string_view line));

/// The fields of a line; quotes around a field are taken off, doubled ones undone.
std::vector<std::string> split_csv_line(std::string_view line);

}  // namespace distsim::traces
