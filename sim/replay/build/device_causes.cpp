#include "sim/replay/build/device_causes.hpp"

#include <algorithm>
#include <map>

#include "sim/replay/build/null_stream.hpp"

namespace distsim::replay {
namespace {

constexpr std::int64_t kMicrosecond = 1'000;  // ns
// Chosen, not fitted: between the latencies of one device (a few us) and of the work that hides them (hundreds of us).
constexpr std::int64_t kQueued = 50 * kMicrosecond;    ///< launched that long before: the launch was not the cause
constexpr std::int64_t kClockSlip = 1 * kMicrosecond;  ///< by which times of one device may be off
constexpr std::int64_t kLeastGap = 1 * kMicrosecond,
                       kLeastDelay = 5 * kMicrosecond;  ///< typical values of a GPU, where a trace has no samples

std::int64_t median_or(std::vector<std::int64_t> values, std::int64_t otherwise) {
  if (values.empty()) return otherwise;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

class Inference {
 public:
  Inference(const traces::TraceRank& rank, const DeviceOrder& order, std::int64_t origin)
      : rank_(rank), order_(order), origin_(origin), causes_(rank.device_records.size()) {
    before_.assign(causes_.size(), traces::kNone);
  }

  std::vector<DeviceCause> run() && {
    for (std::uint32_t s = 0; s < order_.streams(); ++s) assign_lanes(s);
    typical();
    recorded_waits();
    if (!any_recorded_) waits_after_calls();
    waits_of_the_null_stream();
    for (std::uint32_t r = 0; r < causes_.size(); ++r) bind(r);
    return std::move(causes_);
  }

 private:
  const traces::DeviceRecord& record(std::uint32_t r) const { return rank_.device_records[r]; }

  /// Records of a stream that overlap (branches of a graph) go to lanes of their own.
  void assign_lanes(std::uint32_t stream) {
    std::vector<std::uint32_t> last;
    for (const std::uint32_t r : order_.of(stream)) {
      std::uint32_t lane = 0;
      while (lane < last.size() && record(last[lane]).end_ns() > record(r).start_ns) ++lane;
      causes_[r].lane = lane;
      if (lane == kMostLanes) return;
      if (lane == last.size()) last.push_back(traces::kNone);
      before_[r] = last[lane];
      last[lane] = r;
    }
  }

  std::int64_t stream_slack(std::uint32_t r) const {
    return before_[r] == traces::kNone ? record(r).start_ns - origin_
                                       : record(r).start_ns - record(before_[r]).end_ns();
  }
  bool has_launch(std::uint32_t r) const { return record(r).launch != traces::kNone; }
  std::int64_t launch_slack(std::uint32_t r) const { return record(r).start_ns - order_.launched_ns(r); }

  void typical() {
    std::vector<std::int64_t> gaps, delays;
    for (std::uint32_t r = 0; r < causes_.size(); ++r) {
      if (!has_launch(r)) continue;
      if (before_[r] != traces::kNone && launch_slack(r) > kQueued && stream_slack(r) < kQueued / 2)
        gaps.push_back(stream_slack(r));
      if (stream_slack(r) > kQueued / 2 && launch_slack(r) < kQueued) delays.push_back(launch_slack(r));
    }
    gap_ = median_or(std::move(gaps), kLeastGap);
    delay_ = median_or(std::move(delays), kLeastDelay);
  }

  void bind(std::uint32_t r) {
    DeviceCause& c = causes_[r];
    const std::int64_t s1 = stream_slack(r), s2 = has_launch(r) ? launch_slack(r) : 0;
    c.gap_ns = std::min(s1, gap_);
    c.launch_delay_ns = std::min(s2, delay_);
    const bool by_stream = before_[r] != traces::kNone && s1 <= kNearNs, by_launch = has_launch(r) && s2 <= 3 * delay_;
    if (by_stream) c.gap_ns = s1;
    if (by_launch) c.launch_delay_ns = s2;
    for (auto& a : c.after) a.delay_ns = std::min(slack_after(r, a.record), gap_);
    if (by_stream || by_launch || bind_to_other_stream(r, std::min(s1, s2))) return;
    if (!has_launch(r)) {
      c.gap_ns = s1;  // nothing else is known of it
      return;
    }
    c.explained = false;
    if (before_[r] != traces::kNone && s1 < s2)
      c.gap_ns = s1;
    else
      c.launch_delay_ns = s2;
  }

  std::int64_t slack_after(std::uint32_t r, std::uint32_t other) const {
    return std::max<std::int64_t>(0, record(r).start_ns - record(other).end_ns());
  }

  /// The kernel of another stream that ended last: any that ended just before, or else one that is known to be waited
  /// for.
  bool bind_to_other_stream(std::uint32_t r, std::int64_t least) {
    std::uint32_t found = traces::kNone;
    const auto consider = [&](std::uint32_t other, std::int64_t most) {
      if (other == traces::kNone || slack_after(r, other) > most) return;
      if (!has_launch(r) && record(other).start_ns >= record(r).start_ns) return;
      if (found == traces::kNone || record(other).end_ns() > record(found).end_ns()) found = other;
    };
    for (std::uint32_t s = 0; s < order_.streams(); ++s) {
      if (s != record(r).stream)
        consider(has_launch(r) ? order_.last_ended_by(s, order_.launched_ns(r), record(r).start_ns + kClockSlip)
                               : order_.last_ended_by(s, record(r).start_ns, record(r).start_ns),
                 kNearNs);
    }
    for (const auto& a : causes_[r].after) consider(a.record, least);
    if (found == traces::kNone) return false;
    add_dependency(r, found);
    for (auto& a : causes_[r].after) {
      if (a.record == found) a.delay_ns = slack_after(r, found);
    }
    return true;
  }

  void add_dependency(std::uint32_t r, std::uint32_t on) {
    for (const auto& a : causes_[r].after) {
      if (a.record == on) return;
    }
    causes_[r].after.push_back({on, 0});
  }

  /// What the trace itself says of waits between streams.
  void recorded_waits() {
    for (const traces::SyncRecord& s : rank_.syncs) {
      if (s.kind != traces::SyncKind::stream_waits_event || s.stream == traces::kNone ||
          s.wait_on_stream == traces::kNone || s.call == traces::kNone)
        continue;
      any_recorded_ = true;
      if (s.stream == s.wait_on_stream) continue;
      const std::int64_t recorded = s.record_call == traces::kNone ? rank_.host_records[s.call].start_ns
                                                                   : rank_.host_records[s.record_call].start_ns;
      const std::uint32_t source = order_.last_launched_before(s.wait_on_stream, recorded + 1);
      const std::uint32_t waiter = first_launched_after(s.stream, rank_.host_records[s.call].start_ns);
      if (source != traces::kNone && waiter != traces::kNone &&
          record(source).end_ns() <= record(waiter).start_ns + kClockSlip)
        add_dependency(waiter, source);
    }
  }

  std::uint32_t first_launched_after(std::uint32_t stream, std::int64_t ns) const {
    const auto records = order_.of(stream);
    const auto it = std::partition_point(records.begin(), records.end(),
                                         [&](std::uint32_t r) { return order_.launched_ns(r) < ns; });
    return it == records.end() ? traces::kNone : *it;
  }

  /// Without such records: cudaStreamWaitEvent says only that the next launch of its thread waits for something.
  void waits_after_calls() {
    std::map<std::uint32_t, std::uint32_t> first_of_launch;  // launch call -> first record
    for (std::uint32_t r = 0; r < causes_.size(); ++r) {
      if (has_launch(r)) first_of_launch.emplace(record(r).launch, r);
    }
    std::uint32_t thread = traces::kNone;
    std::int64_t waited_at = -1;
    for (std::uint32_t h = 0; h < rank_.host_records.size(); ++h) {
      const traces::HostRecord& call = rank_.host_records[h];
      if (call.kind != traces::HostKind::runtime) continue;
      if (call.thread != thread) waited_at = -1;
      thread = call.thread;
      if (call.call == traces::RuntimeCall::stream_wait_event) waited_at = call.start_ns;
      const auto launched = waited_at >= 0 ? first_of_launch.find(h) : first_of_launch.end();
      if (launched == first_of_launch.end()) continue;
      wait_for_all_streams(launched->second, waited_at);
      waited_at = -1;
    }
  }

  void waits_of_the_null_stream() {
    for (const StreamWait& w : null_stream_waits(rank_, order_)) {
      if (record(w.on).end_ns() <= record(w.waiter).start_ns + kClockSlip) add_dependency(w.waiter, w.on);
    }
  }

  void wait_for_all_streams(std::uint32_t r, std::int64_t waited_at) {
    for (std::uint32_t s = 0; s < order_.streams(); ++s) {
      if (s == record(r).stream || rank_.streams[s].device != rank_.streams[record(r).stream].device) continue;
      const std::uint32_t source = order_.last_launched_before(s, waited_at);
      if (source != traces::kNone && record(source).end_ns() <= record(r).start_ns + kClockSlip)
        add_dependency(r, source);
    }
  }

  const traces::TraceRank& rank_;
  const DeviceOrder& order_;
  const std::int64_t origin_;
  std::vector<DeviceCause> causes_;
  std::vector<std::uint32_t> before_;  ///< by record: the one before it on its lane
  std::int64_t gap_ = 0, delay_ = 0;
  bool any_recorded_ = false;
};

}  // namespace

std::vector<DeviceCause> infer_device_causes(const traces::TraceRank& rank, const DeviceOrder& order,
                                             std::int64_t origin_ns) {
  return Inference(rank, order, origin_ns).run();
}

}  // namespace distsim::replay
