#include "traces/hugectr/hugectr_profile.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/file.hpp"
#include "base/json/json_text.hpp"
#include "base/json/parse_once.hpp"
#include "base/text/printable.hpp"
#include "traces/hugectr/hugectr_bounds.hpp"
#include "traces/hugectr/hugectr_nesting.hpp"

namespace distsim::traces {
namespace {

using Json = nlohmann::json;
constexpr std::size_t kMostBytes = std::size_t{256} << 20;

/// "an array", "null".
std::string kind_with_article(const Json& value) {
  const std::string kind = value.type_name();
  if (value.is_null()) return kind;
  return (value.is_object() || value.is_array() ? "an " : "a ") + kind;
}

/// Looks fields up and remembers the first one that is not as it should be.
class Fields {
 public:
  Fields(const Json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object()) fail(kind_with_article(object), "an object");
  }
  std::string text(const char* key) {
    const Json* v = find(key, &Json::is_string, "a string");
    return v ? v->get<std::string>() : "";
  }
  std::int64_t integer(const char* key) {
    const Json* v = find(key, &Json::is_number_integer, "a whole number");
    return v ? v->get<std::int64_t>() : 0;
  }
  std::vector<double> times(const char* key) {
    const Json* v = find(key, &Json::is_array, "a list of numbers");
    std::vector<double> out;
    for (std::size_t i = 0; v && i < v->size(); ++i) {
      if (!(*v)[i].is_number()) {
        fail(std::string(key) + ": " + kind_with_article((*v)[i]), "numbers");
        break;
      }
      out.push_back((*v)[i].get<double>());
    }
    return out;
  }
  void lack(const std::string& found, const std::string& expected) { fail(found, expected); }
  bool has(const char* key) const { return object_.is_object() && object_.contains(key); }
  Result<void> check() const { return error_.what.empty() ? Result<void>() : Result<void>(error_); }

