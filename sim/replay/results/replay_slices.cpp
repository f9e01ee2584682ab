#include "sim/replay/results/replay_slices.hpp"

#include <algorithm>
#include <map>
#include <memory>

#include "sim/replay/results/replay_counters.hpp"

namespace distsim::replay {
namespace {

using SliceSink = std::function<void(const traces::Slice&)>;

std::string rank_name(const traces::TraceRank& rank) { return "rank " + std::to_string(rank.rank); }

std::string thread_name(const traces::TraceThread& t) {
  return (t.name.empty() ? "thread" : t.name) + " " + std::to_string(static_cast<std::int64_t>(t.id));
}

std::string stream_name(const traces::TraceStream& s) {
  return "GPU " + std::to_string(s.device) + " stream " + std::to_string(s.id);
}

/// Tracks of all ranks: threads that have something, then device lanes.
struct Layout {
  std::vector<traces::Track> tracks;
  std::vector<std::vector<std::uint32_t>> of_stream;  ///< by rank and stream of the replay: track, or kNone
};

Layout layout_of(const ReplayGraph& graph) {
  Layout out;
  out.of_stream.resize(graph.ranks.size());
  for (std::uint32_t r = 0; r < graph.ranks.size(); ++r) {
    const traces::TraceRank& rank = graph.job->ranks[r];
    std::vector<std::string> names(graph.ranks[r].streams, "-");
    for (std::uint32_t t = 0; t < rank.threads.size() && t < names.size(); ++t) names[t] = thread_name(rank.threads[t]);
    for (std::uint32_t d = 0; d < rank.device_records.size(); ++d) {
      names[graph.nodes[graph.ranks[r].device_nodes[d]].stream] =
          stream_name(rank.streams[rank.device_records[d].stream]);
    }
    for (std::uint32_t s = 0; s < names.size(); ++s) {
      out.of_stream[r].push_back(static_cast<std::uint32_t>(out.tracks.size()));
      out.tracks.push_back({r, s, rank_name(rank), names[s]});
    }
  }
  return out;
}

std::string_view category_of(const traces::DeviceRecord& d) {
  return d.kind == traces::DeviceRecordKind::kernel ? d.communication ? "communication" : "compute"
                                                    : traces::name_of(d.kind);
}

/// Arrows from calls to what they launched: the flow id of a call, unique over ranks.
std::uint64_t launch_flow(std::uint32_t rank, std::uint32_t call) { return (std::uint64_t{rank} << 32 | call) + 1; }

class MeasuredSlices {
 public:
  MeasuredSlices(const ReplayGraph& graph, Layout layout) : graph_(graph), layout_(std::move(layout)) {}

  void emit(const SliceSink& sink) const {
    for (std::uint32_t r = 0; r < graph_.ranks.size(); ++r) {
      const std::vector<std::uint32_t> launched = last_launched(r);
      host(r, launched, sink);
      device(r, launched, sink);
    }
  }

 private:
  /// By host record: the last device record it launched.
  std::vector<std::uint32_t> last_launched(std::uint32_t r) const {
    const traces::TraceRank& rank = graph_.job->ranks[r];
    std::vector<std::uint32_t> out(rank.host_records.size(), traces::kNone);
    for (std::uint32_t d = 0; d < rank.device_records.size(); ++d) {
      if (rank.device_records[d].launch != traces::kNone) out[rank.device_records[d].launch] = d;
    }
    return out;
  }

  traces::Slice slice(std::uint32_t r, std::uint32_t stream, NameId name, std::int64_t start_ns,
                      std::int64_t duration_ns) const {
    traces::Slice s;
    s.track = layout_.of_stream[r][stream];
    s.name = graph_.job->name(name);
    s.start_ps = (start_ns - graph_.origin_ns) * kPsPerNs;
    s.duration_ps = duration_ns * kPsPerNs;
    return s;
  }

  void host(std::uint32_t r, const std::vector<std::uint32_t>& launched, const SliceSink& sink) const {
    const traces::TraceRank& rank = graph_.job->ranks[r];
    std::vector<std::int64_t> open;  // ends of the slices around: one that sticks out of its parent is cut
    std::uint32_t thread = traces::kNone;
    for (std::uint32_t h = 0; h < rank.host_records.size(); ++h) {
      const traces::HostRecord& record = rank.host_records[h];
      if (record.thread != thread) open.clear();
      thread = record.thread;
      while (!open.empty() && open.back() <= record.start_ns) open.pop_back();
      const std::int64_t end = open.empty() ? record.end_ns() : std::min(open.back(), record.end_ns());
      traces::Slice s =
          slice(r, record.thread, record.name, record.start_ns, std::max<std::int64_t>(0, end - record.start_ns));
      s.category = traces::name_of(record.kind);
      if (launched[h] != traces::kNone) {
        s.flow = launch_flow(r, h);
        s.flow_place = traces::FlowPlace::first;
      }
      sink(s);
      open.push_back(end);
    }
  }

