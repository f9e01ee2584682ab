#include "traces/hugectr/hugectr_reader.hpp"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "traces/build/collective_text.hpp"
#include "traces/build/rank_builder.hpp"
#include "traces/files/json_memory.hpp"
#include "traces/files/json_stream.hpp"
#include "traces/hugectr/hugectr_bounds.hpp"
#include "traces/hugectr/hugectr_nesting.hpp"
#include "traces/hugectr/hugectr_verdict.hpp"

namespace distsim::traces {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kDeepest = 16;
constexpr std::size_t kMostDevices = 4096;

/// Milliseconds in a list; what is no number is left out.
std::vector<double> times(const dom::element& list) {
  std::vector<double> out;
  dom::array items;
  if (list.get_array().get(items)) return out;
  for (const dom::element item : items) {
    double ms = 0;
    if (!item.get_double().get(ms)) out.push_back(ms);
  }
  return out;
}

std::vector<double> times_at(const dom::element& event, std::string_view key) {
  dom::element list;
  return event[key].get(list) ? std::vector<double>() : times(list);
}

/// Error: an element of a list of times that is no number.
Result<void> check_numbers(const dom::element& event, std::string_view key, const std::string& where) {
  dom::array items;
  if (event[key].get_array().get(items)) return {};
  double ms = 0;
  for (const dom::element item : items) {
    if (item.get_double().get(ms))
      return Error{"found " + std::string(key) + ": " +
                       (item.is_null()     ? "a null"
                        : item.is_string() ? "a string"
                                           : "something else") +
                       ", expected numbers",
                   where, ""};
  }
  return {};
}

/// REQUIRES: within HugectrBounds.
std::vector<std::int64_t> nanoseconds(const std::vector<double>& ms) {
  std::vector<std::int64_t> out;
  for (const double t : ms) out.push_back(std::llround(t * 1e6));
  return out;
}

/// Of an even number the mean of the two in the middle.
std::int64_t median(std::vector<std::int64_t> v) {
  const auto middle = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
  std::ranges::nth_element(v, middle);
  return v.size() % 2 == 1 ? *middle : (*std::max_element(v.begin(), middle) + *middle) / 2;
}

std::string text_at(const dom::element& event, std::string_view key) {
  std::string_view text;
  return event[key].get_string().get(text) ? std::string() : std::string(text);
}

std::optional<std::int64_t> number_at(const dom::element& event, std::string_view key) {
  std::int64_t n = 0;
  return event[key].get_int64().get(n) ? std::nullopt : std::optional(n);
}

/// Events that are an exchange with other GPUs: "all2all_forward", "multi_node_inf_backward_a2a", "exchange_wgrad",
/// "multi_node_fre_backward_allreduce"; not "fre_local_reduce".
bool communicates(const std::string& name) {
  constexpr std::array<std::string_view, 11> kWords{"a2a",           "all2all",      "lltoall",  "ll_to_all",
                                                    "llreduce",      "ll_reduce",    "llgather", "ll_gather",
                                                    "educe_scatter", "educeScatter", "exchange"};
  return std::ranges::any_of(kWords, [&](std::string_view w) { return name.find(w) != std::string::npos; }) ||
         is_communication_kernel(name);
}

/// An event, and those that it holds.
struct OfStream {
  DeviceInput input;
  std::int64_t start_index = 0, end_index = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> held;  ///< times of all that it holds
};

/// What an event does beside those that it holds: its time without theirs, in parts. Medians are of different iterations, so
/// that some lie outside of their holder's, or leave nothing of it.
std::vector<DeviceInput> parts_of(OfStream& event) {
  std::vector<DeviceInput> out;
  const DeviceRecord& whole = event.input.record;
  if (event.held.empty()) return {event.input};
  std::ranges::sort(event.held);
  event.held.emplace_back(whole.end_ns(), whole.end_ns());
  std::int64_t from = whole.start_ns;
  for (const auto& [begin, end] : event.held) {
    const std::int64_t part = std::min(begin, whole.end_ns()) - from;
    if (part > 0) {
      out.push_back(event.input);
      out.back().record.start_ns = from;
      out.back().record.duration_ns = part;
    }
    from = std::max(from, end);
  }
  return out;
}

class Reader : public JsonHandler {
 public:
  Reader(const TraceFile& file, TraceJob& job) : file_(file), job_(job), bounds_(file.path) {
    CHECK(!failed(parser_.allocate(std::size_t{1} << 16, kDeepest)));
  }

