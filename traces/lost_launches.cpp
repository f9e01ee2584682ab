// Launches whose GPU work is missing, and those of CUDA graphs that have a part of it.
#include <algorithm>
#include <set>

#include "traces/trace.hpp"
#include "traces/work_counts.hpp"

namespace distsim::traces {

std::int64_t WorkCounts::last_with_all_work() const {
  constexpr std::int64_t kUntilTheEnd = 1'000'000;  // ns before the last kernel's end: a stream had more to do; chosen
  std::int64_t last = 0, until = INT64_MAX;
  for (const auto& [stream, end] : stream_ends) last = std::max(last, end.end);
  for (const auto& [stream, end] : stream_ends) {
    if (end.end >= last - kUntilTheEnd) until = std::min(until, end.launched);
  }
  return until;
}

std::uint64_t WorkCounts::lost_between(const LaunchCounts& of) const {
  if (stream_ends.empty()) return 0;
  const std::int64_t until = last_with_all_work();
  return static_cast<std::uint64_t>(
      std::ranges::count_if(of.lost_at, [&](std::int64_t at) { return at > first_joined && at < until; }));
}

WorkCounts::IdleNodes WorkCounts::idle_nodes() const {
  IdleNodes out;
  if (stream_ends.empty()) return out;
  std::set<std::int64_t> last_of_streams;
  for (const auto& [stream, end] : stream_ends) last_of_streams.insert(end.launched);
  const std::int64_t until = last_with_all_work();
  struct Graph {
    std::uint64_t nodes = 0;
    std::int64_t first = INT64_MAX, last = INT64_MIN;  // launches
  };
  for (auto [key, of] : graphs) {
    std::map<std::uint64_t, Graph> by_node;
    for (const auto& [node, other] : of.same_graph) ++by_node[of.graph_of(node)].nodes;
    for (const GraphLaunches::Launch& launch : of.launches) {
      Graph& graph = by_node[of.graph_of(launch.node)];
      graph.first = std::min(graph.first, launch.at), graph.last = std::max(graph.last, launch.at);
    }
    for (const GraphLaunches::Launch& launch : of.launches) {
      const Graph& graph = by_node[of.graph_of(launch.node)];
      const bool whole = launch.at > std::max(first_joined, graph.first) && launch.at < std::min(until, graph.last) &&
                         !last_of_streams.contains(launch.at);
      if (!whole) continue;
      out.all += graph.nodes;
      out.idle += graph.nodes - launch.nodes;
    }
  }
  return out;
}

/// Halves the way to its end, so that the next ones are short.
std::uint64_t GraphLaunches::graph_of(std::uint64_t node) {
  for (auto at = same_graph.emplace(node, node).first; at->second != node;) {
    at->second = same_graph.at(at->second);
    node = at->second;
    at = same_graph.find(node);
  }
  return node;
}

void GraphLaunches::join(std::uint64_t node, std::uint64_t other) {
  const std::uint64_t of_node = graph_of(node), of_other = graph_of(other);
  same_graph[std::max(of_node, of_other)] = std::min(of_node, of_other);
}

void GraphLaunches::add(const GraphLaunches& later) {
  for (const auto& [node, other] : later.same_graph) join(node, other);
  launches.insert(launches.end(), later.launches.begin(), later.launches.end());
}

std::map<GraphKey, GraphLaunches> count_graphs(const TraceRank& rank, const CountedWindow& window) {
  struct Run {
    std::uint32_t launch;
    GraphKey graph;
    std::uint64_t node;
    auto operator<=>(const Run&) const = default;
  };
  std::vector<Run> runs;
  for (const DeviceRecord& d : rank.device_records) {
    if (d.graph_node == kNone || d.launch == kNone || !window.has(rank.host_records[d.launch].start_ns)) continue;
    const TraceStream& stream = rank.streams[d.stream];
    const GraphNode& node = rank.graph_nodes[d.graph_node];
    runs.push_back({d.launch, {stream.device, stream.context, node.graph}, node.node});
  }
  std::ranges::sort(runs);
  runs.erase(std::ranges::unique(runs).begin(), runs.end());  // the body of a loop runs several times
  std::map<GraphKey, GraphLaunches> out;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Run& run = runs[i];
    GraphLaunches& of = out[run.graph];
    const bool same = i > 0 && runs[i - 1].launch == run.launch && runs[i - 1].graph == run.graph;
    if (!same) of.launches.push_back({rank.host_records[run.launch].start_ns, run.node, 0});
    ++of.launches.back().nodes;
    of.join(run.node, of.launches.back().node);
  }
  return out;
}

}  // namespace distsim::traces
