// Tables of work on GPUs.
#include <algorithm>

#include "traces/build/collective_text.hpp"
#include "traces/build/op_inputs.hpp"
#include "traces/nsight/nsys_report.hpp"

namespace distsim::traces {
namespace {

/// The columns that all tables of device work begin with; more follow from kOwn on.
enum { kStart, kEnd, kDevice, kContext, kStream, kCorrelation, kProcess, kGraphNode, kOwn };

std::vector<std::string> device_columns(std::initializer_list<const char*> own) {
  std::vector<std::string> columns{"start",    "end",           "deviceId",  "contextId",
                                   "streamId", "correlationId", "globalPid", "graphNodeId"};
  columns.insert(columns.end(), own.begin(), own.end());
  return columns;
}

void add(NsysReport& report, const SqliteRow& r, const DeviceRecord& record, std::uint64_t graphs = 0) {
  DeviceInput input;
  input.context = static_cast<std::uint64_t>(r.integer(kContext));
  input.stream = static_cast<std::uint64_t>(r.integer(kStream));
  report.no_stream += r.number(kStream) ? 0 : 1;
  input.correlation = static_cast<std::uint64_t>(r.integer(kCorrelation));
  // The upper half is the graph's number. Without it nodes of two graphs may have one id.
  if (const auto node = static_cast<std::uint64_t>(r.integer(kGraphNode)); node >> 32 != 0)
    input.graph_node = GraphNode{node >> 32, node};
  input.record = record;
  report.add_device(input, r.gpu(kDevice), static_cast<std::uint64_t>(r.integer(kProcess)), graphs);
}

/// From ten columns, grid first.
KernelGeometry geometry_at(const SqliteRow& r, int first) {
  const auto u32 = [&](int i) {
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(r.integer(first + i), 0, UINT32_MAX));
  };
  KernelGeometry g;
  g.grid = {u32(0), u32(1), u32(2)};
  g.block = {u32(3), u32(4), u32(5)};
  g.registers_per_thread = u32(6);
  g.shared_memory = static_cast<std::uint64_t>(u32(7)) + u32(8);
  return g;
}

Result<void> read_kernels(NsysReport& report) {
  enum { kDemangled = kOwn, kShort, kGeometry };
  GeometryTable geometries(report.job());
  const auto columns = device_columns({"demangledName", "shortName", "gridX", "gridY", "gridZ", "blockX", "blockY",
                                       "blockZ", "registersPerThread", "staticSharedMemory", "dynamicSharedMemory"});
  std::uint64_t rows = 0, timed = 0;
  TRY(report.db().each_row("CUPTI_ACTIVITY_KIND_KERNEL", columns, [&](const SqliteRow& r) {
    DeviceRecord d;
    ++rows;
    if (!report.times(r, d.start_ns, d.duration_ns)) return;
    ++timed;
    d.name = r.is_null(kDemangled) ? report.name({r.integer(kShort, -1)})
                                   : report.name({r.integer(kDemangled, -1), r.integer(kShort, -1)});
    d.communication = is_communication_kernel(report.job().name(d.name));
    d.geometry = geometries.intern(geometry_at(r, kGeometry));
    add(report, r, d);
  }));
  return rows == 0 || timed > 0 ? Result<void>() : report.no_kernel_times(rows);
}

/// CUDA graphs, where nsys recorded those instead of their kernels.
Result<void> read_graphs(NsysReport& report) {
  return report.db().each_row("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", device_columns({"graphId"}), [&](const SqliteRow& r) {
    DeviceRecord d;
    if (!report.times(r, d.start_ns, d.duration_ns)) return;
    d.name = report.job().names.intern("CUDA graph " + std::to_string(r.integer(kOwn)));
    add(report, r, d, 1);
  });
}

struct CopyKind {
  CopyDirection direction;
  const char* name;
};

/// CUpti_ActivityMemcpyKind; kinds with arrays and of unified memory have no direction here.
CopyKind copy_kind(std::int64_t recorded) {
  switch (recorded) {
    case 1:
      return {CopyDirection::host_to_device, "[CUDA memcpy Host-to-Device]"};
    case 2:
      return {CopyDirection::device_to_host, "[CUDA memcpy Device-to-Host]"};
    case 8:
      return {CopyDirection::device_to_device, "[CUDA memcpy Device-to-Device]"};
    case 9:
      return {CopyDirection::host_to_host, "[CUDA memcpy Host-to-Host]"};
    case 10:
      return {CopyDirection::peer_to_peer, "[CUDA memcpy Peer-to-Peer]"};
    default:
      return {CopyDirection::unknown, "[CUDA memcpy]"};
  }
}

Result<void> read_copies(NsysReport& report) {
  enum { kBytes = kOwn, kCopyKind };
  return report.db().each_row("CUPTI_ACTIVITY_KIND_MEMCPY", device_columns({"bytes", "copyKind"}),
                              [&](const SqliteRow& r) {
                                DeviceRecord d;
                                if (!report.times(r, d.start_ns, d.duration_ns)) return;
                                const CopyKind kind = copy_kind(r.integer(kCopyKind));
                                d.kind = DeviceRecordKind::memcpy;
                                d.bytes = r.integer(kBytes, -1);
                                d.direction = kind.direction;
                                d.name = report.job().names.intern(kind.name);
                                add(report, r, d);
                              });
}

Result<void> read_memsets(NsysReport& report) {
  return report.db().each_row("CUPTI_ACTIVITY_KIND_MEMSET", device_columns({"bytes"}), [&](const SqliteRow& r) {
    DeviceRecord d;
    if (!report.times(r, d.start_ns, d.duration_ns)) return;
    d.kind = DeviceRecordKind::memset;
    d.bytes = r.integer(kOwn, -1);
    d.name = report.job().names.intern("[CUDA memset]");
    add(report, r, d);
  });
}

}  // namespace

Result<void> read_nsys_device_work(NsysReport& report) {
  TRY(read_kernels(report));
  TRY(read_graphs(report));
  TRY(read_copies(report));
  return read_memsets(report);
}

}  // namespace distsim::traces