  Want on_key(std::string_view key) override {
    if (key == "events") return Want::elements;
    return key == "host_name" || key == "iter_time_ms" ? Want::value : Want::skip;
  }
  Result<void> on_value(std::string_view key, std::string_view json) override {
    dom::element value;
    std::string_view text;
    if (failed(parser_.parse(json.data(), json.size()).get(value))) {
      bad_iterations_ += key == "iter_time_ms" ? 1 : 0;  // NaN is no JSON
      return {};
    }
    if (key == "iter_time_ms") return take_iterations(value);
    if (!value.get_string().get(text)) host_ = text;
    return {};
  }
  Result<void> on_elements(JsonBatch& batch) override {
    for (const JsonBatch::Element& e : batch.elements) {
      const std::size_t place = events_++;
      dom::element event;
      if (failed(parser_.parse(batch.text + e.begin, e.end - e.begin).get(event)) || !event.is_object())
        ++broken_;
      else
        TRY(add(place, event));
    }
    return {};
  }

  Result<std::vector<ReadRank>> finish(const JsonStreamEnd& end);

 private:
  Result<void> add(std::size_t place, const dom::element& event);
  Result<void> take_iterations(const dom::element& list);
  void note_unfinished(TraceNotes& notes) const;
  void build();

  const TraceFile& file_;
  TraceJob& job_;
  HugectrBounds bounds_;
  dom::parser parser_;
  std::string host_;
  std::vector<std::int64_t> iterations_;
  std::map<std::pair<std::uint32_t, std::string>, std::vector<OfStream>> streams_;  ///< by device and handle
  std::map<std::uint32_t, RankBuilder> builders_;
  std::map<std::uint32_t, std::vector<MedianEvent>> whole_;  ///< all events, by device
  std::map<std::size_t, std::uint64_t> repetitions_;         ///< events by how often they were timed
  std::size_t events_ = 0;                                   ///< read so far, the broken ones too
  std::uint64_t broken_ = 0, no_times_ = 0, bad_iterations_ = 0, holders_ = 0, kept_ = 0;
  bool layers_ = false;
};

Result<void> Reader::take_iterations(const dom::element& list) {
  dom::array items;
  const std::vector<double> ms = times(list);
  bad_iterations_ = list.get_array().get(items) ? 1 : items.size() - ms.size();
  TRY(bounds_.take_iterations(ms));
  iterations_ = nanoseconds(ms);
  return {};
}

Result<void> Reader::add(std::size_t place, const dom::element& event) {
  HugectrMeasured measured;
  measured.durations = times_at(event, "measured_times_ms");
  measured.starts = times_at(event, "iter_start_to_event_start_times_ms");
  for (const char* const key : {"measured_times_ms", "iter_start_to_event_start_times_ms"})
    TRY(check_numbers(event, key, file_.path + ": event " + std::to_string(place)));
  if (measured.durations.empty() || measured.starts.empty()) {
    ++no_times_;
    return {};
  }
  std::string name = text_at(event, "event_name");
  if (name.empty()) {
    const std::string layer = text_at(event, "layer_name");
    name = (layer.empty() ? "" : layer + ".") + text_at(event, "name");
    layers_ = true;
  } else if (const std::int64_t nth = number_at(event, "met_times_within_this_stream").value_or(0); nth > 0) {
    name += " #" + std::to_string(nth);
  }
  const auto device = number_at(event, "device_id");
  if (!device) {
    ++broken_;
    return {};
  }
  measured.device = *device;
  measured.stream = text_at(event, "stream");
  measured.label = name;
  measured.start_index = number_at(event, "start_index");
  measured.end_index = number_at(event, "end_index");
  DeviceInput input;
  input.record.start_ns = median(nanoseconds(measured.starts));
  input.record.duration_ns = median(nanoseconds(measured.durations));
  measured.end = static_cast<double>(input.record.end_ns()) * 1e-6;
  TRY(bounds_.take_event(place, measured));
  input.device = static_cast<std::uint32_t>(measured.device);
  const std::string_view stream = measured.stream;
  std::from_chars(stream.data() + (stream.starts_with("0x") ? 2 : 0), stream.data() + stream.size(), input.stream, 16);
  input.record.name = job_.names.intern(name);
  input.record.communication = communicates(name);
  if (builders_.size() == kMostDevices && !builders_.contains(input.device)) {
    ++broken_;
    return {};
  }
  ++repetitions_[measured.durations.size()];
  builders_.try_emplace(input.device, job_);
  if (++kept_ > job_.budget.left) {
    job_.budget.is_spent = true;
    return {};
  }
  whole_[input.device].push_back({input.record.start_ns, input.record.duration_ns, input.record.name});
  std::vector<OfStream>& stream_events = streams_[{input.device, measured.stream}];
  const bool is_placed = measured.start_index && measured.end_index;
  stream_events.push_back(
      {input, is_placed ? *measured.start_index : INT64_MAX, is_placed ? *measured.end_index : INT64_MAX, {}});
  return {};
}

/// Hands all events over. Of one that holds others only what it does beside them, so that no time of a stream counts twice.
void Reader::build() {
  for (auto& [key, events] : streams_) {
    std::ranges::stable_sort(events, {}, &OfStream::start_index);
    each_held_event(events, [&](std::size_t outer, std::size_t inner) {
      const DeviceRecord& d = events[inner].input.record;
      events[outer].held.emplace_back(d.start_ns, d.end_ns());
    });
    for (OfStream& event : events) {
      holders_ += event.held.empty() ? 0 : 1;
      for (const DeviceInput& part : parts_of(event)) builders_.at(key.first).device(part);
    }
  }
}

/// The profiler stops once every event was timed as often as it was asked to.
void Reader::note_unfinished(TraceNotes& notes) const {
  if (repetitions_.size() < 2) return;
  std::uint64_t all = 0;
  for (const auto& [times, events] : repetitions_) all += events;
  notes.assume(std::to_string(all - repetitions_.rbegin()->second) + " of " + counted(all, "event") +
               " were timed fewer than " + counted(repetitions_.rbegin()->first, "time") +
               ": the run ended before the recording did");
}

Result<std::vector<ReadRank>> Reader::finish(const JsonStreamEnd& end) {
  if (builders_.empty())
    return Error{"found no event with times" + std::string(end.complete ? "" : " before the file is cut off") +
                     ", expected HugeCTR's prof.json",
                 file_.path, ""};
  TRY(bounds_.check_ends());
  build();
  std::vector<ReadRank> out;
  for (auto& [device, b] : builders_) {
    ReadRank r;
    r.rank.rank = static_cast<std::uint32_t>(out.size());
    r.rank.path = builders_.size() == 1 ? file_.path : file_.path + ":GPU " + std::to_string(device);
    r.rank.format = std::string(kHugectrProfile.name) + " generation " + (layers_ ? "1" : "2");
    r.rank.host_name = host_;
    r.rank.times_are_medians = true;
    r.rank.devices.push_back({device, "", 0, 0});
    b.finish(r.rank);
    r.rank.notes.assumptions.clear();  // the format has no launches
    r.rank.notes.assume("each interval is the median over its repetitions, which come from different iterations");
    r.rank.measured_iterations_ns = iterations_;
    r.rank.median_events = std::move(whole_[device]);
    if (!iterations_.empty()) {
      TraceStep step{"median iteration",
                     0,
                     0,
                     median(iterations_),
                     -1,
                     -1,
                     static_cast<std::uint32_t>(r.rank.device_records.size())};
      for (const DeviceRecord& d : r.rank.device_records) {
        step.first_device_ns = step.first_device_ns < 0 ? d.start_ns : std::min(step.first_device_ns, d.start_ns);
        step.last_device_ns = std::max(step.last_device_ns, d.end_ns());
      }
      r.rank.steps.push_back(std::move(step));
    }
    if (out.empty()) {
      r.rank.notes.lose("unreadable events", broken_);
      r.rank.notes.lose("events without times", no_times_);
      r.rank.notes.drop("iterations without a usable time", bad_iterations_);
      note_unfinished(r.rank.notes);
      std::set<std::int64_t> gpus;
      for (const auto& [gpu, builder] : builders_) gpus.insert(gpu);
      if (std::string absent = absent_gpus(host_, gpus); !absent.empty()) r.rank.notes.assume(std::move(absent));
      if (holders_ > 0)
        r.rank.notes.assume(counted(holders_, "event") + " of " + std::to_string(events_) + " " +
                            std::string(agreeing(holders_, "holds", "hold")) +
                            " others: only the time beside those is " +
                            std::string(agreeing(holders_, "its", "their")) + " own, in as many parts as they leave");
      if (std::string fewer = fewer_iterations(iterations_.size() + bad_iterations_, repetitions_.rbegin()->first);
          !fewer.empty())
        r.rank.notes.assume(std::move(fewer));
      if (!end.complete) {
        r.rank.notes.assume("the file is truncated; everything before that point is used");
        r.rank.notes.miss("the rest of a file that is cut off");
      }
    }
    out.push_back(std::move(r));
  }
  return out;
}

}  // namespace

/// The other keys may come after the events, beyond the head.
bool sniff_hugectr(const TraceHead& head) {
  if (head.has("traceEvents") || head.has("workload_graph")) return false;
  if (head.has("host_name") && head.has("iter_time_ms")) return true;
  return head.has("events") && (head.has("host_name") || head.has("iter_time_ms") || head.has("runtime_data") ||
                                head.contains("\"measured_times_ms\""));
}

Result<std::vector<ReadRank>> read_hugectr(const TraceFile& file, const TraceOptions& options, TraceJob& job) {
  TRY_ASSIGN(const std::unique_ptr<ByteSource> source, file.open());
  Reader reader(file, job);
  TRY_ASSIGN(const JsonStreamEnd end, stream_json(*source, file.path, options.window, options.max_piece, reader));
  return reader.finish(end);
}

}  // namespace distsim::traces
