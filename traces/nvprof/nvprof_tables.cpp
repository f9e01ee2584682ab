#include "traces/nvprof/nvprof_tables.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <tuple>

#include "base/text/counted.hpp"
#include "traces/build/collective_text.hpp"
#include "traces/build/nvtx_text.hpp"
#include "traces/build/op_inputs.hpp"
#include "traces/nvprof/nvprof_reader.hpp"

namespace distsim::traces {
namespace {

constexpr std::size_t kMostDevices = 64;         // of one process
constexpr std::int64_t kLatest = INT64_MAX / 4;  // ns: a start and a duration still add up
constexpr std::uint64_t kLow32 = 0xFFFFFFFF;

/// The columns that all tables of device work begin with; more follow from kOwn on.
enum { kStart, kEnd, kDevice, kContext, kStream, kCorrelation, kOwn };

std::vector<std::string> device_columns(std::initializer_list<const char*> own) {
  std::vector<std::string> columns{"start", "end", "deviceId", "contextId", "streamId", "correlationId"};
  columns.insert(columns.end(), own.begin(), own.end());
  return columns;
}

std::uint32_t small(std::int64_t recorded) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(recorded, 0, INT32_MAX));
}

/// CUpti_ActivityMemcpyKind.
std::pair<CopyDirection, const char*> copy_of(std::int64_t kind) {
  switch (kind) {
    case 1:
      return {CopyDirection::host_to_device, "[CUDA memcpy HtoD]"};
    case 2:
      return {CopyDirection::device_to_host, "[CUDA memcpy DtoH]"};
    case 8:
      return {CopyDirection::device_to_device, "[CUDA memcpy DtoD]"};
    case 9:
      return {CopyDirection::host_to_host, "[CUDA memcpy HtoH]"};
    case 10:
      return {CopyDirection::peer_to_peer, "[CUDA memcpy PtoP]"};
    default:
      return {CopyDirection::unknown, "[CUDA memcpy]"};
  }
}

/// CUpti_ActivityObjectKindId of a thread: process and thread, 32 bits each, little endian.
std::pair<std::uint64_t, std::uint64_t> thread_of(std::string_view object) {
  std::uint32_t process = 0, thread = 0;
  if (object.size() < 8) return {0, 0};
  std::memcpy(&process, object.data(), 4);
  std::memcpy(&thread, object.data() + 4, 4);
  return {process, thread};
}

/// Functions that record the calls between them for a graph, which runs nothing (cupti_runtime_cbid.h, cupti_driver_cbid.h: ids
/// of functions stay the same in all versions); else empty.
const char* capture_call(bool driver, std::int64_t function) {
  static const std::map<std::int64_t, const char*> of_runtime{
      {315, "cudaStreamBeginCapture"}, {316, "cudaStreamBeginCapture"},        {319, "cudaStreamEndCapture"},
      {320, "cudaStreamEndCapture"},   {452, "cudaStreamBeginCaptureToGraph"}, {453, "cudaStreamBeginCaptureToGraph"}};
  static const std::map<std::int64_t, const char*> of_driver{
      {495, "cuStreamBeginCapture"},        {496, "cuStreamBeginCapture"},       {497, "cuStreamEndCapture"},
      {498, "cuStreamEndCapture"},          {539, "cuStreamBeginCapture"},       {540, "cuStreamBeginCapture"},
      {720, "cuStreamBeginCaptureToGraph"}, {721, "cuStreamBeginCaptureToGraph"}};
  const auto& names = driver ? of_driver : of_runtime;
  const auto found = names.find(function);
  return found != names.end() ? found->second : "";
}

}  // namespace

