#include "traces/kineto/kineto_reader.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_map>

#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "base/threads/stop.hpp"
#include "traces/build/op_inputs.hpp"
#include "traces/build/rank_builder.hpp"
#include "traces/files/json_stream.hpp"
#include "traces/kineto/kineto_metadata.hpp"
#include "traces/kineto/kineto_pairs.hpp"
#include "traces/kineto/kineto_parse.hpp"
#include "traces/kineto/kineto_roles.hpp"

namespace distsim::traces {
namespace {

using Role = KinetoRole;

std::uint64_t unsigned_of(std::string_view text) {
  std::int64_t v = 0;
  return integer_of(text, v) ? static_cast<std::uint64_t>(v) : 0;
}

std::int64_t signed_of(std::string_view text, std::int64_t absent) {
  std::int64_t v = 0;
  return integer_of(text, v) ? v : absent;
}

/// Threads are numbers, also in quotes and below 0 (of a pthread_t the lower half); "stream 7" is 7; other names get a number
/// of their own, which is that of none below 0: these have both of the upper bits.
std::uint64_t lane_of(std::string_view text) {
  constexpr std::uint64_t kUpper = std::uint64_t{1} << 63, kNext = std::uint64_t{1} << 62;
  std::int64_t v = 0;
  if (integer_of(text, v)) return static_cast<std::uint64_t>(v);
  if (text.starts_with("stream ") && integer_of(text.substr(7), v)) return static_cast<std::uint64_t>(v);
  return (std::hash<std::string_view>()(text) | kUpper) & ~kNext;
}

CopyDirection direction_of(std::string_view name, std::string_view kind) {
  const auto has = [&](std::string_view word) { return name.find(word) != std::string_view::npos || kind == word; };
  if (has("HtoD")) return CopyDirection::host_to_device;
  if (has("DtoH")) return CopyDirection::device_to_host;
  if (has("DtoD")) return CopyDirection::device_to_device;
  if (has("PtoP")) return CopyDirection::peer_to_peer;
  if (has("HtoH")) return CopyDirection::host_to_host;
  return CopyDirection::unknown;
}

constexpr std::uint64_t kBytesOfRecord = 128;  // of names, that count as one

constexpr float kMostBlocks = 4e9F;  // of a grid, on one SM

/// Blocks per SM up to which an occupancy may round to 0 %: of at most 64 warps on an SM a block fills at least one. Above
/// it PyTorch writes 0 where it has no estimate (kernels with thread block clusters).
constexpr float kMostBlocksAtNoOccupancy = 0.005F * 64;

/// A number of an argument; -1: none, or not within [0, most].
float figure_of(KinetoText text, float most) {
  float value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= 0 && value <= most ? value : -1;
}

class Reader : public JsonHandler {
 public:
  Reader(const std::string& path, const TraceOptions& options, TraceJob& job)
      : options_(options), job_(job), builder_(job), inputs_(job), geometries_(job), metadata_(job) {
    out_.rank.path = path;
  }

  Want on_key(std::string_view key) override {
    if (key == "traceEvents" || key.empty()) return Want::elements;
    return KinetoMetadata::wanted(key) ? Want::value : Want::skip;
  }
  Result<void> on_value(std::string_view key, std::string_view json) override {
    metadata_.take(key, json);
    return {};
  }
  Result<void> on_elements(JsonBatch& batch) override {
    broken_ += parser_.parse(batch, [this](const KinetoEvent& e) { event(e); });
    return charge_names();
  }
  std::string_view element_start() const override { return "\"ph\""; }

  Result<ReadRank> finish(const JsonStreamEnd& end);

 private:
  void event(const KinetoEvent& e);
  void metadata_event(const KinetoEvent& e);
  void host_event(const KinetoEvent& e, Role role, HostInput input);
  void device_event(const KinetoEvent& e, Role role, std::int64_t start, std::int64_t duration);
  void sync_event(const KinetoEvent& e, std::int64_t start, std::int64_t duration);
  void memory_event(const KinetoEvent& e);
  void profiler_event(const KinetoEvent& e);
  bool times(const KinetoEvent& e, std::int64_t& start, std::int64_t& duration);
  NameId name(std::string_view raw);
  Result<void> charge_names();
  std::uint32_t geometry(const KinetoArgs& args);

