#include "traces/nvprof/nvprof_csv.hpp"

#include "traces/build/device_csv.hpp"

namespace distsim::traces {
namespace {

constexpr const char* kNeverStarted =
    "with --profile-from-start off, the program must call cudaProfilerStart before the iterations to record";

bool is_nvprof_header(std::string_view line) { return line.starts_with("\"Start\","); }

constexpr DeviceCsvFormat kFormat{.is_header = is_nvprof_header,
                                  .name = kNvprofCsv.name,
                                  .expected = "output of `nvprof --print-gpu-trace --csv`",
                                  .hint_when_empty = kNeverStarted,
                                  .units_below = true,
                                  .starts_at_zero = true,
                                  .by_start = true,
                                  .correlation_behind_name = true};

/// "==4242== NVPROF is profiling process 4242, command: ..."
bool has_banner(std::string_view text) {
  const std::size_t banner = text.find("== NVPROF is profiling process ");
  return text.starts_with("==") && banner < 32;
}

Result<std::string> head_of(const TraceFile& file) {
  TRY_ASSIGN(const std::unique_ptr<ByteSource> source, file.open());
  std::string head(std::size_t{1} << 18, '\0');
  TRY_ASSIGN(const std::size_t n, read_fully(*source, head.data(), head.size()));
  head.resize(n);
  return head;
}

}  // namespace

bool sniff_nvprof_csv(const TraceHead& head) {
  return head.json == TraceHead::Json::none &&
         (has_banner(head.text) || has_device_csv_header(head.text, is_nvprof_header));
}

Result<std::vector<ReadRank>> read_nvprof_csv(const TraceFile& file, const TraceOptions& options, TraceJob& job) {
  TRY_ASSIGN(const std::string head, head_of(file));
  const bool traced = has_device_csv_header(head, is_nvprof_header);
  if (!traced && head.find("No kernels were profiled") != std::string::npos)
    return Error{"found a run in which no kernel was profiled, expected GPU activity", file.path, kNeverStarted};
  return read_device_csv(file, options, job, kFormat);
}

}  // namespace distsim::traces
