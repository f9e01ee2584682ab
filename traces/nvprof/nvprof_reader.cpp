#include "traces/nvprof/nvprof_reader.hpp"

#include "traces/nvprof/nvprof_tables.hpp"

namespace distsim::traces {

bool sniff_nvprof(const TraceHead& head) {
  return head.bytes.starts_with("SQLite format 3") && head.contains("_id_") && head.contains("StringTable");
}

Result<std::vector<ReadRank>> read_nvprof(const TraceFile& file, const TraceOptions& options, TraceJob& job) {
  TRY_ASSIGN(const SqliteDb db, open_sqlite(file, options));
  NvprofTables tables(db, file, job);
  TRY(tables.read_header());
  TRY(tables.read_device_work());
  TRY(tables.read_calls());
  TRY(tables.read_markers());
  return tables.finish();
}

std::string kernel_name(std::string_view mangled) {
  if (!mangled.starts_with("_Z")) return std::string(mangled);
  std::string_view rest = mangled.substr(2);
  const bool nested = rest.starts_with("N");
  if (nested) rest.remove_prefix(1);
  std::string name;
  while (!rest.empty() && rest.front() >= '1' && rest.front() <= '9') {
    std::size_t length = 0;
    while (!rest.empty() && rest.front() >= '0' && rest.front() <= '9' && length < mangled.size()) {
      length = length * 10 + static_cast<std::size_t>(rest.front() - '0');
      rest.remove_prefix(1);
    }
    if (length > rest.size()) return std::string(mangled);
    name.append(name.empty() ? "" : "::").append(rest.substr(0, length));
    rest.remove_prefix(length);
    if (!nested) break;
  }
  if (name.empty()) return std::string(mangled);
  if (rest.starts_with("I")) return name + "<" + std::string(rest) + ">";
  return name;
}

}  // namespace distsim::traces
