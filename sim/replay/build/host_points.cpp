#include "sim/replay/build/host_points.hpp"

#include <algorithm>

namespace distsim::replay {
namespace {

struct Burst {
  std::int64_t begin = 0, end = 0;
};
struct End {
  std::int64_t ns = 0;
  std::uint32_t thread = 0;
};

bool is_work(const traces::HostRecord& r) {
  return r.kind == traces::HostKind::op || r.kind == traces::HostKind::runtime;
}

/// Work of each thread, joined where less than a gap lies between.
std::vector<std::vector<Burst>> bursts_of(const traces::TraceRank& rank) {
  std::vector<std::vector<Burst>> out(rank.threads.size());
  for (const traces::HostRecord& r : rank.host_records) {
    if (!is_work(r)) continue;
    auto& bursts = out[r.thread];
    if (!bursts.empty() && r.start_ns < bursts.back().end + kIdleHostNs)
      bursts.back().end = std::max(bursts.back().end, r.end_ns());
    else
      bursts.push_back({r.start_ns, r.end_ns()});
  }
  return out;
}

/// Ends of all work of all threads, in order of time.
std::vector<End> ends_of(const traces::TraceRank& rank) {
  std::vector<End> out;
  for (const traces::HostRecord& r : rank.host_records) {
    if (is_work(r)) out.push_back({r.end_ns(), r.thread});
  }
  std::stable_sort(out.begin(), out.end(), [](const End& a, const End& b) { return a.ns < b.ns; });
  return out;
}

class Points {
 public:
  explicit Points(const traces::TraceRank& rank) : rank_(rank), bursts_(bursts_of(rank)) {
    out_.threads.resize(rank.threads.size());
  }

  HostPoints run() && {
    calls();
    steps();
    handoffs();
    for (auto& points : out_.threads) {
      std::stable_sort(points.begin(), points.end(), [](const HostPoint& a, const HostPoint& b) {
        return a.ns != b.ns ? a.ns < b.ns : a.kind < b.kind;
      });
    }
    return std::move(out_);
  }

 private:
  using Kind = HostPoint::Kind;

  void add(std::uint32_t thread, std::int64_t ns, Kind kind, std::uint32_t ref) {
    out_.threads[thread].push_back({ns, kind, ref});
  }

  /// Outermost runtime calls; those that matter to no stream are host work like any other, and calls too short to hold
  /// anything stay in.
  void calls() {
    std::vector<std::int64_t> busy_until(rank_.threads.size(), std::numeric_limits<std::int64_t>::min());
    for (std::uint32_t h = 0; h < rank_.host_records.size(); ++h) {
      const traces::HostRecord& r = rank_.host_records[h];
      if (r.kind != traces::HostKind::runtime || r.call == traces::RuntimeCall::none ||
          r.call == traces::RuntimeCall::other)
        continue;
      if (r.start_ns < busy_until[r.thread]) continue;
      busy_until[r.thread] = r.end_ns();
      add(r.thread, r.start_ns, Kind::call, h);
    }
  }

  /// A step is marked on the thread that has a record of just its time; else on the one with the most work.
  std::vector<std::uint32_t> threads_of_steps() const {
    std::vector<std::size_t> work(rank_.threads.size(), 0);
    std::vector<std::uint32_t> threads(rank_.steps.size(), traces::kNone);
    for (const traces::HostRecord& r : rank_.host_records) {
      if (is_work(r)) ++work[r.thread];
      if (r.kind == traces::HostKind::runtime) continue;
      auto step = std::lower_bound(rank_.steps.begin(), rank_.steps.end(), r.start_ns,
                                   [](const traces::TraceStep& s, std::int64_t ns) { return s.start_ns < ns; });
      for (; step != rank_.steps.end() && step->start_ns == r.start_ns; ++step) {
        if (step->end_ns == r.end_ns()) threads[static_cast<std::size_t>(step - rank_.steps.begin())] = r.thread;
      }
    }
    if (work.empty()) return threads;
    const auto busiest = static_cast<std::uint32_t>(std::max_element(work.begin(), work.end()) - work.begin());
    std::replace(threads.begin(), threads.end(), traces::kNone, busiest);
    return threads;
  }

  void steps() {
    const std::vector<std::uint32_t> threads = threads_of_steps();
    for (std::uint32_t s = 0; s < rank_.steps.size(); ++s) {
      if (threads[s] == traces::kNone) continue;
      add(threads[s], rank_.steps[s].start_ns, Kind::step_begin, s);
      add(threads[s], rank_.steps[s].end_ns, Kind::step_end, s);
    }
  }

  void handoffs() {
    const std::vector<End> ends = ends_of(rank_);
    for (std::uint32_t t = 0; t < bursts_.size(); ++t) {
      std::int64_t idle = std::numeric_limits<std::int64_t>::min();
      for (const Burst& b : bursts_[t]) {
        take_over(ends, t, idle, b.begin);
        idle = b.end;
      }
    }
  }

  /// The last work of another thread that ended within (idle, resumed].
  void take_over(const std::vector<End>& ends, std::uint32_t thread, std::int64_t idle, std::int64_t resumed) {
    auto it =
        std::upper_bound(ends.begin(), ends.end(), resumed, [](std::int64_t ns, const End& e) { return ns < e.ns; });
    while (it != ends.begin()) {
      const End& e = *--it;
      if (e.ns <= idle) return;
      if (e.thread == thread) continue;
      const auto index = static_cast<std::uint32_t>(out_.handoffs.size());
      out_.handoffs.push_back({e.thread, thread, e.ns, idle, resumed});
      add(e.thread, e.ns, Kind::leave, index);
      add(thread, resumed, Kind::resume, index);
      return;
    }
  }

  const traces::TraceRank& rank_;
  const std::vector<std::vector<Burst>> bursts_;
  HostPoints out_;
};

}  // namespace

HostPoints host_points(const traces::TraceRank& rank) { return Points(rank).run(); }

}  // namespace distsim::replay
