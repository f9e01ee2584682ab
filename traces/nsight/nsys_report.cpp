#include "traces/nsight/nsys_report.hpp"

#include <algorithm>
#include <charconv>

#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "traces/build/nvtx_text.hpp"
#include "traces/nsight/nsys_reader.hpp"

namespace distsim::traces {
namespace {

constexpr std::size_t kMostRanks = 4096;
constexpr std::int64_t kLatest = INT64_MAX / 4;  // ns: a start, a duration and the epoch still add up

constexpr std::uint64_t kProcessBits = 0xFFFFFF;  // of a process id, in globalPid and globalTid

std::uint64_t process_id(std::uint64_t global) { return (global >> 24) & kProcessBits; }

std::string path_of_rank(const std::string& path, std::uint32_t gpu, std::uint64_t process) {
  return path + ":GPU " + std::to_string(gpu) + " of process " + std::to_string(process_id(process));
}

constexpr const char* kKnownSchemas = "3.20 to 3.25";

/// "3.24.14".
bool is_known_schema(std::string_view schema) {
  constexpr int kMajor = 3, kFirstMinor = 20, kLastMinor = 25;
  int major = 0, minor = 0;
  const auto first = std::from_chars(schema.data(), schema.data() + schema.size(), major);
  const char* const end = schema.data() + schema.size();
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '.') return false;
  const auto second = std::from_chars(first.ptr + 1, end, minor);
  return second.ec == std::errc() && major == kMajor && minor >= kFirstMinor && minor <= kLastMinor;
}

}  // namespace

Result<void> NsysReport::read_header() {
  if (db_.has("StringTable") && !db_.has("StringIds"))
    return Error{"found a file of nvprof, expected an export of nsys", file_.path, ""};
  if (!db_.has("META_DATA_EXPORT") && !db_.has("CUPTI_ACTIVITY_KIND_KERNEL") &&
      !db_.has("CUPTI_ACTIVITY_KIND_RUNTIME") && !db_.has("NVTX_EVENTS")) {
    return Error{"found a SQLite file without the tables of Nsight Systems, expected an export of nsys", file_.path,
                 file_.path.find("dlprof") != std::string::npos
                     ? "DLProf leaves the timeline in nsys_profile.sqlite beside its own database: read that one"
                     : "write one with `nsys export --type sqlite`"};
  }
  TRY(db_.each_row("META_DATA_EXPORT", {"name", "value"}, [this](const SqliteRow& r) {
    if (r.text(0) == "EXPORT_SCHEMA_VERSION") schema_ = printable(r.text(1), 20);
  }));
  TRY(db_.each_row("TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"},
                   [this](const SqliteRow& r) { epoch_ = std::clamp<std::int64_t>(r.integer(0), 0, kLatest); }));
  TRY(read_devices());
  TRY(read_streams());
  // What is no text is no name: a kernel of no name is not one that computes.
  TRY(db_.each_row("StringIds", {"id", "value"}, [this](const SqliteRow& r) {
    if (r.is_text(1)) strings_.add(r.integer(0), r.text(1), job_.names);
  }));
  return strings_.check("StringIds", file_.path);
}

Result<void> NsysReport::read_devices() {
  enum { kId, kName, kMemory, kMultiprocessors, kCudaDevice, kMajor, kMinor };
  return db_.each_row(
      "TARGET_INFO_GPU", {"id", "name", "totalMemory", "smCount", "cuDevice", "computeMajor", "computeMinor"},
      [this](const SqliteRow& r) {
        const auto index = r.gpu(r.is_null(kCudaDevice) ? kId : kCudaDevice);
        if (!index || devices_.size() >= kMostRanks) return;
        devices_.push_back(
            {*index, std::string(r.text(kName)),
             static_cast<std::uint64_t>(std::max<std::int64_t>(0, r.integer(kMemory))),
             static_cast<std::uint32_t>(std::clamp<std::int64_t>(r.integer(kMultiprocessors), 0, INT32_MAX)),
             compute_capability(r.integer(kMajor), r.integer(kMinor))});
      });
}

