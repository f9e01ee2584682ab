// Launches whose GPU work is missing, in whole or, of CUDA graphs, in part.
#include <algorithm>

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

WorkCounts::LostNodes WorkCounts::lost_nodes() const {
  LostNodes out;
  const std::int64_t until = stream_ends.empty() ? INT64_MIN : last_with_all_work();
  for (const auto& [graph, of] : graphs) {
    for (const GraphLaunches::Launch& launch : of.launches) {
      const std::uint64_t lost = of.nodes.size() - launch.nodes;
      out.all += of.nodes.size();
      out.lost += lost;
      out.between += launch.at > first_joined && launch.at < until ? lost : 0;
    }
  }
  return out;
}

void GraphLaunches::add(const GraphLaunches& later) {
  nodes.insert(later.nodes.begin(), later.nodes.end());
  launches.insert(launches.end(), later.launches.begin(), later.launches.end());
}

std::map<std::uint64_t, GraphLaunches> count_graphs(const TraceRank& rank, const CountedWindow& window) {
  struct Run {
    std::uint32_t launch;
    GraphNode node;
    auto operator<=>(const Run&) const = default;
  };
  std::vector<Run> runs;
  for (const DeviceRecord& d : rank.device_records) {
    if (d.graph_node == kNone || d.launch == kNone || !window.has(rank.host_records[d.launch].start_ns)) continue;
    runs.push_back({d.launch, rank.graph_nodes[d.graph_node]});
  }
  std::ranges::sort(runs);
  runs.erase(std::ranges::unique(runs).begin(), runs.end());  // the body of a loop runs several times
  std::map<std::uint64_t, GraphLaunches> out;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Run& run = runs[i];
    GraphLaunches& of = out[run.node.graph];
    const bool same = i > 0 && runs[i - 1].launch == run.launch && runs[i - 1].node.graph == run.node.graph;
    if (!same) of.launches.push_back({rank.host_records[run.launch].start_ns, 0});
    ++of.launches.back().nodes;
    of.nodes.insert(run.node.node);
  }
  return out;
}

}  // namespace distsim::traces
