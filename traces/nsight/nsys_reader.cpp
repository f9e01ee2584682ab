#include "traces/nsight/nsys_reader.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/text/printable.hpp"
#include "traces/build/collective_text.hpp"
#include "traces/build/op_inputs.hpp"
#include "traces/build/rank_builder.hpp"
#include "traces/files/sqlite_db.hpp"
#include "traces/nsight/nvtx_text.hpp"

namespace distsim::traces {
namespace {

constexpr std::uint64_t kInMemory = std::uint64_t{4} << 30;  // of a compressed export
constexpr std::size_t kMostRanks = 4096;
constexpr std::size_t kMostGpusOfProcess = 64;

const std::string kKernels = "CUPTI_ACTIVITY_KIND_KERNEL", kCopies = "CUPTI_ACTIVITY_KIND_MEMCPY",
                  kSets = "CUPTI_ACTIVITY_KIND_MEMSET", kCalls = "CUPTI_ACTIVITY_KIND_RUNTIME",
                  kGraphs = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", kSyncs = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                  kEvents = "CUPTI_ACTIVITY_KIND_CUDA_EVENT", kNvtx = "NVTX_EVENTS";

std::uint64_t process_of(std::uint64_t global_thread) { return global_thread & ~std::uint64_t{0xFFFFFF}; }

/// (GPU, process) orders the ranks.
using RankKey = std::pair<std::uint32_t, std::uint64_t>;

class Reader {
 public:
  Reader(const SqliteDb& db, const TraceFile& file, TraceJob& job)
      : db_(db), file_(file), job_(job), inputs_(job), geometries_(job) {}

  Result<std::vector<ReadRank>> read() {
    TRY(check());
    TRY(read_strings());
    TRY(read_kernels());
    TRY(read_graphs());
    TRY(read_copies(kCopies, DeviceRecordKind::memcpy));
    TRY(read_copies(kSets, DeviceRecordKind::memset));
    if (builders_.empty())
      return Error{"found no CUDA kernel or copy in the report, expected GPU activity", file_.path,
                   "record with `nsys profile --trace cuda,nvtx`"};
    if (too_many_)
      return Error{"found more than 4096 pairs of process and GPU, expected the ranks of one job", file_.path, ""};
    TRY(read_calls());
    TRY(read_nvtx());
    TRY(read_syncs());
    return ranks();
  }

 private:
  Result<void> check() {
    if (!db_.has("META_DATA_EXPORT") && !db_.has(kKernels) && !db_.has(kCalls) && !db_.has(kNvtx)) {
      return Error{"found a SQLite file without the tables of Nsight Systems, expected an export of nsys", file_.path,
                   "write one with `nsys export --type sqlite`"};
    }
    TRY(db_.each_row("META_DATA_EXPORT", {"name", "value"}, [this](const SqliteRow& r) {
      if (r.text(0) == "EXPORT_SCHEMA_VERSION") schema_ = printable(r.text(1), 20);
    }));
    TRY(db_.each_row("TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"}, [this](const SqliteRow& r) {
      epoch_ = std::clamp<std::int64_t>(r.integer(0), 0, INT64_MAX / 4);
    }));
    return db_.each_row(
        "TARGET_INFO_GPU", {"id", "name", "totalMemory", "smCount", "cuDevice"}, [this](const SqliteRow& r) {
          TraceDevice d{
              static_cast<std::uint32_t>(std::clamp<std::int64_t>(r.integer(r.is_null(4) ? 0 : 4), 0, INT32_MAX)),
              std::string(r.text(1)), static_cast<std::uint64_t>(std::max<std::int64_t>(0, r.integer(2))),
              static_cast<std::uint32_t>(std::clamp<std::int64_t>(r.integer(3), 0, INT32_MAX))};
          if (devices_.size() < kMostRanks) devices_.push_back(std::move(d));
        });
  }

  Result<void> read_strings() {
    return db_.each_row("StringIds", {"id", "value"},
                        [this](const SqliteRow& r) { strings_[r.integer(0)] = job_.names.intern(r.text(1)); });
  }

  NameId string(std::int64_t id) {
    const auto at = strings_.find(id);
    return at != strings_.end() ? at->second : job_.names.intern("(name not in the report)");
  }

