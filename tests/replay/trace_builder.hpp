// Small traces by hand. Times are microseconds.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "sim/replay/play.hpp"
#include "sim/replay/results/step_results.hpp"

namespace distsim::replay {

/// One rank of a trace. Records are added in any order of threads, but in order of start on each.
class RankBuilder {
 public:
  RankBuilder(traces::TraceJob& job, std::uint32_t rank) : job_(job) {
    r_.rank = rank;
    r_.path = "rank" + std::to_string(rank) + ".json";
  }

  std::uint32_t thread() {
    r_.threads.push_back({1, r_.threads.size() + 1, "", 0, 0});
    return static_cast<std::uint32_t>(r_.threads.size() - 1);
  }
  std::uint32_t stream() {
    r_.streams.push_back({0, r_.streams.size() + 7, 0, 0, 0});
    return static_cast<std::uint32_t>(r_.streams.size() - 1);
  }
  std::uint32_t op(std::uint32_t thread, std::string_view name, double start, double duration) {
    return host(thread, name, start, duration, traces::HostKind::op, traces::RuntimeCall::none);
  }
  std::uint32_t call(std::uint32_t thread, traces::RuntimeCall what, double start, double duration) {
    return host(thread, traces::name_of(what), start, duration, traces::HostKind::runtime, what);
  }
  /// A kernel launched by a call of 5 us at `launched`.
  std::uint32_t launch(std::uint32_t thread, double launched, std::uint32_t stream, std::string_view name, double start,
                       double duration) {
    return kernel(stream, name, start, duration, call(thread, traces::RuntimeCall::launch_kernel, launched, 5));
  }
  std::uint32_t kernel(std::uint32_t stream, std::string_view name, double start, double duration,
                       std::uint32_t launch = traces::kNone) {
    traces::DeviceRecord d;
    d.start_ns = ns(start);
    d.duration_ns = ns(duration);
    d.name = job_.names.intern(name);
    d.stream = stream;
    d.launch = launch;
    r_.device_records.push_back(d);
    return static_cast<std::uint32_t>(r_.device_records.size() - 1);
  }
  /// Makes a kernel the rank's part of a collective over all ranks of the job.
  void collective(std::uint32_t kernel, graph::CollectiveKind kind, std::int64_t bytes) {
    traces::TraceCollective c;
    c.kind = kind;
    c.kind_known = true;
    c.bytes = bytes;
    c.device_record = kernel;
    r_.device_records[kernel].collective = static_cast<std::uint32_t>(r_.collectives.size());
    r_.device_records[kernel].communication = true;
    r_.collectives.push_back(c);
  }
  void step(double start, double end) {
    const auto number = static_cast<std::int64_t>(r_.steps.size());
    traces::TraceStep s;
    s.name = "ProfilerStep#" + std::to_string(number);
    s.number = number;
    s.start_ns = ns(start);
    s.end_ns = ns(end);
    r_.steps.push_back(s);
  }
  traces::TraceRank& rank() { return r_; }
  void finish() { job_.ranks.push_back(std::move(r_)); }

  static std::int64_t ns(double us) { return static_cast<std::int64_t>(us * 1000); }

 private:
  std::uint32_t host(std::uint32_t thread, std::string_view name, double start, double duration, traces::HostKind kind,
                     traces::RuntimeCall call) {
    traces::HostRecord h;
    h.start_ns = ns(start);
    h.duration_ns = ns(duration);
    h.name = job_.names.intern(name);
    h.thread = thread;
    h.kind = kind;
    h.call = call;
    r_.host_records.push_back(h);
    return static_cast<std::uint32_t>(r_.host_records.size() - 1);
  }

  traces::TraceJob& job_;
  traces::TraceRank r_;
};

/// The n-th collectives of all ranks are one.
inline void match_collectives_in_order(traces::TraceJob& job) {
  for (std::uint32_t c = 0; c < job.ranks.front().collectives.size(); ++c) {
    traces::CollectiveMatch match;
    for (std::uint32_t r = 0; r < job.ranks.size(); ++r) {
      match.members.push_back({r, c});
      job.ranks[r].collectives[c].match = static_cast<std::uint32_t>(job.matches.size());
    }
    job.matches.push_back(match);
  }
}

/// A trace, its graph, and plays of it.
struct Replay {
  explicit Replay(traces::TraceJob j) : job(std::move(j)) {
    auto built = build_replay(job);
    EXPECT_TRUE(built.ok()) << (built.ok() ? "" : built.error().text());
    graph = std::move(built).value();
    costs = measured_costs(graph);
    run();
  }
  void run() {
    auto played = play(graph, costs);
    EXPECT_TRUE(played.ok()) << (played.ok() ? "" : played.error().text());
    times = std::move(played).value();
  }
  std::uint32_t node(std::uint32_t rank, std::uint32_t kernel) const { return graph.ranks[rank].device_nodes[kernel]; }
  double start_us(std::uint32_t rank, std::uint32_t kernel) const {
    return static_cast<double>(times.start[node(rank, kernel)]) * 1e-6;
  }
  double end_us(std::uint32_t rank, std::uint32_t kernel) const {
    return static_cast<double>(times.end[node(rank, kernel)]) * 1e-6;
  }
  void set_us(std::uint32_t rank, std::uint32_t kernel, double us) {
    costs[node(rank, kernel)] = static_cast<std::int64_t>(us * 1e6);
  }
  double measured_us(std::uint32_t rank, std::uint32_t kernel) const {
    return static_cast<double>(job.ranks[rank].device_records[kernel].start_ns - graph.origin_ns) * 1e-3;
  }
  /// Every kernel starts and ends as in the trace.
  void expect_as_measured() const {
    for (std::uint32_t r = 0; r < job.ranks.size(); ++r) {
      for (std::uint32_t k = 0; k < job.ranks[r].device_records.size(); ++k) {
        EXPECT_DOUBLE_EQ(times.ready[node(r, k)] * 1e-6, measured_us(r, k)) << "rank " << r << " kernel " << k;
        EXPECT_DOUBLE_EQ(end_us(r, k),
                         measured_us(r, k) + static_cast<double>(job.ranks[r].device_records[k].duration_ns) * 1e-3)
            << "rank " << r << " kernel " << k;
      }
    }
  }

  traces::TraceJob job;
  ReplayGraph graph;
  ReplayCosts costs;
  ReplayTimes times;
};

}  // namespace distsim::replay