  void device(std::uint32_t r, const std::vector<std::uint32_t>& launched, const SliceSink& sink) const {
    const traces::TraceRank& rank = graph_.job->ranks[r];
    for (std::uint32_t d = 0; d < rank.device_records.size(); ++d) {
      const traces::DeviceRecord& record = rank.device_records[d];
      traces::Slice s = slice(r, graph_.nodes[graph_.ranks[r].device_nodes[d]].stream, record.name, record.start_ns,
                              record.duration_ns);
      s.category = category_of(record);
      if (record.launch != traces::kNone) {
        s.flow = launch_flow(r, record.launch);
        s.flow_place = launched[record.launch] == d ? traces::FlowPlace::last : traces::FlowPlace::middle;
      }
      if (record.bytes >= 0) s.args.emplace_back("bytes", std::to_string(record.bytes));
      sink(s);
    }
  }

  const ReplayGraph& graph_;
  const Layout layout_;
};

class PlayedSlices {
 public:
  PlayedSlices(const ReplayGraph& graph, const ReplayTimes& times, Layout layout)
      : graph_(graph), times_(times), layout_(std::move(layout)) {
    last_member_.assign(graph.job->matches.size(), traces::kNone);
    for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
      if (graph.nodes[n].match != traces::kNone) last_member_[graph.nodes[n].match] = n;
    }
  }

  void emit(const SliceSink& sink) const {
    std::vector<bool> begun(last_member_.size(), false);
    for (std::uint32_t n = 0; n < graph_.nodes.size(); ++n) node(n, begun, sink);
  }

 private:
  void node(std::uint32_t n, std::vector<bool>& begun, const SliceSink& sink) const {
    const ReplayNode& node = graph_.nodes[n];
    if (node.role != ReplayRole::device && node.role != ReplayRole::host_call) return;
    const traces::TraceRank& rank = graph_.job->ranks[node.rank];
    traces::Slice s;
    s.track = layout_.of_stream[node.rank][node.stream];
    s.start_ps = times_.start[n];
    s.duration_ps = times_.end[n] - times_.start[n];
    s.name = graph_.job->name(node.role == ReplayRole::device ? rank.device_records[node.record].name
                                                              : rank.host_records[node.record].name);
    s.category = node.role == ReplayRole::device ? category_of(rank.device_records[node.record]) : "runtime";
    if (node.match != traces::kNone) {
      if (times_.ready[n] < times_.start[n]) sink(waiting(s, n));
      s.flow = node.match + 1;
      s.flow_place = !begun[node.match]              ? traces::FlowPlace::first
                     : last_member_[node.match] == n ? traces::FlowPlace::last
                                                     : traces::FlowPlace::middle;
      begun[node.match] = true;
    }
    sink(s);
  }

  traces::Slice waiting(traces::Slice s, std::uint32_t n) const {
    s.start_ps = times_.ready[n];
    s.duration_ps = times_.start[n] - times_.ready[n];
    s.category = "waiting";
    return s;
  }

  const ReplayGraph& graph_;
  const ReplayTimes& times_;
  const Layout layout_;
  std::vector<std::uint32_t> last_member_;
};

}  // namespace

traces::SliceSource measured_slices(const ReplayGraph& graph) {
  Layout layout = layout_of(graph);
  traces::SliceSource out;
  out.tracks = layout.tracks;
  const auto measured = std::make_shared<const MeasuredSlices>(graph, std::move(layout));
  out.for_each = [measured](const SliceSink& sink) { measured->emit(sink); };
  add_counters(out, graph, nullptr);
  return out;
}

traces::SliceSource played_slices(const ReplayGraph& graph, const ReplayTimes& times) {
  Layout layout = layout_of(graph);
  traces::SliceSource out;
  out.tracks = layout.tracks;
  const auto played = std::make_shared<const PlayedSlices>(graph, times, std::move(layout));
  out.for_each = [played](const SliceSink& sink) { played->emit(sink); };
  add_counters(out, graph, &times);
  return out;
}

std::int64_t count_slices(const ReplayGraph& graph) {
  std::int64_t slices = 0;
  for (const traces::TraceRank& rank : graph.job->ranks)
    slices += static_cast<std::int64_t>(rank.host_records.size() + 2 * rank.device_records.size());
  return slices;
}

}  // namespace distsim::replay
