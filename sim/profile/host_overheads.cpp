#include "sim/profile/host_overheads.hpp"

#include <algorithm>
#include <cmath>

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
  s.median = (v[(v.size() - 1) / 2] + v[v.size() / 2]) / 2;
  s.p90 = v[std::min(v.size() - 1, v.size() * 9 / 10)];
  return s;
}

/// Collects over one thread after the other.
class Collector {
 public:
  Collector(const traces::TraceRank& rank, std::int64_t begin, std::int64_t end, double per_record)
      : rank_(rank), begin_(begin), end_(end), per_record_(per_record) {}

  HostOverheads collect() {
    for (const traces::TraceThread& t : rank_.threads) thread(t);
    return {summary(t1_), summary(t2_), summary(t3_), summary(t4_), summary(t5_)};
  }

 private:
  /// [from, to] of the thread from record `first` on, without what recording the records cost that start in (from, to].
  std::int64_t time_between(std::int64_t from, std::int64_t to, std::uint32_t first) const {
    if (per_record_ <= 0) return to - from;
    std::uint32_t records = 0;
    for (std::uint32_t k = first; k < thread_end_ && rank_.host_records[k].start_ns <= to; ++k)
      records += rank_.host_records[k].start_ns > from ? 1 : 0;
    return std::max<std::int64_t>(0, to - from - std::llround(per_record_ * records));
  }

  void thread(const traces::TraceThread& t) {
    std::int64_t last_end = -1;
    std::uint32_t last_op = t.begin;
    thread_end_ = t.end;
    for (std::uint32_t i = t.begin; i < t.end; ++i) {
      const traces::HostRecord& r = rank_.host_records[i];
      if (r.kind != traces::HostKind::op || inside_op(r) || r.start_ns < begin_ || r.end_ns() > end_) continue;
      if (last_end >= 0 && r.start_ns >= last_end) t1_.push_back(time_between(last_end, r.start_ns, last_op));
      last_end = r.end_ns();
      last_op = i;
      op(i);
    }
  }

  /// True below another op. Annotations may lie between the two.
  bool inside_op(const traces::HostRecord& r) const {
    for (std::uint32_t p = r.parent; p != traces::kNone; p = rank_.host_records[p].parent) {
      if (rank_.host_records[p].kind == traces::HostKind::op) return true;
    }
    return false;
  }

  void op(std::uint32_t i) {
    const traces::HostRecord& op = rank_.host_records[i];
    std::int64_t last = -1;
    std::uint32_t after = i + 1;  // first record that may lie behind the last launch
    for (std::uint32_t k = i + 1; k < thread_end_ && rank_.host_records[k].start_ns < op.end_ns(); ++k) {
      const traces::HostRecord& call = rank_.host_records[k];
      if (!is_launch(call) || call.end_ns() > op.end_ns() + 1000) continue;
      if (last < 0)
        t2_.push_back(time_between(op.start_ns, call.start_ns, i + 1));
      else if (call.start_ns >= last)
        t5_.push_back(time_between(last, call.start_ns, after));
      t4_.push_back(std::max<std::int64_t>(0, call.duration_ns - std::llround(per_record_)));
      last = std::max(last, call.end_ns());
      after = k + 1;
    }
    if (last >= 0) t3_.push_back(std::max<std::int64_t>(0, time_between(last, op.end_ns(), after)));
  }

  const traces::TraceRank& rank_;
  const std::int64_t begin_, end_;
  const double per_record_;
  std::uint32_t thread_end_ = 0;
  std::vector<std::int64_t> t1_, t2_, t3_, t4_, t5_;
};

}  // namespace

HostOverheads host_overheads(const traces::TraceRank& rank, std::int64_t begin, std::int64_t end, double per_record) {
  return Collector(rank, begin, end, per_record).collect();
}

}  // namespace distsim::profile
