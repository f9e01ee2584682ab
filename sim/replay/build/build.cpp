#include <algorithm>
#include <limits>
#include <map>

#include "base/text/printable.hpp"
#include "sim/replay/build/device_causes.hpp"
#include "sim/replay/build/host_points.hpp"
#include "sim/replay/build/host_waits.hpp"
#include "sim/replay/build/replay_graph.hpp"

namespace distsim::replay {
namespace {

constexpr std::size_t kMostNodes = std::size_t{1} << 31;

/// Nodes of one rank.
class RankBuilder {
 public:
  RankBuilder(ReplayGraph& graph, std::uint32_t rank)
      : graph_(graph),
        rank_(graph.job->ranks[rank]),
        index_(rank),
        order_(rank_),
        waits_(rank_, order_),
        points_(host_points(rank_)),
        causes_(infer_device_causes(rank_, order_, graph.origin_ns)) {
    out().device_nodes.assign(rank_.device_records.size(), traces::kNone);
    out().gap_nodes.assign(rank_.device_records.size(), traces::kNone);
    out().steps.resize(rank_.steps.size());
    before_call_.assign(rank_.host_records.size(), traces::kNone);
    left_.assign(points_.handoffs.size(), traces::kNone);
    first_lane_ = static_cast<std::uint32_t>(rank_.threads.size());
  }

  /// More at once on one stream than any device runs: not a trace of one.
  bool too_many_at_once() const {
    return std::any_of(causes_.begin(), causes_.end(), [](const DeviceCause& c) { return c.lane == kMostLanes; });
  }

  void run() {
    for (std::uint32_t t = 0; t < rank_.threads.size(); ++t) thread(t);
    for (const auto& [node, handoff] : resumed_) graph_.wait(node, left_[handoff]);
    for (std::uint32_t s = 0; s < order_.streams(); ++s) stream(s);
    for (std::uint32_t r = 0; r < causes_.size(); ++r) dependencies(r);
    for (const auto& [node, record] : host_waits_) graph_.wait(node, out().device_nodes[record]);
    first_of_steps();
    out().streams = std::max(1u, first_lane_);
  }

 private:
  ReplayRank& out() { return graph_.ranks[index_]; }

  std::uint32_t add(std::uint32_t stream, ReplayRole role, std::int64_t cost, std::int64_t at,
                    std::uint32_t record = traces::kNone) {
    return graph_.add({index_, stream, cost, at, record, traces::kNone, role});
  }

  // --- host ---

  void thread(std::uint32_t t) {
    std::int64_t now = graph_.origin_ns;
    for (const HostPoint& p : points_.threads[t]) {
      switch (p.kind) {
        case HostPoint::Kind::leave:
          left_[p.ref] = work(t, now, p.ns, ReplayRole::host_tail);
          break;
        case HostPoint::Kind::resume:
          resume(t, now, p.ref);
          break;
        case HostPoint::Kind::step_begin:
        case HostPoint::Kind::step_end:
          mark(t, now, p);
          break;
        case HostPoint::Kind::call:
          call(t, now, p.ref);
          break;
      }
    }
  }

  /// Host work up to `until`; `now` moves on.
  std::uint32_t work(std::uint32_t t, std::int64_t& now, std::int64_t until, ReplayRole role,
                     std::uint32_t record = traces::kNone) {
    const std::uint32_t node = add(t, role, std::max<std::int64_t>(0, until - now), now, record);
    now = std::max(now, until);
    return node;
  }

  void resume(std::uint32_t t, std::int64_t& now, std::uint32_t handoff) {
    const Handoff& h = points_.handoffs[handoff];
    if (now < h.idle_ns) work(t, now, h.idle_ns, ReplayRole::host_tail);
    now = std::max(now, std::min(h.left_ns, h.resumed_ns));
    resumed_.emplace_back(work(t, now, h.resumed_ns, ReplayRole::host_resume), handoff);
    ++graph_.counts.handoffs;
  }

  void mark(std::uint32_t t, std::int64_t& now, const HostPoint& p) {
    work(t, now, p.ns, ReplayRole::host_tail);
    const std::uint32_t node = add(t, ReplayRole::mark, 0, now);
    (p.kind == HostPoint::Kind::step_begin ? out().steps[p.ref].begin_mark : out().steps[p.ref].end_mark) = node;
  }

