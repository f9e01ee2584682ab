#include "sim/replay/play.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "sim/engine/events/irregular_evaluator.hpp"
#include "traces/verdict.hpp"

namespace distsim::replay {
namespace {

constexpr std::int64_t kLongestNs =
    1'000'000'000'000'000;  ///< 11.6 days: no sum of many overflows before the engine sees it

StreamId stream_of(const ReplayNode& node) {
  return node.stream == ReplayNode::kNoStream ? StreamId() : StreamId(node.stream);
}

/// Waits by node, in the order in which they were put in.
struct WaitLists {
  std::vector<std::uint32_t> offsets;
  std::vector<StepId> waits;
  explicit WaitLists(const ReplayGraph& graph) : offsets(graph.nodes.size() + 1, 0), waits(graph.waits.size()) {
    for (const auto& [node, on] : graph.waits) ++offsets[node + 1];
    for (std::size_t n = 1; n < offsets.size(); ++n) offsets[n] += offsets[n - 1];
    std::vector<std::uint32_t> next(offsets.begin(), offsets.end() - 1);
    for (const auto& [node, on] : graph.waits) waits[next[node]++] = StepId(on);
  }
  std::span<const StepId> of(std::uint32_t node) const {
    return {waits.data() + offsets[node], waits.data() + offsets[node + 1]};
  }
};

engine::IrregularProgram program_of(const ReplayGraph& graph, const ReplayCosts& costs) {
  engine::IrregularProgram program;
  program.ranks = static_cast<std::uint32_t>(std::max<std::size_t>(1, graph.ranks.size()));
  for (const ReplayRank& rank : graph.ranks) program.streams = std::max(program.streams, rank.streams);
  std::vector<std::uint32_t> meeting_of(graph.job->matches.size(), engine::RankStep::kAlone);
  const WaitLists waits(graph);
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
    const ReplayNode& node = graph.nodes[n];
    std::uint32_t meeting = engine::RankStep::kAlone;
    if (node.match != traces::kNone) {
      if (meeting_of[node.match] == engine::RankStep::kAlone) {
        meeting_of[node.match] = static_cast<std::uint32_t>(program.meeting_sizes.size());
        program.meeting_sizes.push_back(0);
      }
      meeting = meeting_of[node.match];
      ++program.meeting_sizes[meeting];
    }
    program.add({RankId(node.rank), stream_of(node), costs[n], meeting}, waits.of(n));
  }
  return program;
}

/// "deadlock: a waits for b waits for c waits for ..." up to c.
std::string beginning_of(const std::string& cycle) {
  constexpr std::string_view kWaits = " waits for ";
  std::size_t end = cycle.find(kWaits);
  if (end != std::string::npos) end = cycle.find(kWaits, end + 1);
  return end == std::string::npos ? cycle : cycle.substr(0, end) + ", and so on";
}

/// GPUs of one report are named behind its path.
bool are_of_one_file(const std::vector<traces::TraceRank>& ranks) {
  std::set<std::string> files;
  for (const traces::TraceRank& rank : ranks) files.insert(rank.path.substr(0, rank.path.rfind(":GPU ")));
  return files.size() == 1;
}

/// What may be wrong with the traces of work that waits for itself.
std::string hint_of(const ReplayGraph& graph) {
  for (const traces::TraceRank& rank : graph.job->ranks) {
    if (const std::string before = traces::kernels_before_launches(*graph.job, rank); !before.empty())
      return "are host and GPU on one clock? " +
             (graph.ranks.size() > 1 ? "Of rank " + std::to_string(rank.rank) + ", " : "") + before;
  }
  if (graph.ranks.size() < 2) return "are host and GPU on one clock?";
  return are_of_one_file(graph.job->ranks)
             ? "are collectives or their ranges missing on some ranks, so that others are taken for their partners?"
             : "do all files belong to one run?";
}

}  // namespace

ReplayCosts measured_costs(const ReplayGraph& graph) {
  ReplayCosts costs;
  costs.reserve(graph.nodes.size());
  for (const ReplayNode& node : graph.nodes) costs.push_back(std::min(node.cost_ns, kLongestNs) * kPsPerNs);
  return costs;
}

Result<ReplayTimes> play(const ReplayGraph& graph, const ReplayCosts& costs) {
  CHECK(costs.size() == graph.nodes.size());
  auto timeline = engine::evaluate_irregular(program_of(graph, costs));
  if (!timeline)
    return Error{"replay: found work that waits for itself, expected causes before effects: " +
                     beginning_of(timeline.error().what),
                 timeline.error().where, hint_of(graph)};
  ReplayTimes times;
  for (auto* list : {&times.ready, &times.start, &times.end}) list->reserve(graph.nodes.size());
  for (const engine::StepTimes& t : timeline->steps) {
    times.ready.push_back(t.ready);
    times.start.push_back(t.start);
    times.end.push_back(t.end);
  }
  times.makespan = timeline->makespan.ps();
  times.digest = timeline->digest;
  return times;
}

}  // namespace distsim::replay