Result<void> NsysReport::read_streams() {
  return db_.each_row("TARGET_INFO_CUDA_STREAM", {"processId", "contextId", "streamId", "flag"},
                      [this](const SqliteRow& r) {
                        stream_kinds_.add(static_cast<std::uint64_t>(r.integer(0)) & kProcessBits,
                                          static_cast<std::uint64_t>(r.integer(1)),
                                          static_cast<std::uint64_t>(r.integer(2)), r.integer(3));
                      });
}

NameId NsysReport::string(std::int64_t id) {
  if (const auto name = strings_.find(id)) return *name;
  ++no_name_;
  return job_.names.intern("(name not in the report)");
}

NameId NsysReport::name(std::initializer_list<std::int64_t> ids) {
  no_name_ += strings_.name(*ids.begin(), job_.names) ? 0 : 1;
  for (const std::int64_t id : ids) {
    if (const auto named = strings_.name(id, job_.names)) return *named;
  }
  return job_.names.intern("(name not in the report)");
}

bool NsysReport::times(const SqliteRow& row, std::int64_t& start, std::int64_t& duration) {
  start = row.integer(0, -1);
  const std::int64_t end = row.integer(1, -1);
  const bool none = start == 0 && end == 0;  // CUPTI: the times could not be collected
  if (none || start < 0 || end < 0 || start > kLatest || end > kLatest) {
    ++no_time_;
    return false;
  }
  duration = std::max<std::int64_t>(0, end - start);
  if (end < start) ++negative_;
  start += epoch_;
  return true;
}

RankBuilder* NsysReport::rank_for(std::uint32_t device, std::uint64_t process) {
  if (RankBuilder* known = rank_of(device, process)) return known;
  if (builders_.size() == kMostRanks) {
    too_many_ = true;
    return nullptr;
  }
  RankBuilder* made = &builders_.emplace(RankKey{device, process}, RankBuilder(job_)).first->second;
  of_process_[process].emplace(device, made);
  return made;
}

RankBuilder* NsysReport::rank_of(std::uint32_t device, std::uint64_t process) {
  const auto at = builders_.find({device, process});
  return at != builders_.end() ? &at->second : nullptr;
}

const NsysReport::Ranks* NsysReport::ranks_of(std::uint64_t process) const {
  const auto at = of_process_.find(process);
  return at != of_process_.end() ? &at->second : nullptr;
}

void NsysReport::add_device(const DeviceInput& input, std::optional<std::uint32_t> device, std::uint64_t process,
                            std::uint64_t graphs) {
  if (!device) {
    ++no_gpu_;
    return;
  }
  RankBuilder* rank = rank_for(*device, process);
  if (rank == nullptr) return;
  DeviceInput placed = input;
  placed.device = *device;
  rank->device(placed);
  if (graphs > 0) graphs_[{*device, process}] += graphs;
  device_of_launch_[{process, input.correlation}] = placed.device;
}

Error NsysReport::no_kernel_times(std::uint64_t kernels) const {
  return {"found " + counted(kernels, "kernel") +
              " in the table CUPTI_ACTIVITY_KIND_KERNEL, none with a usable time, "
              "expected start and end in nanoseconds",
          file_.path, "is the export complete? Write it again with `nsys export --type sqlite`"};
}

Result<void> NsysReport::check_ranks() const {
  if (builders_.empty() && no_gpu_ > 0) return no_gpu_in(file_.path, no_gpu_);
  if (builders_.empty())
    return Error{
        "found no CUDA kernel or copy in the report, expected GPU activity", file_.path,
        "record with `nsys profile --trace cuda,nvtx`; with --capture-range=cudaProfilerApi the program must call "
        "cudaProfilerStart"};
  if (strings_.empty())
    return Error{"found no names in the table StringIds, expected those of the kernels", file_.path,
                 "is the export complete? Write it again with `nsys export --type sqlite`"};
  if (too_many_)
    return Error{"found more than 4096 pairs of process and GPU, expected the ranks of one job", file_.path, ""};
  return {};
}