  void call(std::uint32_t t, std::int64_t& now, std::uint32_t record) {
    const traces::HostRecord& h = rank_.host_records[record];
    before_call_[record] = work(t, now, h.start_ns, ReplayRole::host_work, record);
    const HostWait wait = waits_.of(record);
    const std::uint32_t node = add(t, ReplayRole::host_call, wait.own_ns, h.start_ns, record);
    for (const std::uint32_t r : wait.records) host_waits_.emplace_back(node, r);
    graph_.counts.host_waits += wait.records.empty() ? 0 : 1;
    now = std::max(now, h.end_ns());
  }

  // --- device ---

  /// Lanes of a stream stand together; a stream's first lane is found by counting those of the streams before it.
  void stream(std::uint32_t s) {
    std::uint32_t lanes = 0;
    for (const std::uint32_t r : order_.of(s)) {
      const traces::DeviceRecord& d = rank_.device_records[r];
      const std::uint32_t lane = first_lane_ + causes_[r].lane;
      lanes = std::max(lanes, causes_[r].lane + 1);
      out().gap_nodes[r] = add(lane, ReplayRole::gap, causes_[r].gap_ns, d.start_ns - causes_[r].gap_ns, r);
      out().device_nodes[r] = add(lane, ReplayRole::device, d.duration_ns, d.start_ns, r);
      if (d.collective != traces::kNone) graph_.nodes.back().match = rank_.collectives[d.collective].match;
      ++graph_.counts.kernels;
      graph_.counts.launched += d.launch == traces::kNone ? 0 : 1;
      graph_.counts.unexplained += causes_[r].explained ? 0 : 1;
    }
    first_lane_ += lanes;
  }

  /// The kernel waits for `node`, and then for `delay`.
  void wait_with_delay(std::uint32_t record, std::uint32_t node, std::int64_t delay) {
    std::uint32_t before = node;
    if (delay > 0) {
      before =
          add(ReplayNode::kNoStream, ReplayRole::delay, delay, rank_.device_records[record].start_ns - delay, record);
      graph_.wait(before, node);
    }
    graph_.wait(out().device_nodes[record], before);
  }

  void dependencies(std::uint32_t r) {
    const std::uint32_t launch = rank_.device_records[r].launch;
    if (launch != traces::kNone && before_call_[launch] != traces::kNone)
      wait_with_delay(r, before_call_[launch], causes_[r].launch_delay_ns);
    for (const DeviceCause::After& a : causes_[r].after) wait_with_delay(r, out().device_nodes[a.record], a.delay_ns);
    graph_.counts.dependencies += causes_[r].after.size();
  }

  void first_of_steps() {
    for (std::uint32_t r = 0; r < rank_.device_records.size(); ++r) {
      const traces::DeviceRecord& d = rank_.device_records[r];
      if (d.launch == traces::kNone) continue;
      const std::uint32_t step = step_at(rank_.host_records[d.launch].start_ns);
      if (step == traces::kNone) continue;
      std::uint32_t& first = out().steps[step].first_device;
      if (first == traces::kNone || d.start_ns < graph_.nodes[first].measured_ns) first = out().device_nodes[r];
    }
  }

  /// The last step that starts by `ns`, if it has not ended.
  std::uint32_t step_at(std::int64_t ns) const {
    const auto it = std::upper_bound(rank_.steps.begin(), rank_.steps.end(), ns,
                                     [](std::int64_t t, const traces::TraceStep& s) { return t < s.start_ns; });
    if (it == rank_.steps.begin() || ns >= std::prev(it)->end_ns) return traces::kNone;
    return static_cast<std::uint32_t>(it - rank_.steps.begin()) - 1;
  }

  ReplayGraph& graph_;
  const traces::TraceRank& rank_;
  const std::uint32_t index_;
  const DeviceOrder order_;
  const HostWaits waits_;
  const HostPoints points_;
  const std::vector<DeviceCause> causes_;
  std::vector<std::uint32_t> before_call_, left_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> resumed_,
      host_waits_;                ///< (node, handoff), (node, device record)
  std::uint32_t first_lane_ = 0;  ///< of the stream at hand
};

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
                 "give the Kineto trace of the same run beside it"};
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
  for (std::uint32_t r = 0; r < job.ranks.size(); ++r) {
    RankBuilder builder(graph, r);
    if (builder.too_many_at_once()) {
      return Error{"found more than " + std::to_string(kMostLanes) +
                       " kernels at once on a stream, expected a trace of a device",
                   printable(job.ranks[r].path, 300), ""};
    }
    builder.run();
  }
  Joins(graph).run();
  return graph;
}

}  // namespace distsim::replay
