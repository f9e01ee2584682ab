#include "traces/nsight/nsys_reader.hpp"

#include <algorithm>

#include "traces/nsight/nsys_report.hpp"

namespace distsim::traces {
namespace {

constexpr std::uint64_t kInMemory = std::uint64_t{4} << 30;  // bytes, of a compressed export

Result<SqliteDb> open_db(const TraceFile& file, const TraceOptions& options) {
  if (!file.plain_path.empty()) return SqliteDb::open(file.plain_path);
  TRY_ASSIGN(const std::unique_ptr<ByteSource> source, file.open());
  TRY_ASSIGN(const std::string bytes, read_all(*source, file.path, std::min(options.max_bytes, kInMemory)));
  return SqliteDb::from_bytes(bytes, file.path);
}

}  // namespace

bool sniff_nsys(const TraceHead& head) { return head.bytes.starts_with("SQLite format 3"); }

Result<std::vector<ReadRank>> read_nsys(const TraceFile& file, const TraceOptions& options, TraceJob& job) {
  TRY_ASSIGN(const SqliteDb db, open_db(file, options));
  NsysReport report(db, file, job);
  TRY(report.read_header());
  TRY(read_nsys_device_work(report));
  TRY(report.check_ranks());
  TRY(read_nsys_host_work(report));
  return report.finish();
}

}  // namespace distsim::traces
