#include "sim/profile/host_overheads.hpp"

#include <algorithm>

namespace distsim::profile {
namespace {

bool is_launch(const traces::HostRecord& r) {
  return r.kind == traces::HostKind::runtime &&
         (r.call == traces::RuntimeCall::launch_kernel || r.call == traces::RuntimeCall::launch_graph ||
          r.call == traces::RuntimeCall::memcpy || r.call == traces::RuntimeCall::memset);
}

OverheadSummary summary(std::vector<std::int64_t>& v) {
  OverheadSummary s;
  s.count = v.size();
  if (v.empty()) return s;
  std::ranges::sort(v);
  for (const std::int64_t x : v) s.total += x;
  s.median = v[v.size() / 2];
  s.p90 = v[std::min(v.size() - 1, v.size() * 9 / 10)];
  return s;
}

/// Collects over one thread after the other.
class Collector {
 public:
  Collector(const traces::TraceRank& rank, std::int64_t begin, std::int64_t end)
      : rank_(rank), begin_(begin), end_(end) {}

  HostOverheads collect() {
    for (const traces::TraceThread& t : rank_.threads) thread(t);
    return {summary(t1_), summary(t2_), summary(t3_), summary(t4_), summary(t5_)};
  }

 private:
  void thread(const traces::TraceThread& t) {
    std::int64_t last_end = -1;
    for (std::uint32_t i = t.begin; i < t.end; ++i) {
      const traces::HostRecord& r = rank_.host_records[i];
      if (r.kind != traces::HostKind::op || inside_op(r) || r.start_ns < begin_ || r.end_ns() > end_) continue;
      if (last_end >= 0 && r.start_ns >= last_end) t1_.push_back(r.start_ns - last_end);
      last_end = r.end_ns();
      op(i, t.end);
    }
  }

  /// True below another op. Annotations may lie between the two.
  bool inside_op(const traces::HostRecord& r) const {
    for (std::uint32_t p = r.parent; p != traces::kNone; p = rank_.host_records[p].parent) {
      if (rank_.host_records[p].kind == traces::HostKind::op) return true;
    }
    return false;
  }

  void op(std::uint32_t i, std::uint32_t thread_end) {
    const traces::HostRecord& op = rank_.host_records[i];
    std::int64_t last = -1;
    for (std::uint32_t k = i + 1; k < thread_end && rank_.host_records[k].start_ns < op.end_ns(); ++k) {
      const traces::HostRecord& call = rank_.host_records[k];
      if (!is_launch(call) || call.end_ns() > op.end_ns() + 1000) continue;
      if (last < 0)
        t2_.push_back(call.start_ns - op.start_ns);
      else if (call.start_ns >= last)
        t5_.push_back(call.start_ns - last);
      t4_.push_back(call.duration_ns);
      last = std::max(last, call.end_ns());
    }
    if (last >= 0) t3_.push_back(std::max<std::int64_t>(0, op.end_ns() - last));
  }

  const traces::TraceRank& rank_;
  const std::int64_t begin_, end_;
  std::vector<std::int64_t> t1_, t2_, t3_, t4_, t5_;
};

}  // namespace

HostOverheads host_overheads(const traces::TraceRank& rank, std::int64_t begin, std::int64_t end) {
  return Collector(rank, begin, end).collect();
}

}  // namespace distsim::profile
