// Tables of the host: runtime calls, NVTX ranges, synchronisations.
#include "traces/build/nvtx_text.hpp"
#include "traces/build/op_inputs.hpp"
#include "traces/nsight/nsys_report.hpp"

namespace distsim::traces {
namespace {

/// Ranges of a process that drives several GPUs belong to all of them, up to this many.
constexpr std::size_t kMostGpusOfProcess = 64;

std::uint64_t process_of(std::uint64_t global_thread) { return global_thread & ~std::uint64_t{0xFFFFFF}; }

void set_thread(HostInput& input, std::uint64_t global_thread) {
  input.process = (global_thread >> 24) & 0xFFFFFF;
  input.thread = global_thread & 0xFFFFFF;
}

Result<void> read_calls(NsysReport& report) {
  enum { kStart, kEnd, kThread, kCorrelation, kName };
  return report.db().each_row("CUPTI_ACTIVITY_KIND_RUNTIME", {"start", "end", "globalTid", "correlationId", "nameId"},
                              [&](const SqliteRow& r) {
                                HostInput input;
                                if (!report.times(r, input.record.start_ns, input.record.duration_ns)) return;
                                const auto thread = static_cast<std::uint64_t>(r.integer(kThread));
                                set_thread(input, thread);
                                input.correlation = static_cast<std::uint64_t>(r.integer(kCorrelation));
                                input.record.name = report.name({r.integer(kName, -1)});
                                input.record.kind = HostKind::runtime;
                                input.record.call = runtime_call(report.job().name(input.record.name));
                                if (RankBuilder* rank = report.launched_by(process_of(thread), input.correlation))
                                  rank->host(input);
                                else
                                  ++report.other_process;
                              });
}

void give_to_gpus(NsysReport& report, std::uint64_t process, const HostInput& input) {
  const NsysReport::Ranks* own = report.ranks_of(process);
  if (own == nullptr) {
    ++report.other_process;
    return;
  }
  std::size_t given = 0;
  for (auto gpu = own->begin(); gpu != own->end() && given < kMostGpusOfProcess; ++gpu, ++given)
    gpu->second->host(input);
}

Result<void> read_nvtx(NsysReport& report) {
  enum { kStart, kEnd, kType, kText, kTextId, kThread };
  constexpr std::int64_t kPushPop = 59, kStartEnd = 60;  // NVTX_EVENTS.eventType of ranges
  OpInputTable inputs(report.job());
  return report.db().each_row(
      "NVTX_EVENTS", {"start", "end", "eventType", "text", "textId", "globalTid"}, [&](const SqliteRow& r) {
        const std::int64_t type = r.integer(kType);
        if ((type != kPushPop && type != kStartEnd) || r.is_null(kEnd)) {
          ++report.no_range;
          return;
        }
        HostInput input;
        if (!report.times(r, input.record.start_ns, input.record.duration_ns)) return;
        const auto thread = static_cast<std::uint64_t>(r.integer(kThread));
        set_thread(input, thread);
        const NvtxText range =
            nvtx_text(r.is_text(kText) ? r.text(kText) : report.job().name(report.string(r.integer(kTextId, -1))));
        if (range.kind == HostKind::python) {
          ++report.call_stacks;
          return;
        }
        describe_range(range, report.job(), inputs, input.record);
        give_to_gpus(report, process_of(thread), input);
      });
}

/// Where and by which call an event was recorded.
struct RecordedEvent {
  std::int64_t stream;
  std::uint64_t correlation;
};
using RecordedEvents = std::map<std::pair<std::uint64_t, std::int64_t>, RecordedEvent>;  ///< by (process, event)

Result<RecordedEvents> read_events(const NsysReport& report) {
  enum { kEvent, kStream, kCorrelation, kProcess };
  RecordedEvents recorded;
  TRY(report.db().each_row("CUPTI_ACTIVITY_KIND_CUDA_EVENT", {"eventSyncId", "streamId", "correlationId", "globalPid"},
                           [&recorded](const SqliteRow& r) {
                             recorded[{static_cast<std::uint64_t>(r.integer(kProcess)), r.integer(kEvent)}] = {
                                 r.integer(kStream, -1), static_cast<std::uint64_t>(r.integer(kCorrelation))};
                           }));
  return recorded;
}

/// CUpti_ActivitySynchronizationType.
SyncKind sync_kind(std::int64_t recorded) {
  switch (recorded) {
    case 1:
      return SyncKind::event;
    case 2:
      return SyncKind::stream_waits_event;
    case 3:
      return SyncKind::stream;
    default:
      return SyncKind::context;
  }
}

Result<void> read_syncs(NsysReport& report) {
  enum { kStart, kEnd, kDevice, kStream, kCorrelation, kProcess, kType, kEvent };
  TRY_ASSIGN(const RecordedEvents recorded, read_events(report));
  return report.db().each_row(
      "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
      {"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "syncType", "eventSyncId"},
      [&](const SqliteRow& r) {
        SyncInput s;
        if (!report.times(r, s.record.start_ns, s.record.duration_ns)) return;
        s.record.kind = sync_kind(r.integer(kType));
        const auto process = static_cast<std::uint64_t>(r.integer(kProcess));
        const auto gpu = report.gpu_of_sync(r.gpu(kDevice), process);
        if (!gpu) return;
        s.device = gpu->first;
        s.stream = r.integer(kStream, -1);
        s.correlation = static_cast<std::uint64_t>(r.integer(kCorrelation));
        const auto event = recorded.find({process, r.integer(kEvent)});
        if (event != recorded.end() && r.integer(kEvent) != 0)
          s.wait_on_stream = event->second.stream, s.record_correlation = event->second.correlation;
        gpu->second->sync(s);
      });
}

}  // namespace

Result<void> read_nsys_host_work(NsysReport& report) {
  TRY(read_calls(report));
  TRY(read_nvtx(report));
  return read_syncs(report);
}

}  // namespace distsim::traces
