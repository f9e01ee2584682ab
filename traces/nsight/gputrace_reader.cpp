#include "traces/nsight/gputrace_reader.hpp"

#include "traces/build/device_csv.hpp"

namespace distsim::traces {
namespace {

/// Headers of nvprof are quoted.
bool is_nsys_header(std::string_view line) { return !line.starts_with("\"Start\","); }

constexpr DeviceCsvFormat kFormat{.is_header = is_nsys_header,
                                  .name = kGputraceCsv.name,
                                  .expected = "CSV of `nsys stats -r cuda_gpu_trace`",
                                  .hint_when_empty = ""};

}  // namespace

bool sniff_gputrace(const TraceHead& head) {
  return head.json == TraceHead::Json::none && has_device_csv_header(head.text, is_nsys_header);
}

Result<std::vector<ReadRank>> read_gputrace(const TraceFile& file, const TraceOptions& options, TraceJob& job) {
  return read_device_csv(file, options, job, kFormat);
}

}  // namespace distsim::traces