RankBuilder* NsysReport::launched_by(std::uint64_t process, std::uint64_t correlation) {
  const auto launch = device_of_launch_.find({process, correlation});
  if (correlation != 0 && launch != device_of_launch_.end()) return rank_of(launch->second, process);
  const Ranks* own = ranks_of(process);
  return own != nullptr ? own->begin()->second : nullptr;
}

std::optional<NsysReport::Ranks::value_type> NsysReport::gpu_of_sync(std::optional<std::uint32_t> recorded,
                                                                     std::uint64_t process) {
  const Ranks* own = ranks_of(process);
  if (own == nullptr) {
    ++other_process;
    return std::nullopt;
  }
  if (own->size() == 1) return *own->begin();
  const auto gpu = recorded ? own->find(*recorded) : own->end();
  if (gpu != own->end()) return *gpu;
  ++(recorded ? syncs_elsewhere_ : syncs_without_gpu_);
  return std::nullopt;
}

void NsysReport::add_notes(TraceNotes& notes) const {
  if (!schema_.empty() && !is_known_schema(schema_))
    notes.assume("found schema " + schema_ + ", expected " + kKnownSchemas +
                 ": tables that have changed since are not read");
  notes.lose("records without a usable time", no_time_);
  if (no_name_ > 0) notes.miss("the names of " + counted(no_name_, "record"));
  note_work_without_gpu(notes, no_gpu_);
  note_work_without_stream(notes, no_stream);
  notes.drop("records of processes without GPU work", other_process);
  notes.drop("NVTX marks, domains, categories and ranges without an end", no_range);
  notes.drop("call stacks of PyProf or DLProf", call_stacks);
  notes.drop("synchronizations whose GPU is not recorded", syncs_without_gpu_);
  notes.drop("synchronizations with a GPU on which their process ran nothing", syncs_elsewhere_);
  if (negative_ > 0) notes.assume(counted(negative_, "negative duration") + " counted as 0");
  if (devices_.empty()) notes.assume("the report does not name its GPUs");
}

void NsysReport::note_shared_gpu(std::uint32_t gpu, TraceNotes& notes) const {
  const auto processes =
      std::ranges::count_if(builders_, [gpu](const auto& entry) { return entry.first.first == gpu; });
  if (processes > 1)
    notes.assume(counted(static_cast<std::uint64_t>(processes), "process", "processes") + " used GPU " +
                 std::to_string(gpu) +
                 ", each taken for a rank: a process left over from an earlier run would slow the others");
}

std::vector<ReadRank> NsysReport::finish() {
  std::vector<ReadRank> out;
  for (auto& [key, builder] : builders_) {
    const auto [gpu, process] = key;
    ReadRank r;
    r.rank.rank = static_cast<std::uint32_t>(out.size());
    r.rank.format = std::string(kNsysSqlite.name) + (schema_.empty() ? "" : " " + schema_);
    r.rank.path = builders_.size() == 1 ? file_.path : path_of_rank(file_.path, gpu, process);
    const auto device = std::ranges::find(devices_, gpu, &TraceDevice::index);
    r.rank.devices.push_back(device != devices_.end() ? *device : TraceDevice{gpu, "", 0, 0});
    if (out.empty()) add_notes(r.rank.notes);
    if (const auto graphs = graphs_.find(key); graphs != graphs_.end())
      r.rank.notes.assume(counted(graphs->second, "CUDA graph") +
                          " recorded as a whole; the kernels inside are unknown");
    builder.finish(r.rank);
    stream_kinds_.set(r.rank, process_id(process));
    note_missing_ranges(r.rank);
    note_shared_gpu(gpu, r.rank.notes);
    out.push_back(std::move(r));
  }
  return out;
}

}  // namespace distsim::traces
