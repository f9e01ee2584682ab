#include "traces/timeline/timeline_writer.hpp"

#include <memory>

#include "base/text/printable.hpp"
#include "traces/timeline/chrome_writer.hpp"
#include "traces/timeline/perfetto_writer.hpp"

namespace distsim::traces {
namespace {

/// Flows of different parts must not meet; Chrome's readers want ids below 2^53.
constexpr int kFlowBits = 48;

std::uint64_t flow_of_part(std::uint64_t flow, std::size_t part) {
  return flow == 0 ? 0 : (flow & ((std::uint64_t{1} << kFlowBits) - 1)) | std::uint64_t{part % 16} << kFlowBits;
}

std::uint32_t processes_of(const SliceSource& source) {
  std::uint32_t most = 0;
  for (const Track& t : source.tracks) most = std::max(most, t.process + 1);
  return most;
}

/// Where a part's tracks, processes and counters begin among those of all parts.
struct Offsets {
  std::uint32_t track = 0, process = 0, counter = 0;
};

using Parts = std::shared_ptr<const std::vector<TimelinePart>>;

void emit_slices(const Parts& parts, const std::vector<Offsets>& offsets,
                 const std::function<void(const Slice&)>& sink) {
  for (std::size_t p = 0; p < parts->size(); ++p) {
    (*parts)[p].source.for_each([&](const Slice& s) {
      Slice moved = s;
      moved.track += offsets[p].track;
      moved.start_ps += (*parts)[p].shift_ps;
      moved.flow = flow_of_part(s.flow, p);
      sink(moved);
    });
  }
}

void emit_samples(const Parts& parts, const std::vector<Offsets>& offsets,
                  const std::function<void(const CounterSample&)>& sink) {
  for (std::size_t p = 0; p < parts->size(); ++p) {
    if ((*parts)[p].source.counters.empty()) continue;
    (*parts)[p].source.for_each_sample([&](CounterSample s) {
      s.counter += offsets[p].counter;
      s.time_ps += (*parts)[p].shift_ps;
      sink(s);
    });
  }
}

}  // namespace

bool is_perfetto_path(const std::string& path) {
  const std::string stem = path.ends_with(".gz") ? path.substr(0, path.size() - 3) : path;
  return stem.ends_with(".pftrace") || stem.ends_with(".perfetto-trace");
}

Result<void> check_timeline_path(const std::string& flag, const std::string& path, const std::string& endings) {
  if (path == "-" || path.ends_with(".json") || path.ends_with(".json.gz") || is_perfetto_path(path)) return {};
  return Error{flag + ": found " + in_quotes(path, 200) + ", expected a name that ends in " + endings, "", ""};
}

Result<void> write_timeline(const SliceSource& source, const std::string& path, FilesTogether& files) {
  return is_perfetto_path(path) ? write_perfetto_trace(source, path, files) : write_chrome_trace(source, path, files);
}

Result<void> write_timeline(const SliceSource& source, const std::string& path) {
  FilesTogether alone;
  TRY(write_timeline(source, path, alone));
  return alone.keep();
}

bool may_be_large(const std::string& path, std::int64_t slices) {
  return slices * (is_perfetto_path(path) ? 30 : 100) >= kLargeTimeline;
}

std::int64_t timeline_bound(const std::string& path, const SliceSource& source) {
  return is_perfetto_path(path) ? perfetto_trace_bound(source) : chrome_trace_bound(source);
}

SliceSource side_by_side(std::vector<TimelinePart> list) {
  SliceSource out;
  std::vector<Offsets> offsets;
  Offsets next;
  for (const TimelinePart& part : list) {
    offsets.push_back(next);
    for (Track t : part.source.tracks) {
      t.process += next.process;
      t.process_name = part.name.empty() ? t.process_name : part.name + " " + t.process_name;
      out.tracks.push_back(std::move(t));
    }
    for (CounterTrack c : part.source.counters) {
      c.process += next.process;
      out.counters.push_back(std::move(c));
    }
    next = {static_cast<std::uint32_t>(out.tracks.size()), next.process + processes_of(part.source),
            static_cast<std::uint32_t>(out.counters.size())};
  }
  const Parts parts = std::make_shared<const std::vector<TimelinePart>>(std::move(list));
  out.for_each = [parts, offsets](const auto& sink) { emit_slices(parts, offsets, sink); };
  out.for_each_sample = [parts, offsets](const auto& sink) { emit_samples(parts, offsets, sink); };
  return out;
}

}  // namespace distsim::traces