Result<void> NvprofTables::read_header() {
  if (!db_.has("StringTable"))
    return Error{"found a SQLite file without nvprof's StringTable, expected one of `nvprof -o`", file_.path, ""};
  // What is no text is no name: a kernel of no name is not one that computes.
  TRY(db_.each_row("StringTable", {"_id_", "value"}, [this](const SqliteRow& r) {
    if (r.is_text(1)) strings_.add(r.integer(0), kernel_name(r.text(1)), job_.names);
  }));
  TRY(strings_.check("StringTable", file_.path));
  TRY(db_.each_row("CUPTI_ACTIVITY_KIND_STREAM", {"contextId", "streamId", "flag"}, [this](const SqliteRow& r) {
    stream_kinds_.add(0, static_cast<std::uint64_t>(r.integer(0)), static_cast<std::uint64_t>(r.integer(1)),
                      r.integer(2));
  }));
  enum { kId, kName, kMemory, kMultiprocessors };
  return db_.each_row("CUPTI_ACTIVITY_KIND_DEVICE", {"id", "name", "globalMemorySize", "numMultiprocessors"},
                      [this](const SqliteRow& r) {
                        const auto index = r.gpu(kId);
                        if (!index || devices_.size() >= kMostDevices) return;
                        const auto name = strings_.find(r.integer(kName));
                        devices_.push_back({*index, std::string(name ? job_.name(*name) : ""),
                                            static_cast<std::uint64_t>(std::max<std::int64_t>(0, r.integer(kMemory))),
                                            small(r.integer(kMultiprocessors))});
                      });
}

NameId NvprofTables::name_of(std::optional<NameId> found) {
  if (found) return *found;
  ++no_name_;
  return job_.names.intern("(name not in the file)");
}

bool NvprofTables::times(const SqliteRow& row, std::int64_t& start, std::int64_t& duration) {
  start = row.integer(kStart, -1);
  const std::int64_t end = row.integer(kEnd, -1);
  const bool none = start == 0 && end == 0;  // CUPTI: the times could not be collected
  if (none || start < 0 || end < 0 || start > kLatest || end > kLatest) {
    ++no_time_;
    return false;
  }
  negative_ += end < start ? 1 : 0;
  duration = std::max<std::int64_t>(0, end - start);
  return true;
}

void NvprofTables::add(const SqliteRow& r, const DeviceRecord& record, RuntimeCall by) {
  const auto device = r.gpu(kDevice);
  if (!device) {
    ++no_gpu_;
    return;
  }
  DeviceInput input;
  input.device = *device;
  if (builders_.size() == kMostDevices && !builders_.contains(input.device)) {
    too_many_ = true;
    return;
  }
  input.context = static_cast<std::uint64_t>(r.integer(kContext));
  input.stream = static_cast<std::uint64_t>(r.integer(kStream));
  no_stream_ += r.number(kStream) ? 0 : 1;
  input.correlation = static_cast<std::uint64_t>(r.integer(kCorrelation));
  input.record = record;
  if (input.correlation != 0) launched_[input.correlation] = {input.device, by};
  builders_.try_emplace(input.device, job_).first->second.device(input);
}

Result<void> NvprofTables::read_kernels(const char* table) {
  enum { kName = kOwn, kGeometry };
  GeometryTable geometries(job_);
  const auto columns = device_columns({"name", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ",
                                       "registersPerThread", "staticSharedMemory", "dynamicSharedMemory"});
  return db_.each_row(table, columns, [&](const SqliteRow& r) {
    DeviceRecord d;
    if (!times(r, d.start_ns, d.duration_ns)) return;
    const auto at = [&](int i) { return small(r.integer(kGeometry + i)); };
    KernelGeometry g;
    g.grid = {at(0), at(1), at(2)};
    g.block = {at(3), at(4), at(5)};
    g.registers_per_thread = at(6);
    g.shared_memory = static_cast<std::uint64_t>(at(7)) + at(8);
    d.name = name_of(strings_.name(r.integer(kName, -1), job_.names));
    d.communication = is_communication_kernel(job_.name(d.name));
    d.geometry = geometries.intern(g);
    add(r, d, RuntimeCall::launch_kernel);
  });
}

Result<void> NvprofTables::read_copies(const char* table) {
  enum { kBytes = kOwn, kKind };
  return db_.each_row(table, device_columns({"bytes", "copyKind"}), [&](const SqliteRow& r) {
    DeviceRecord d;
    if (!times(r, d.start_ns, d.duration_ns)) return;
    const auto [direction, name] = copy_of(r.integer(kKind));
    d.kind = DeviceRecordKind::memcpy;
    d.bytes = r.integer(kBytes, -1);
    d.direction = direction;
    d.name = job_.names.intern(name);
    add(r, d, RuntimeCall::memcpy);
  });
}