  const TraceOptions& options_;
  TraceJob& job_;
  ReadRank out_;
  RankBuilder builder_;
  KinetoParser parser_;
  OpInputTable inputs_;
  GeometryTable geometries_;
  KinetoMetadata metadata_;
  KinetoPairs pairs_;
  std::uint64_t charged_ = job_.names.bytes() / kBytesOfRecord;  ///< of the budget, for names
  std::uint64_t broken_ = 0, events_ = 0, no_time_ = 0, negative_ = 0, no_figure_ = 0, no_duration_ = 0, python_ = 0,
                flows_ = 0, counters_ = 0, instants_ = 0, no_name_ = 0;
  std::unordered_map<std::string, std::uint64_t> other_;
};

bool Reader::times(const KinetoEvent& e, std::int64_t& start, std::int64_t& duration) {
  if (!event_times(e, start, duration)) {
    ++no_time_;
    return false;
  }
  if (duration < 0) {
    ++negative_;
    duration = 0;
  }
  return true;
}

NameId Reader::name(std::string_view raw) {
  return raw.find('\\') == std::string_view::npos ? job_.names.intern(raw) : job_.names.intern(unescaped(raw));
}

/// The rest of a trace that is too large, or that nobody asks for any more, is not read.
Result<void> Reader::charge_names() {
  end_if_stopped();
  const std::uint64_t now = job_.names.bytes() / kBytesOfRecord;
  job_.budget.take(now - charged_);
  charged_ = now;
  if (job_.budget.is_spent) return beyond_budget(options_, out_.rank.path);
  return {};
}

/// Of events, as Chrome's "Trace Event Format" has them.
constexpr std::string_view kPhases = "BEXIiCbneSTpFsftPNODMVvRc()";

void Reader::event(const KinetoEvent& e) {
  ++events_;
  const char phase = e.phase.empty() ? '?' : e.phase.front();
  if (phase == 'M') return metadata_event(e);
  if (phase == 's' || phase == 'f' || phase == 't') {
    ++flows_;
    return;
  }
  if (phase == 'C') {
    ++counters_;
    return;
  }
  if (phase == 'B' || phase == 'E') {
    job_.budget.take(1 + pairs_.add(e) / kBytesOfRecord);
    return;
  }
  if (phase == 'i' && e.name == "[memory]") return memory_event(e);
  const Role role = role_of(e);
  if (phase != 'X') {
    const bool damaged = kPhases.find(phase) == std::string_view::npos && is_record(role, true);
    ++(damaged ? broken_ : instants_);
    return;
  }
  if (role == Role::python && !options_.keep_python) {
    ++python_;
    return;
  }
  if (is_profiler_work(e)) return profiler_event(e);
  if (!is_record(role, options_.keep_python)) {
    if (e.category != "Trace") {
      const std::string what = e.category.empty() ? "events without a category" : printable(e.category, 40) + " events";
      if (other_.size() < 64 || other_.contains(what))
        ++other_[what];
      else
        ++other_["events of other categories"];
    }
    return;
  }
  std::int64_t start = 0, duration = 0;
  if (!times(e, start, duration)) return;
  if (e.duration.empty()) ++no_duration_;
  if (role == Role::kernel || role == Role::memcpy || role == Role::memset)
    return device_event(e, role, start, duration);
  if (options_.slice && !options_.slice->has_host(start, start + duration)) return;
  if (role == Role::sync) return sync_event(e, start, duration);
  HostInput input;
  input.record.start_ns = start;
  input.record.duration_ns = duration;
  host_event(e, role, input);
}

void Reader::metadata_event(const KinetoEvent& e) {
  if (e.name == "thread_name" && !e.args.name.empty())
    builder_.thread_name(lane_of(e.process), lane_of(e.thread), unescaped(e.args.name));
}

void Reader::host_event(const KinetoEvent& e, Role role, HostInput input) {
  HostRecord& r = input.record;
  input.process = lane_of(e.process);
  input.thread = lane_of(e.thread);
  r.name = name(e.name);
  input.external = unsigned_of(e.args.external);
  if (role == Role::runtime) {
    r.kind = HostKind::runtime;
    r.call = runtime_call(e.name);
    input.correlation = unsigned_of(e.args.correlation);
  } else if (role == Role::python) {
    r.kind = HostKind::python;
  } else {
    r.kind = role == Role::annotation ? HostKind::annotation : HostKind::op;
    r.op_id = unsigned_of(e.args.record_function);
    if (!e.args.dims.empty() || !e.args.types.empty())
      r.inputs = inputs_.intern(e.args.dims, e.args.types, e.args.values, "", "", e.args.strides);
    const CollectiveArgs c = collective_args(e.args);
    if (c.any() && !c.name.empty())
      r.collective = builder_.collective(make_collective(job_, c));
    else if (e.name.starts_with("gloo:"))
      r.collective = builder_.collective(gloo_collective(job_, e.name, r.inputs));
  }
  builder_.host(input);
}

void Reader::device_event(const KinetoEvent& e, Role role, std::int64_t start, std::int64_t duration) {
  DeviceInput input;
  DeviceRecord& r = input.record;
  input.correlation = unsigned_of(e.args.correlation);
  std::int64_t number = 0;
  const bool named = !e.name.empty() && !integer_of(e.name, number);
  no_name_ += named ? 0 : 1;  // of the whole file, also where a slice is read
  if (options_.slice && !options_.slice->has_device(start, start + duration, input.correlation)) return;
  r.start_ns = start;
  r.duration_ns = duration;
  r.name = named ? name(e.name) : job_.names.intern("(name not in the file)");
  r.kind = role == Role::kernel   ? DeviceRecordKind::kernel
           : role == Role::memcpy ? DeviceRecordKind::memcpy
                                  : DeviceRecordKind::memset;
  r.bytes = signed_of(e.args.bytes, -1);
  if (r.kind == DeviceRecordKind::memcpy) r.direction = direction_of(e.name, e.args.copy_kind);
  const std::uint64_t device = unsigned_of(e.args.device.empty() ? e.process : e.args.device);
  input.device = static_cast<std::uint32_t>(std::min<std::uint64_t>(device, kNone - 1));
  input.stream = lane_of(e.args.stream.empty() ? e.thread : e.args.stream);
  input.context = unsigned_of(e.args.context);
  input.external = unsigned_of(e.args.external);
  if (!e.args.graph.empty() && !e.args.graph_node.empty() && unsigned_of(e.args.graph_node) != 0)  // 0: of no graph
    input.graph_node = GraphNode{unsigned_of(e.args.graph), unsigned_of(e.args.graph_node)};
  if (r.kind == DeviceRecordKind::kernel) {
    r.geometry = geometry(e.args);
    const CollectiveArgs c = collective_args(e.args);
    r.communication = is_communication_kernel(e.name) || !c.name.empty();
    if (!c.name.empty()) input.collective = static_cast<std::int32_t>(builder_.collective(make_collective(job_, c)));
  }
  builder_.device(input);
}

void Reader::sync_event(const KinetoEvent& e, std::int64_t start, std::int64_t duration) {
  SyncInput s;
  s.record.start_ns = start;
  s.record.duration_ns = duration;
  const std::string_view kind = e.args.sync_kind.empty() ? e.name : e.args.sync_kind;
  s.record.kind = kind == "Stream Wait Event" ? SyncKind::stream_waits_event
                  : kind == "Event Sync"      ? SyncKind::event
                  : kind == "Stream Sync"     ? SyncKind::stream
                                              : SyncKind::context;
  s.device = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(unsigned_of(e.args.device.empty() ? e.process : e.args.device), kNone - 1));
  s.stream = signed_of(e.args.stream, -1);
  s.wait_on_stream = signed_of(e.args.wait_stream, -1);
  s.correlation = unsigned_of(e.args.correlation);
  const std::int64_t recorded = signed_of(e.args.wait_record, -1);
  s.record_correlation = recorded > 0 ? static_cast<std::uint64_t>(recorded) : 0;
  builder_.sync(s);
}

/// The allocator of a device; that of the host (device type 0) is left out.
void Reader::memory_event(const KinetoEvent& e) {
  if (e.args.device_type == "0" || e.args.device_type.empty()) {
    ++instants_;
    return;
  }
  MemoryInput m;
  std::int64_t duration = 0;
  if (!times(e, m.record.start_ns, duration)) return;
  if (options_.slice && !options_.slice->has_host(m.record.start_ns, m.record.start_ns)) return;
  m.process = lane_of(e.process);
  m.thread = lane_of(e.thread);
  m.change = signed_of(e.args.memory_change, 0);
  m.total = signed_of(e.args.memory_total, -1);
  m.record.reserved = signed_of(e.args.memory_reserved, -1);
  m.record.device = static_cast<std::uint32_t>(std::min<std::uint64_t>(unsigned_of(e.args.device_id), kNone - 1));
  builder_.memory(m);
}

void Reader::profiler_event(const KinetoEvent& e) {
  ProfilerWork work;
  if (!times(e, work.start_ns, work.duration_ns)) return;
  if (options_.slice && !options_.slice->has_host(work.start_ns, work.start_ns + work.duration_ns)) return;
  builder_.profiler_work(work);
}

std::uint32_t Reader::geometry(const KinetoArgs& a) {
  if (a.grid.empty()) return kNone;
  KernelGeometry g;
  g.blocks_per_sm = figure_of(a.blocks_per_sm, kMostBlocks);
  g.occupancy = figure_of(a.occupancy, 100);
  if (g.occupancy == 0 && g.blocks_per_sm > kMostBlocksAtNoOccupancy) g.occupancy = -1;
  no_figure_ +=
      (g.occupancy < 0 && !a.occupancy.empty() ? 1 : 0) + (g.blocks_per_sm < 0 && !a.blocks_per_sm.empty() ? 1 : 0);
  if (g.occupancy >= 0) g.occupancy /= 100;
  g.registers_per_thread = static_cast<std::uint32_t>(unsigned_of(a.registers));
  g.shared_memory = unsigned_of(a.shared_memory);
  return geometries_.intern(g, a.grid, a.block);
}

Result<ReadRank> Reader::finish(const JsonStreamEnd& end) {
  TraceRank& rank = out_.rank;
  const std::uint64_t alone = pairs_.join([this](const KinetoEvent& e) { --events_, event(e); });
  if (builder_.device_records() + builder_.host_records() == 0) {
    const std::string what = events_ == 0 ? "found no events"
                                          : "found " + counted(events_, "event") + ", " +
                                                (no_time_ > 0 ? std::to_string(no_time_) +
                                                                    " without a usable time (microseconds, before the "
                                                                    "year 2043), and none"
                                                              : "but none") +
                                                " on a host thread or GPU";
    return Error{what + (end.complete ? "" : " before the file is cut off") + ", expected a PyTorch trace", rank.path,
                 ""};
  }
  rank.format = kKineto.name;
  rank.notes.lose("unreadable events", broken_ + end.broken_elements);
  rank.notes.lose("events without a usable time", no_time_);
  rank.notes.drop("beginnings without an end, and ends without a beginning", alone);
  rank.notes.drop("counter events", counters_);
  rank.notes.drop("instant events", instants_);
  rank.notes.drop("flow arrows (launches are joined by correlation id)", flows_);
  rank.notes.drop("Python frames", python_);
  std::vector<std::pair<std::string, std::uint64_t>> others(other_.begin(), other_.end());
  std::ranges::sort(others);
  for (const auto& [what, n] : others) rank.notes.drop(what, n);
  if (!end.complete) {
    rank.notes.assume("the file is truncated; everything before that point is used");
    rank.notes.miss("the rest of a file that is cut off");
  }
  if (builder_.host_records() == 0 && !options_.slice) rank.notes.miss("the calls of the host");
  if (no_name_ > 0) rank.notes.miss("the names of " + counted(no_name_, "kernel or copy", "kernels and copies"));
  if (negative_ > 0) rank.notes.assume(counted(negative_, "negative duration") + " counted as 0");
  rank.notes.drop("occupancies and blocks per SM that cannot be", no_figure_);
  if (no_duration_ > 0) rank.notes.assume(counted(no_duration_, "event") + " without a duration counted as 0");
  builder_.finish(rank);
  metadata_.finish(out_);
  return std::move(out_);
}

}  // namespace

bool sniff_kineto(const TraceHead& head) {
  if (head.json == TraceHead::Json::array)  // a bare array of events, of which the first may be cut
    return head.contains("\"ph\"") || head.text.find_first_not_of(" \t\r\n[]") == std::string_view::npos;
  if (head.has("traceEvents")) return true;
  const bool listed = head.has("nodes") || head.has("events") || head.has("schema");  // of another format
  return !listed && (head.has("schemaVersion") || head.has("deviceProperties") || head.has("distributedInfo") ||
                     head.has("baseTimeNanoseconds"));  // the events come further down
}

Result<std::vector<ReadRank>> read_kineto(const TraceFile& file, const TraceOptions& options, TraceJob& job) {
  TRY_ASSIGN(const std::unique_ptr<ByteSource> source, file.open());
  Reader reader(file.path, options, job);
  TRY_ASSIGN(const JsonStreamEnd end, stream_json(*source, file.path, options.window, options.max_piece, reader));
  TRY_ASSIGN(const ReadRank rank, reader.finish(end));
  return std::vector<ReadRank>{rank};
}

}  // namespace distsim::traces
