#include <algorithm>
#include <limits>

#include "base/text/printable.hpp"
#include "sim/replay/build/rank_nodes.hpp"

namespace distsim::replay {
namespace {

constexpr std::size_t kMostNodes = std::size_t{1} << 31;

/// Medians over iterations make a timeline only where they fit into one.
Result<void> check_medians(const traces::TraceRank& rank, const std::string& where) {
  std::vector<std::int64_t> iterations = rank.measured_iterations_ns;
  if (!rank.times_are_medians || iterations.empty() || rank.device_records.empty()) return {};
  std::nth_element(iterations.begin(), iterations.begin() + static_cast<std::ptrdiff_t>(iterations.size() / 2),
                   iterations.end());
  const std::int64_t iteration = iterations[iterations.size() / 2];
  std::int64_t last = 0;
  for (const traces::DeviceRecord& d : rank.device_records) last = std::max(last, d.end_ns());
  const std::int64_t begin = rank.steps.empty() ? 0 : rank.steps.front().start_ns;
  if (last - begin <= 2 * iteration) return {};
  return Error{"found events up to " + std::to_string((last - begin) / 1000) +
                   " us after the start of an iteration of " + std::to_string(iteration / 1000) +
                   " us, expected the timeline of one iteration (these are medians of different ones)",
               where, "see `distsim hugectr timeline`"};
}

Result<void> check_rank(const traces::TraceRank& rank) {
  const std::string where = printable(rank.path, 300);
  if (!rank.has_times) {
    return Error{"found a trace without times (" + rank.format + "), expected one with durations", where,
                 "add the Kineto trace of the same run"};
  }
  for (const traces::DeviceRecord& d : rank.device_records) {
    if (d.duration_ns < 0)
      return Error{"found a kernel of " + std::to_string(d.duration_ns) + " ns, expected no negative duration", where,
                   ""};
  }
  for (const traces::HostRecord& h : rank.host_records) {
    if (h.duration_ns < 0)
      return Error{"found a host record of " + std::to_string(h.duration_ns) + " ns, expected no negative duration",
                   where, ""};
  }
  TRY(check_medians(rank, where));
  if (rank.device_records.empty() && rank.steps.empty()) {
    return Error{"found nothing on any device and no step, expected something to replay", where, ""};
  }
  return {};
}

std::int64_t first_moment(const traces::TraceJob& job) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  for (const traces::TraceRank& rank : job.ranks) {
    for (const traces::DeviceRecord& d : rank.device_records) first = std::min(first, d.start_ns);
    for (const traces::HostRecord& h : rank.host_records) first = std::min(first, h.start_ns);
    for (const traces::TraceStep& s : rank.steps) first = std::min(first, s.start_ns);
  }
  return first;
}

/// Where the members of a collective met, its cost is what was left after the last had come: all end when the data has
/// arrived. Members that were not recorded on a device, or whose clocks contradict, do not join.
class Joins {
 public:
  explicit Joins(ReplayGraph& graph) : graph_(graph), members_(graph.job->matches.size()) {}

  void run() {
    for (std::uint32_t n = 0; n < graph_.nodes.size(); ++n) {
      if (graph_.nodes[n].match != traces::kNone) members_[graph_.nodes[n].match].push_back(n);
    }
    for (const auto& members : members_) join(members);
  }

 private:
  void join(const std::vector<std::uint32_t>& members) {
    std::int64_t latest = std::numeric_limits<std::int64_t>::min(), shortest = std::numeric_limits<std::int64_t>::max();
    for (const std::uint32_t m : members) {
      latest = std::max(latest, graph_.nodes[m].measured_ns);
      shortest = std::min(shortest, graph_.nodes[m].cost_ns);
    }
    for (const std::uint32_t m : members) {
      ReplayNode& node = graph_.nodes[m];
      if (members.size() < 2) {
        node.match = traces::kNone;
        continue;
      }
      const std::int64_t transfer = node.measured_ns + node.cost_ns - latest;
      node.cost_ns = transfer > 0 ? transfer : shortest;
      ++graph_.counts.joined;
    }
  }

  ReplayGraph& graph_;
  std::vector<std::vector<std::uint32_t>> members_;
};

}  // namespace

Result<ReplayGraph> build_replay(const traces::TraceJob& job) {
  std::size_t records = 0;
  for (const traces::TraceRank& rank : job.ranks) {
    TRY(check_rank(rank));
    records += rank.device_records.size() + rank.host_records.size();
  }
  if (records > kMostNodes / 8)
    return Error{"found " + std::to_string(records) + " records, expected at most " + std::to_string(kMostNodes / 8),
                 "", ""};
  ReplayGraph graph;
  graph.job = &job;
  graph.origin_ns = first_moment(job);
  graph.ranks.resize(job.ranks.size());
  for (std::uint32_t r = 0; r < job.ranks.size(); ++r) TRY(add_rank(graph, r));
  Joins(graph).run();
  return graph;
}

}  // namespace distsim::replay