 private:
  const Json* find(const char* key, bool (Json::*is)() const noexcept, const char* expected) {
    if (!object_.is_object()) return nullptr;
    const auto it = object_.find(key);
    if (it == object_.end()) return fail(std::string("no ") + key, std::string(key) + " with " + expected);
    if (!((*it).*is)()) return fail(std::string(key) + ": " + kind_with_article(*it), expected);
    return &*it;
  }
  const Json* fail(const std::string& found, const std::string& expected) {
    if (error_.what.empty()) error_ = {"found " + found + ", expected " + expected, where_, ""};
    return nullptr;
  }
  const Json& object_;
  const std::string where_;
  Error error_;
};

double mean(const std::vector<double>& v) {
  return v.empty() ? 0 : std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
}

double median(std::vector<double> v) {
  if (v.empty()) return 0;
  std::sort(v.begin(), v.end());
  const std::size_t n = v.size();
  return n % 2 == 1 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

std::string label_of(Fields& event, const std::vector<HugectrEvent>& known) {
  if (event.has("layer_name")) return event.text("layer_name") + "." + event.text("name");
  const std::string name = event.text("event_name");
  const std::int64_t met =
      event.has("met_times_within_this_stream") ? event.integer("met_times_within_this_stream") : 0;
  for (const HugectrEvent& e : known) {
    if (e.name == name && e.order == met) return e.layer + "." + name;
  }
  return met == 0 ? name : name + "#" + std::to_string(met);
}

/// Events in order of start; level: how many of those before it stop after it.
void nest(std::vector<HugectrTimedEvent>& events) {
  std::sort(events.begin(), events.end(), [](const auto& a, const auto& b) { return a.start_index < b.start_index; });
  each_held_event(events, [&](std::size_t, std::size_t inner) { ++events[inner].level; });
}

/// How often an event of a name without layers was met on a stream, at most.
void count_occurrence(const Json& event, std::map<std::string, std::int64_t>& met_times) {
  const auto name = event.find("event_name"), met = event.find("met_times_within_this_stream");
  if (name == event.end() || !name->is_string()) return;
  const std::int64_t order = met != event.end() && met->is_number_integer() ? met->get<std::int64_t>() : 0;
  std::int64_t& most = met_times[name->get<std::string>()];
  most = std::max(most, order);
}

/// Layers are told by their places among those of a name. Where a stream has more of them than the list, the places are not
/// those of the list, and each would have the name of another.
Result<void> check_listed(const std::vector<HugectrEvent>& known, const std::map<std::string, std::int64_t>& met_times,
                          const std::string& path) {
  std::map<std::string, std::int64_t> listed;
  for (const HugectrEvent& e : known) ++listed[e.name];
  for (const auto& [name, most] : met_times) {
    const auto found = listed.find(name);
    if (found == listed.end() || most < found->second) continue;
    return Error{"found " + in_quotes(name, 100) + " " + std::to_string(most + 1) +
                     " times on a stream, expected at most " + std::to_string(found->second) +
                     ", as often as the list of events has it",
                 path, "list the events of all layers that have it"};
  }
  return {};
}

nlohmann::ordered_json or_null(bool there, double value) {
  return there ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

}  // namespace

Result<HugectrHost> read_hugectr_profile(const std::string& path, const std::vector<HugectrEvent>& known) {
  TRY_ASSIGN(const std::string text, read_file(path, kMostBytes));
  std::string twice;
  bool too_many = false;
  const Json root = parse_once(text, twice, &too_many);
  if (too_many) return Error{too_many_json_values(), path, ""};
  if (root.is_discarded()) return Error{"found no JSON, expected output of HugeCTR's profiler", path, ""};
  if (!twice.empty()) return Error{"found the key " + in_quotes(twice, 100) + " twice, expected it once", path, ""};
  Fields top(root, path);
  HugectrBounds bounds(path);
  HugectrHost host;
  host.host_name = top.text("host_name");
  if (top.has("iter_time_ms")) {  // the preview of v3.7 has none
    const auto iterations = top.times("iter_time_ms");
    TRY(bounds.take_iterations(iterations));
    host.has_iterations = !iterations.empty();
    host.iterations = iterations.size();
    host.avg_iter_time_ms = mean(iterations);
    host.median_iter_time_ms = median(iterations);
  }
  TRY(top.check());
  if (host.host_name.empty()) return Error{"found an empty host_name, expected the name of a host", path, ""};
  const auto events = root.find("events");
  if (events == root.end() || !events->is_array() || events->empty())
    return Error{"found no events, expected a list of them", path, ""};
  std::map<std::string, std::uint32_t> streams;
  std::map<std::string, std::int64_t> met_times;
  for (std::size_t i = 0; i < events->size(); ++i) {
    Fields f((*events)[i], path + ": event " + std::to_string(i));
    HugectrTimedEvent e;
    e.label = label_of(f, known);
    e.start_index = f.integer("start_index");
    e.end_index = f.integer("end_index");
    const std::vector<double> durations = f.times("measured_times_ms"),
                              starts = f.times("iter_start_to_event_start_times_ms");
    e.duration_ms = mean(durations);
    e.median_duration_ms = median(durations);
    e.start_ms = mean(starts);
    e.median_start_ms = median(starts);
    e.repetitions = static_cast<std::uint32_t>(std::min(durations.size(), starts.size()));
    const std::int64_t device = f.integer("device_id");
    const std::string handle = f.text("stream");
    if (durations.empty() || starts.empty()) f.lack("an empty list of times", "numbers");
    TRY(f.check());
    TRY(bounds.take_event(i, {device, handle, e.label, e.start_index, e.end_index, durations, starts,
                              e.median_start_ms + e.median_duration_ms}));
    count_occurrence((*events)[i], met_times);
    const auto stream = streams.emplace(handle, static_cast<std::uint32_t>(streams.size())).first->second;
    host.timeline[device][stream].push_back(std::move(e));
  }
  TRY(bounds.check_ends());
  TRY(check_listed(known, met_times, path));
  for (auto& [device, by_stream] : host.timeline) {
    for (auto& [stream, list] : by_stream) nest(list);
  }
  return host;
}

std::string hugectr_timeline_json(const std::vector<HugectrHost>& hosts) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const HugectrHost& host : hosts) {
    nlohmann::ordered_json h{{"host_name", host.host_name},
                             {"avg_iter_time_ms", or_null(host.has_iterations, host.avg_iter_time_ms)},
                             {"median_iter_time_ms", or_null(host.has_iterations, host.median_iter_time_ms)}};
    nlohmann::ordered_json& timeline = h["timeline"] = nlohmann::ordered_json::object();
    for (const auto& [device, by_stream] : host.timeline) {
      for (const auto& [stream, events] : by_stream) {
        nlohmann::ordered_json& list = timeline["device_" + std::to_string(device)]["stream_" + std::to_string(stream)];
        for (const HugectrTimedEvent& e : events) {
          list.push_back({{"label", e.label},
                          {"start_index", e.start_index},
                          {"end_index", e.end_index},
                          {"avg_measured_time_ms", e.duration_ms},
                          {"avg_iter_start_to_event_start_time_ms", e.start_ms},
                          {"median_measured_time_ms", e.median_duration_ms},
                          {"median_iter_start_to_event_start_time_ms", e.median_start_ms}});
        }
      }
    }
    out.push_back(std::move(h));
  }
  return json_text(out, 2) + "\n";
}

}  // namespace distsim::traces
