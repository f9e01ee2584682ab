#include "traces/timeline/chrome_writer.hpp"

#include <ostream>

#include "traces/files/json_text.hpp"
#include "traces/timeline/timeline_file.hpp"

namespace distsim::traces {
namespace {

/// Writes events one by one; holds no more than one buffer of text.
class ChromeWriter {
 public:
  ChromeWriter(const SliceSource& source, std::ostream& out) : source_(source), out_(out) {}

  Result<void> write() {
    text_ = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
    for (std::size_t i = 0; i < source_.tracks.size(); ++i) track(source_.tracks[i], i);
    source_.for_each([this](const Slice& s) { slice(s); });
    if (!source_.counters.empty()) source_.for_each_sample([this](const CounterSample& s) { sample(s); });
    text_ += "\n]}\n";
    flush();
    if (!out_.good()) return Error{"cannot write the timeline", "", "is the disk full?"};
    return {};
  }

 private:
  void flush() {
    out_.write(text_.data(), static_cast<std::streamsize>(text_.size()));
    text_.clear();
  }

  /// {"ph":"X","pid":3,"tid":1
  void begin(char phase, const Track& track) {
    text_ += first_ ? "\n" : ",\n";
    first_ = false;
    text_ += "{\"ph\":\"";
    text_ += phase;
    text_ += "\",\"pid\":";
    append_integer(text_, track.process);
    text_ += ",\"tid\":";
    append_integer(text_, track.thread);
  }

  void field(std::string_view key, std::string_view value) {
    text_ += ",\"";
    text_ += key;
    text_ += "\":";
    append_json_string(text_, value);
  }

  void time(std::string_view key, std::int64_t ps) {
    text_ += ",\"";
    text_ += key;
    text_ += "\":";
    append_microseconds(text_, ps);
  }

  void metadata(const Track& t, std::string_view what, std::string_view name) {
    begin('M', t);
    field("name", what);
    text_ += ",\"args\":{\"name\":";
    append_json_string(text_, name);
    text_ += "}}";
  }

  void sort_index(const Track& t, std::string_view what, std::size_t index) {
    begin('M', t);
    field("name", what);
    text_ += ",\"args\":{\"sort_index\":";
    append_integer(text_, static_cast<std::int64_t>(index));
    text_ += "}}";
  }

  /// Tracks of a process are neighbours; its name is written with the first of them.
  void track(const Track& t, std::size_t index) {
    if (index == 0 || source_.tracks[index - 1].process != t.process) {
      metadata(t, "process_name", t.process_name);
      sort_index(t, "process_sort_index", index);
    }
    metadata(t, "thread_name", t.thread_name);
    sort_index(t, "thread_sort_index", index);
    if (text_.size() > kFlushAt) flush();
  }

  void slice(const Slice& s) {
    CHECK(s.track < source_.tracks.size()) << "slice on track " << s.track << " of " << source_.tracks.size();
    const Track& t = source_.tracks[s.track];
    begin('X', t);
    field("name", s.name);
    field("cat", s.category);
    time("ts", s.start_ps);
    time("dur", s.duration_ps);
    if (!s.args.empty()) arguments(s);
    text_ += '}';
    if (s.flow != 0) flow(s, t);
    if (text_.size() > kFlushAt) flush();
  }

  void arguments(const Slice& s) {
    text_ += ",\"args\":{";
    for (std::size_t i = 0; i < s.args.size(); ++i) {
      if (i > 0) text_ += ',';
      append_json_string(text_, s.args[i].first);
      text_ += ':';
      append_json_string(text_, s.args[i].second);
    }
    text_ += '}';
  }

  /// Counters belong to a process; their name carries the unit.
  void sample(const CounterSample& s) {
    CHECK(s.counter < source_.counters.size());
    const CounterTrack& counter = source_.counters[s.counter];
    begin('C', Track{counter.process, 0, "", ""});
    field("name", counter.name);
    time("ts", s.time_ps);
    text_ += ",\"args\":{";
    append_json_string(text_, counter.unit);
    text_ += ':';
    append_number(text_, s.value);
    text_ += "}}";
    if (text_.size() > kFlushAt) flush();
  }

  /// "bp":"e" binds to the slice that encloses the time, which is the one just written.
  void flow(const Slice& s, const Track& t) {
    begin(s.flow_place == FlowPlace::first ? 's' : s.flow_place == FlowPlace::last ? 'f' : 't', t);
    text_ += ",\"bp\":\"e\",\"id\":";
    append_integer(text_, static_cast<std::int64_t>(s.flow));
    field("name", "members");
    field("cat", "flow");
    time("ts", s.start_ps);
    text_ += '}';
  }

  const SliceSource& source_;
  std::ostream& out_;
  std::string text_;
  bool first_ = true;
};

std::int64_t text_bound(std::string_view text) { return static_cast<std::int64_t>(json_string_size(text)); }

constexpr std::int64_t kEvent = 150;  // of a slice or sample without its texts: braces, keys, two ids, two times
constexpr std::int64_t kTrack = 400;  // four metadata events without their names

}  // namespace

std::int64_t chrome_trace_bound(const SliceSource& source) {
  std::int64_t bytes = kTrack;
  for (const Track& t : source.tracks) bytes += kTrack + text_bound(t.process_name) + text_bound(t.thread_name);
  source.for_each([&](const Slice& s) {
    bytes += kEvent + text_bound(s.name) + text_bound(s.category) + (s.flow != 0 ? kEvent : 0);
    for (const auto& [key, value] : s.args) bytes += 2 + text_bound(key) + text_bound(value);
  });
  if (source.counters.empty()) return bytes;
  source.for_each_sample([&](const CounterSample& s) {
    bytes += kEvent + text_bound(source.counters[s.counter].name) + text_bound(source.counters[s.counter].unit);
  });
  return bytes;
}

Result<void> stream_chrome_trace(const SliceSource& source, std::ostream& out) {
  return ChromeWriter(source, out).write();
}

Result<void> write_chrome_trace(const SliceSource& source, const std::string& path, FilesTogether& files) {
  return write_timeline_file(path, files, [&](std::ostream& out) { return stream_chrome_trace(source, out); });
}

}  // namespace distsim::traces
