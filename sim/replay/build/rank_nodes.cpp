// The nodes of one rank: host threads, device streams, and what waits for what.
#include <algorithm>

#include "base/text/printable.hpp"
#include "sim/replay/build/device_causes.hpp"
#include "sim/replay/build/host_points.hpp"
#include "sim/replay/build/host_waits.hpp"
#include "sim/replay/build/rank_nodes.hpp"
#include "traces/trace_steps.hpp"

namespace distsim::replay {
namespace {

/// Nodes of one rank.
class RankNodes {
 public:
  RankNodes(ReplayGraph& graph, std::uint32_t rank)
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

  bool too_many_at_once() const {
    return std::any_of(causes_.begin(), causes_.end(), [](const DeviceCause& c) { return c.lane == kMostLanes; });
  }

  void run() {
    for (std::uint32_t t = 0; t < rank_.threads.size(); ++t) thread(t);
    for (const auto& [node, handoff] : resumed_) graph_.wait(node, left_[handoff]);
    for (std::uint32_t s = 0; s < order_.streams(); ++s) stream(s);
    for (std::uint32_t r = 0; r < causes_.size(); ++r) dependencies(r);
    for (const auto& [node, record] : host_waits_) graph_.wait(node, out().device_nodes[record]);
    for (const RoomWait& w : room_waits_) {
      const std::uint32_t delay = add(ReplayNode::kNoStream, ReplayRole::delay, w.delay_ns, w.from_ns);
      graph_.wait(delay, out().device_nodes[w.record]);
      graph_.wait(w.node, delay);
    }
    first_of_steps();
    out().streams = std::max(1u, first_lane_);
  }

 private:
  ReplayRank& out() { return graph_.ranks[index_]; }

  std::uint32_t add(std::uint32_t stream, ReplayRole role, std::int64_t cost, std::int64_t at,
                    std::uint32_t record = traces::kNone) {
    return graph_.add({index_, stream, cost, at, record, traces::kNone, role});
  }

  /// Of a call for a place in the queue of launches, through a delay that no stream has.
  struct RoomWait {
    std::uint32_t node = 0, record = 0;
    std::int64_t delay_ns = 0, from_ns = 0;
  };

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
    for (const std::uint32_t r : wait.records) {
      if (wait.reason == HostWait::For::room)
        room_waits_.push_back({node, r, wait.delay_ns, rank_.device_records[r].end_ns()});
      else
        host_waits_.emplace_back(node, r);
    }
    graph_.counts.host_waits += wait.records.empty() ? 0 : 1;
    graph_.counts.room_waits += wait.reason == HostWait::For::room ? 1 : 0;
    graph_.counts.unseen_room_waits += wait.reason == HostWait::For::unseen_room ? 1 : 0;
    now = std::max(now, h.end_ns());
  }

  // --- device ---

  /// The lanes of a stream are neighbours; its first one is found by counting those of the streams before it.
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
      const std::uint32_t step = traces::step_at(rank_.steps, rank_.host_records[d.launch].start_ns);
      if (step == traces::kNone) continue;
      std::uint32_t& first = out().steps[step].first_device;
      if (first == traces::kNone || d.start_ns < graph_.nodes[first].measured_ns) first = out().device_nodes[r];
    }
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
      host_waits_;  ///< (node, handoff), (node, device record)
  std::vector<RoomWait> room_waits_;
  std::uint32_t first_lane_ = 0;  ///< of the stream at hand
};

}  // namespace

Result<void> add_rank(ReplayGraph& graph, std::uint32_t rank) {
  RankNodes nodes(graph, rank);
  if (nodes.too_many_at_once()) {
    return Error{
        "found more than " + std::to_string(kMostLanes) + " kernels at once on a stream, expected a trace of a device",
        printable(graph.job->ranks[rank].path, 300), ""};
  }
  nodes.run();
  return {};
}

}  // namespace distsim::replay