Result<void> NvprofTables::read_memsets() {
  return db_.each_row("CUPTI_ACTIVITY_KIND_MEMSET", device_columns({"bytes"}), [&](const SqliteRow& r) {
    DeviceRecord d;
    if (!times(r, d.start_ns, d.duration_ns)) return;
    d.kind = DeviceRecordKind::memset;
    d.bytes = r.integer(kOwn, -1);
    d.name = job_.names.intern("[CUDA memset]");
    add(r, d, RuntimeCall::memset);
  });
}

Result<void> NvprofTables::read_device_work() {
  TRY(read_kernels("CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL"));
  TRY(read_kernels("CUPTI_ACTIVITY_KIND_KERNEL"));  // recorded with --concurrent-kernels off
  TRY(read_copies("CUPTI_ACTIVITY_KIND_MEMCPY"));
  TRY(read_copies("CUPTI_ACTIVITY_KIND_MEMCPY2"));  // between two GPUs
  TRY(read_memsets());
  if (too_many_) return Error{"found more than 64 GPUs, expected those of one process", file_.path, ""};
  if (builders_.empty() && no_gpu_ > 0) return no_gpu_in(file_.path, no_gpu_);
  if (strings_.empty() && no_name_ > 0)
    return Error{"found no names in the table StringTable, expected those of the kernels", file_.path, ""};
  if (builders_.empty())
    return Error{"found no CUDA kernel or copy, expected GPU activity", file_.path,
                 "with --profile-from-start off, the program must call cudaProfilerStart"};
  return {};
}

/// A function of CUDA whose calls launched work of one kind launches that kind, in calls of which the work is missing as well.
/// Of few calls that did, the file does not tell; nor of which GPU a call is, if there are several. A call that failed launches
/// nothing.
Result<NvprofTables::KindOfFunction> NvprofTables::read_functions(const char* table) {
  constexpr double kLeastLaunches = 0.1;  // of the calls of a function; chosen
  struct Calls {
    std::uint64_t all = 0;
    std::map<RuntimeCall, std::uint64_t> of_kind;
  };
  std::map<std::int64_t, Calls> functions;
  if (builders_.size() > 1) return KindOfFunction{};
  TRY(db_.each_row(table, {"cbid", "correlationId", "returnValue"}, [&](const SqliteRow& r) {
    if (r.integer(2) != 0) return;
    Calls& calls = functions[r.integer(0)];
    ++calls.all;
    const auto launched = launched_.find(static_cast<std::uint64_t>(r.integer(1)));
    if (launched != launched_.end()) ++calls.of_kind[launched->second.by];
  }));
  KindOfFunction out;
  for (const auto& [function, calls] : functions) {
    if (calls.of_kind.size() != 1) continue;
    const auto& [kind, launches] = *calls.of_kind.begin();
    if (static_cast<double>(launches) >= kLeastLaunches * static_cast<double>(calls.all)) out.emplace(function, kind);
  }
  return out;
}

Result<void> NvprofTables::read_calls_of(const char* table, bool driver) {
  const std::string what = driver ? "CUDA driver" : "CUDA runtime";
  TRY_ASSIGN(const KindOfFunction functions, read_functions(table));
  enum { kCallStart, kCallEnd, kFunction, kProcess, kThread, kCallCorrelation, kReturned };
  return db_.each_row(
      table, {"start", "end", "cbid", "processId", "threadId", "correlationId", "returnValue"},
      [&](const SqliteRow& r) {
        HostInput input;
        if (!times(r, input.record.start_ns, input.record.duration_ns)) return;
        input.process = static_cast<std::uint64_t>(r.integer(kProcess)) & kLow32;
        input.thread = static_cast<std::uint64_t>(r.integer(kThread)) & kLow32;
        input.correlation = static_cast<std::uint64_t>(r.integer(kCallCorrelation));
        input.record.kind = HostKind::runtime;
        const std::string capture = capture_call(driver, r.integer(kFunction));
        input.record.name = job_.names.intern(what + (" call " + std::to_string(r.integer(kFunction))) +
                                              (capture.empty() ? "" : " (" + capture + ")"));
        const auto launched = launched_.find(input.correlation);
        const bool known = launched != launched_.end();
        const auto function = functions.find(r.integer(kFunction));
        const bool launches = function != functions.end() && r.integer(kReturned) == 0;
        input.record.call = known ? launched->second.by : launches ? function->second : RuntimeCall::other;
        (known ? builders_.at(launched->second.device) : builders_.begin()->second).host(input);
      });
}

