#include "traces/nsight/nsys_reader.hpp"

#include "traces/nsight/nsys_report.hpp"

namespace distsim::traces {
bool sniff_nsys(const TraceHead& head) {
  return head.bytes.starts_with("SQLite format 3") && !(head.contains("_id_") && head.contains("StringTable"));
}

Result<std::vector<ReadRank>> read_nsys(const TraceFile& file, const TraceOptions& options, TraceJob& job) {
  TRY_ASSIGN(const SqliteDb db, open_sqlite(file, options));
  NsysReport report(db, file, job);
  TRY(report.read_header());
  TRY(read_nsys_device_work(report));
  TRY(report.check_ranks());
  TRY(read_nsys_host_work(report));
  return report.finish();
}

}  // namespace distsim::traces