  /// False for intervals that cannot be.
  bool times(const SqliteRow& r, std::int64_t& start, std::int64_t& duration) {
    start = r.integer(0, -1);
    const std::int64_t end = r.integer(1, -1);
    if (start < 0 || end < 0 || start > INT64_MAX / 4 || end > INT64_MAX / 4) {
      ++no_time_;
      return false;
    }
    duration = std::max<std::int64_t>(0, end - start);
    if (end < start) ++negative_;
    start += epoch_;
    return true;
  }

  RankBuilder* builder(std::int64_t device, std::uint64_t process) {
    const RankKey key{static_cast<std::uint32_t>(std::clamp<std::int64_t>(device, 0, INT32_MAX)), process};
    const auto known = builders_.find(key);
    if (known != builders_.end()) return &known->second;
    if (builders_.size() == kMostRanks) {
      too_many_ = true;
      return nullptr;
    }
    RankBuilder* made = &builders_.emplace(key, RankBuilder(job_)).first->second;
    of_process_[process].emplace(key.first, made);
    return made;
  }

  void add_device(std::int64_t device, std::int64_t context, std::int64_t stream, std::int64_t correlation,
                  std::uint64_t process, const DeviceRecord& record) {
    RankBuilder* to = builder(device, process);
    if (to == nullptr) return;
    DeviceInput input;
    input.device = static_cast<std::uint32_t>(std::clamp<std::int64_t>(device, 0, INT32_MAX));
    input.context = static_cast<std::uint64_t>(context);
    input.stream = static_cast<std::uint64_t>(stream);
    input.correlation = static_cast<std::uint64_t>(correlation);
    input.record = record;
    to->device(input);
    launched_by_[{process, input.correlation}] = input.device;
  }

  Result<void> read_kernels() {
    const std::vector<std::string> columns{"start",
                                           "end",
                                           "deviceId",
                                           "contextId",
                                           "streamId",
                                           "correlationId",
                                           "globalPid",
                                           "demangledName",
                                           "shortName",
                                           "gridX",
                                           "gridY",
                                           "gridZ",
                                           "blockX",
                                           "blockY",
                                           "blockZ",
                                           "registersPerThread",
                                           "staticSharedMemory",
                                           "dynamicSharedMemory"};
    return db_.each_row(kKernels, columns, [this](const SqliteRow& r) {
      DeviceRecord d;
      if (!times(r, d.start_ns, d.duration_ns)) return;
      d.name = string(r.integer(r.is_null(7) ? 8 : 7, -1));
      d.communication = is_communication_kernel(job_.name(d.name));
      KernelGeometry g;
      const auto u32 = [&r](int c) {
        return static_cast<std::uint32_t>(std::clamp<std::int64_t>(r.integer(c), 0, UINT32_MAX));
      };
      g.grid = {u32(9), u32(10), u32(11)};
      g.block = {u32(12), u32(13), u32(14)};
      g.registers_per_thread = u32(15);
      g.shared_memory = static_cast<std::uint64_t>(u32(16)) + u32(17);
      d.geometry = geometries_.intern(g);
      add_device(r.integer(2), r.integer(3), r.integer(4), r.integer(5), static_cast<std::uint64_t>(r.integer(6)), d);
    });
  }