Result<void> NvprofTables::read_calls() {
  TRY(read_calls_of("CUPTI_ACTIVITY_KIND_RUNTIME", false));
  return read_calls_of("CUPTI_ACTIVITY_KIND_DRIVER", true);
}

/// A range is two markers of one id, which no other range has: the first has its name, the second has none.
Result<void> NvprofTables::read_markers() {
  enum { kTime, kId, kName, kObject, kFlags };
  constexpr std::int64_t kInstant = 1;  // CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS
  struct Open {
    std::int64_t start = 0, name = 0;
    std::pair<std::uint64_t, std::uint64_t> thread;
  };
  struct Mark {
    Open open;
    std::optional<std::int64_t> end;
    bool named = false, repeats = false;
    std::uint64_t markers = 0;
  };
  std::map<std::int64_t, Mark> marks;
  const std::vector<std::string> columns{"timestamp", "id", "name", "objectId", "flags"};
  TRY(db_.each_row("CUPTI_ACTIVITY_KIND_MARKER", columns, [&](const SqliteRow& r) {
    const std::int64_t time = r.integer(kTime, -1);
    if (time < 0 || time > kLatest) {
      ++no_time_;
      return;
    }
    if ((r.integer(kFlags) & kInstant) != 0) {
      ++no_range_;
      return;
    }
    const auto id = r.number(kId);
    if (!id) {
      ++repeated_marks_;
      return;
    }
    Mark& m = marks[*id];
    ++m.markers;
    const bool ends = r.integer(kName) == 0;
    m.repeats = m.repeats || (ends ? m.end.has_value() : m.named);
    if (ends)
      m.end = time;
    else
      m.open = {time, r.integer(kName), thread_of(r.blob(kObject))}, m.named = true;
  }));
  OpInputTable inputs(job_);
  for (const auto& [id, m] : marks) {
    if (m.repeats) {  // which of them belong together is not known
      repeated_marks_ += m.markers;
      continue;
    }
    if (!m.named || !m.end || *m.end < m.open.start) {
      ++no_range_;
      continue;
    }
    HostInput input;
    std::tie(input.process, input.thread) = m.open.thread;
    input.record.start_ns = m.open.start;
    input.record.duration_ns = *m.end - m.open.start;
    const NvtxText range = nvtx_text(job_.name(name_of(strings_.find(m.open.name))));
    if (range.kind == HostKind::python) {
      ++call_stacks_;
      continue;
    }
    describe_range(range, job_, inputs, input.record);
    for (auto& [device, builder] : builders_) builder.host(input);
  }
  return {};
}

std::vector<ReadRank> NvprofTables::finish() {
  std::vector<ReadRank> out;
  for (auto& [device, builder] : builders_) {
    ReadRank r;
    r.rank.rank = static_cast<std::uint32_t>(out.size());
    r.rank.format = kNvprofSqlite.name;
    r.rank.path = builders_.size() == 1 ? file_.path : file_.path + ":GPU " + std::to_string(device);
    const auto known = std::ranges::find(devices_, device, &TraceDevice::index);
    r.rank.devices.push_back(known != devices_.end() ? *known : TraceDevice{device, "", 0, 0});
    if (out.empty()) {
      r.rank.notes.lose("records without a usable time", no_time_);
      r.rank.notes.drop("NVTX marks and ranges without an end", no_range_);
      r.rank.notes.drop("ends of NVTX ranges whose id is missing or repeats", repeated_marks_);
      r.rank.notes.drop("call stacks of PyProf or DLProf", call_stacks_);
      if (no_name_ > 0) r.rank.notes.miss("the names of " + counted(no_name_, "record"));
      note_work_without_gpu(r.rank.notes, no_gpu_);
      note_work_without_stream(r.rank.notes, no_stream_);
      if (negative_ > 0) r.rank.notes.assume(counted(negative_, "negative duration") + " counted as 0");
      r.rank.notes.assume(
          "nvprof does not name CUDA calls; a call is known by what it launched, or what others of its function did");
    }
    builder.finish(r.rank);
    stream_kinds_.set(r.rank, 0);
    note_missing_ranges(r.rank);
    out.push_back(std::move(r));
  }
  return out;
}

}  // namespace distsim::traces