  /// Whole graphs, where nsys recorded those in place of their kernels.
  Result<void> read_graphs() {
    return db_.each_row(kGraphs,
                        {"start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "graphId"},
                        [this](const SqliteRow& r) {
                          DeviceRecord d;
                          if (!times(r, d.start_ns, d.duration_ns)) return;
                          d.name = job_.names.intern("CUDA graph " + std::to_string(r.integer(7)));
                          add_device(r.integer(2), r.integer(3), r.integer(4), r.integer(5),
                                     static_cast<std::uint64_t>(r.integer(6)), d);
                          ++graphs_;
                        });
  }

  Result<void> read_copies(const std::string& table, DeviceRecordKind kind) {
    return db_.each_row(
        table, {"start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "bytes", "copyKind"},
        [this, kind](const SqliteRow& r) {
          DeviceRecord d;
          if (!times(r, d.start_ns, d.duration_ns)) return;
          d.kind = kind;
          d.bytes = r.integer(7, -1);
          if (kind == DeviceRecordKind::memcpy) {
            switch (r.integer(8)) {
              case 1:
                d.direction = CopyDirection::host_to_device;
                break;
              case 2:
                d.direction = CopyDirection::device_to_host;
                break;
              case 8:
                d.direction = CopyDirection::device_to_device;
                break;
              case 9:
                d.direction = CopyDirection::host_to_host;
                break;
              case 10:
                d.direction = CopyDirection::peer_to_peer;
                break;
              default:
                break;
            }
          }
          static constexpr const char* kNames[] = {"[CUDA memcpy]",
                                                   "[CUDA memcpy Host-to-Device]",
                                                   "[CUDA memcpy Device-to-Host]",
                                                   "[CUDA memcpy Device-to-Device]",
                                                   "[CUDA memcpy Peer-to-Peer]",
                                                   "[CUDA memcpy Host-to-Host]"};
          d.name = job_.names.intern(kind == DeviceRecordKind::memset ? "[CUDA memset]"
                                                                      : kNames[static_cast<std::size_t>(d.direction)]);
          add_device(r.integer(2), r.integer(3), r.integer(4), r.integer(5), static_cast<std::uint64_t>(r.integer(6)),
                     d);
        });
  }

  /// The rank that a call launched work for; else the first GPU of its process.
  RankBuilder* host_builder(std::uint64_t process, std::uint64_t correlation) {
    const auto launched = launched_by_.find({process, correlation});
    if (correlation != 0 && launched != launched_by_.end()) return builder(launched->second, process);
    const auto own = of_process_.find(process);
    return own != of_process_.end() ? own->second.begin()->second : nullptr;
  }

  static void set_thread(HostInput& input, std::uint64_t global_thread) {
    input.process = (global_thread >> 24) & 0xFFFFFF;
    input.thread = global_thread & 0xFFFFFF;
  }

  Result<void> read_calls() {
    return db_.each_row(kCalls, {"start", "end", "globalTid", "correlationId", "nameId"}, [this](const SqliteRow& r) {
      HostInput input;
      if (!times(r, input.record.start_ns, input.record.duration_ns)) return;
      const auto thread = static_cast<std::uint64_t>(r.integer(2));
      set_thread(input, thread);
      input.correlation = static_cast<std::uint64_t>(r.integer(3));
      input.record.name = string(r.integer(4, -1));
      input.record.kind = HostKind::runtime;
      input.record.call = runtime_call(job_.name(input.record.name));
      if (RankBuilder* to = host_builder(process_of(thread), input.correlation))
        to->host(input);
      else
        ++other_process_;
    });
  }

  Result<void> read_nvtx() {
    return db_.each_row(
        kNvtx, {"start", "end", "eventType", "text", "textId", "globalTid", "endGlobalTid"},
        [this](const SqliteRow& r) {
          const std::int64_t type = r.integer(2);
          if ((type != 59 && type != 60) || r.is_null(1)) {
            ++no_range_;
            return;
          }
          HostInput input;
          if (!times(r, input.record.start_ns, input.record.duration_ns)) return;
          const auto thread = static_cast<std::uint64_t>(r.integer(5));
          set_thread(input, thread);
          const std::string_view text = r.is_null(3) ? job_.name(string(r.integer(4, -1))) : r.text(3);
          const NvtxText range = nvtx_text(text);
          input.record.kind = range.is_op ? HostKind::op : HostKind::annotation;
          input.record.name = job_.names.intern(range.name);
          if (!range.sizes.empty()) input.record.inputs = inputs_.intern(range.sizes, "", "");
          const auto own = of_process_.find(process_of(thread));
          if (own == of_process_.end()) {
            ++other_process_;
            return;
          }
          std::size_t given = 0;  // ranges of a process that drives several GPUs belong to all of them, within reason
          for (auto gpu = own->second.begin(); gpu != own->second.end() && given < kMostGpusOfProcess; ++gpu, ++given)
            gpu->second->host(input);
        });
  }

  Result<void> read_syncs() {
    struct Recorded {
      std::int64_t stream;
      std::uint64_t correlation;
    };
    std::map<std::pair<std::uint64_t, std::int64_t>, Recorded> recorded;
    TRY(db_.each_row(kEvents, {"eventSyncId", "streamId", "correlationId", "globalPid"},
                     [&recorded](const SqliteRow& r) {
                       recorded[{static_cast<std::uint64_t>(r.integer(3)), r.integer(0)}] = {
                           r.integer(1, -1), static_cast<std::uint64_t>(r.integer(2))};
                     }));
    return db_.each_row(
        kSyncs, {"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "syncType", "eventSyncId"},
        [&](const SqliteRow& r) {
          SyncInput s;
          if (!times(r, s.record.start_ns, s.record.duration_ns)) return;
          const std::int64_t type = r.integer(6);
          s.record.kind = type == 1   ? SyncKind::event
                          : type == 2 ? SyncKind::stream_waits_event
                          : type == 3 ? SyncKind::stream
                                      : SyncKind::context;
          s.device = static_cast<std::uint32_t>(std::clamp<std::int64_t>(r.integer(2), 0, INT32_MAX));
          s.stream = r.integer(3, -1);
          s.correlation = static_cast<std::uint64_t>(r.integer(4));
          const auto process = static_cast<std::uint64_t>(r.integer(5));
          const auto event = recorded.find({process, r.integer(7)});
          if (event != recorded.end() && r.integer(7) != 0)
            s.wait_on_stream = event->second.stream, s.record_correlation = event->second.correlation;
          const auto to = builders_.find({s.device, process});
          if (to != builders_.end()) to->second.sync(s);
        });
  }

  Result<std::vector<ReadRank>> ranks() {
    std::vector<ReadRank> out;
    for (auto& [key, b] : builders_) {
      ReadRank r;
      r.rank.rank = static_cast<std::uint32_t>(out.size());
      r.rank.format = "Nsight Systems SQLite" + (schema_.empty() ? "" : " " + schema_);
      r.rank.path = builders_.size() == 1 ? file_.path
                                          : file_.path + ":GPU " + std::to_string(key.first) + " of process " +
                                                std::to_string((key.second >> 24) & 0xFFFFFF);
      const auto device = std::ranges::find(devices_, key.first, &TraceDevice::index);
      r.rank.devices.push_back(device != devices_.end() ? *device : TraceDevice{key.first, "", 0, 0});
      if (out.empty()) {
        r.rank.notes.drop("records without a usable time", no_time_);
        r.rank.notes.drop("records of processes without GPU work", other_process_);
        r.rank.notes.drop("NVTX marks, domains, categories and ranges without an end", no_range_);
        if (negative_ > 0) r.rank.notes.assume(std::to_string(negative_) + " negative durations counted as 0");
        if (graphs_ > 0)
          r.rank.notes.assume(std::to_string(graphs_) +
                              " CUDA graphs were recorded as a whole: their kernels are unknown");
        if (devices_.empty()) r.rank.notes.assume("the report does not name its GPUs");
      }
      b.finish(r.rank);
      out.push_back(std::move(r));
    }
    return out;
  }

  const SqliteDb& db_;
  const TraceFile& file_;
  TraceJob& job_;
  OpInputTable inputs_;
  GeometryTable geometries_;
  std::string schema_;
  std::int64_t epoch_ = 0;
  std::vector<TraceDevice> devices_;
  std::unordered_map<std::int64_t, NameId> strings_;
  std::map<RankKey, RankBuilder> builders_;
  std::map<std::uint64_t, std::map<std::uint32_t, RankBuilder*>> of_process_;     // by GPU
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> launched_by_;  // (process, correlation) -> GPU
  std::uint64_t no_time_ = 0, negative_ = 0, other_process_ = 0, no_range_ = 0, graphs_ = 0;
  bool too_many_ = false;
};

}  // namespace

Result<std::vector<ReadRank>> read_nsys(const TraceFile& file, const TraceOptions& options, TraceJob& job) {
  if (!file.plain_path.empty()) {
    TRY_ASSIGN(const SqliteDb db, SqliteDb::open(file.plain_path));
    return Reader(db, file, job).read();
  }
  TRY_ASSIGN(const std::unique_ptr<ByteSource> source, file.open());
  TRY_ASSIGN(const std::string bytes, read_all(*source, file.path, std::min(options.max_bytes, kInMemory)));
  TRY_ASSIGN(const SqliteDb db, SqliteDb::from_bytes(bytes, file.path));
  return Reader(db, file, job).read();
}

}  // namespace distsim::traces
