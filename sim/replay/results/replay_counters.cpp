#include "sim/replay/results/replay_counters.hpp"

#include <algorithm>

#include "traces/timeline/running_sum.hpp"

namespace distsim::replay {
namespace {

using SampleSink = std::function<void(const traces::CounterSample&)>;

bool is_host_copy(const traces::DeviceRecord& d) {
  return d.kind == traces::DeviceRecordKind::memcpy &&
         (d.direction == traces::CopyDirection::host_to_device || d.direction == traces::CopyDirection::device_to_host);
}

/// Host nodes of a rank by thread, in order of time.
std::vector<std::vector<std::uint32_t>> host_nodes(const ReplayGraph& graph, std::uint32_t rank) {
  std::vector<std::vector<std::uint32_t>> out(graph.job->ranks[rank].threads.size());
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
    const ReplayNode& node = graph.nodes[n];
    if (node.rank == rank && node.stream < out.size()) out[node.stream].push_back(n);
  }
  return out;
}

/// When a moment of a thread comes in the play: as far into the node that it fell into.
std::int64_t played_at(const ReplayGraph& graph, const ReplayTimes& times, const std::vector<std::uint32_t>& thread,
                       std::int64_t ns) {
  const auto next = std::upper_bound(thread.begin(), thread.end(), ns,
                                     [&](std::int64_t t, std::uint32_t n) { return t < graph.nodes[n].measured_ns; });
  if (next == thread.begin()) return (ns - graph.origin_ns) * kPsPerNs;
  const std::uint32_t n = *std::prev(next);
  const ReplayNode& node = graph.nodes[n];
  const double into =
      node.cost_ns > 0 ? std::min(1.0, static_cast<double>(ns - node.measured_ns) / static_cast<double>(node.cost_ns))
                       : 1;
  return times.start[n] + static_cast<std::int64_t>(into * static_cast<double>(times.end[n] - times.start[n]));
}

}  // namespace

ReplayCounters::ReplayCounters(const ReplayGraph& graph, const ReplayTimes* times) : graph_(graph), times_(times) {
  const traces::TraceJob& job = *graph.job;
  for (const traces::CollectiveMatch& m : job.matches) {
    std::int64_t last = INT64_MIN;
    for (const traces::CollectiveMatch::Member& member : m.members) {
      const traces::TraceRank& rank = job.ranks[member.rank];
      const std::uint32_t d = rank.collectives[member.collective].device_record;
      if (d != traces::kNone) last = std::max(last, rank.device_records[d].start_ns);
    }
    last_arrival_.push_back(last);
  }
  for (std::uint32_t r = 0; r < job.ranks.size(); ++r) {
    for (const What what : {What::links, What::copies}) {
      const auto counts = [&](const traces::DeviceRecord& d) { return gigabytes(r, d, what) > 0; };
      if (std::ranges::any_of(job.ranks[r].device_records, counts)) add_track(r, what);
    }
    if (!job.ranks[r].memory.empty()) add_track(r, What::memory);
  }
}

void ReplayCounters::add_track(std::uint32_t rank, What what) {
  static constexpr const char* kNames[] = {"link use", "copies", "memory"};
  tracks_.push_back({rank, kNames[static_cast<std::size_t>(what)], what == What::memory ? "GB" : "GB/s"});
  what_.push_back(what);
}

/// What a record moves: over links per rank, times the factor that makes bus bandwidth of it; or between host and
/// device. 0: neither, or not known.
double ReplayCounters::gigabytes(std::uint32_t rank, const traces::DeviceRecord& d, What what) const {
  if (what == What::copies) return is_host_copy(d) ? static_cast<double>(std::max<std::int64_t>(0, d.bytes)) * 1e-9 : 0;
  if (d.collective == traces::kNone) return 0;
  const traces::TraceJob& job = *graph_.job;
  const traces::TraceCollective& c = job.ranks[rank].collectives[d.collective];
  if (!c.kind_known || c.bytes <= 0) return 0;
  std::uint32_t members = c.group != traces::kNone ? job.groups[c.group].size : job.world_size;
  if (c.match != traces::kNone)
    members = std::max(members, static_cast<std::uint32_t>(job.matches[c.match].members.size()));
  return static_cast<double>(c.bytes) * 1e-9 * graph::busbw_factor(c.kind, std::max(1u, members));
}

/// From the moment that all members are there to the end, in ps.
ReplayCounters::Span ReplayCounters::span_of(std::uint32_t rank, std::uint32_t record) const {
  if (times_ != nullptr) {
    const std::uint32_t node = graph_.ranks[rank].device_nodes[record];
    return {times_->start[node], times_->end[node]};
  }
  const traces::TraceRank& trace = graph_.job->ranks[rank];
  const traces::DeviceRecord& d = trace.device_records[record];
  const std::uint32_t match = d.collective != traces::kNone ? trace.collectives[d.collective].match : traces::kNone;
  const std::int64_t arrived = match != traces::kNone ? std::max(d.start_ns, last_arrival_[match]) : d.start_ns;
  const std::int64_t begin = arrived < d.end_ns() ? arrived : d.start_ns;  // clocks may contradict
  return {(begin - graph_.origin_ns) * kPsPerNs, (d.end_ns() - graph_.origin_ns) * kPsPerNs};
}

void ReplayCounters::emit_rates(std::uint32_t counter, const SampleSink& sink) const {
  const std::uint32_t rank = tracks_[counter].process;
  const auto& records = graph_.job->ranks[rank].device_records;
  std::vector<traces::CounterChange> changes;
  for (std::uint32_t r = 0; r < records.size(); ++r) {
    const double amount = gigabytes(rank, records[r], what_[counter]);
    const Span span = amount > 0 ? span_of(rank, r) : Span{};
    if (span.end <= span.begin) continue;
    const double rate = amount / (static_cast<double>(span.end - span.begin) * 1e-12);
    changes.push_back({span.begin, rate});
    changes.push_back({span.end, -rate});
  }
  traces::emit_running_sum(std::move(changes), 0, counter, sink);
}

void ReplayCounters::emit_memory(std::uint32_t counter, const SampleSink& sink) const {
  const std::uint32_t rank = tracks_[counter].process;
  const auto threads = times_ != nullptr ? host_nodes(graph_, rank) : std::vector<std::vector<std::uint32_t>>();
  std::vector<traces::CounterSample> samples;
  for (const traces::MemoryRecord& m : graph_.job->ranks[rank].memory) {
    std::int64_t at = (m.start_ns - graph_.origin_ns) * kPsPerNs;
    if (times_ != nullptr && m.thread < threads.size()) at = played_at(graph_, *times_, threads[m.thread], m.start_ns);
    samples.push_back({counter, std::max<std::int64_t>(0, at), static_cast<double>(m.allocated) * 1e-9});
  }
  std::ranges::stable_sort(samples, {}, &traces::CounterSample::time_ps);
  for (const traces::CounterSample& s : samples) sink(s);
}

void ReplayCounters::emit(const SampleSink& sink) const {
  for (std::uint32_t c = 0; c < tracks_.size(); ++c) {
    if (what_[c] == What::memory)
      emit_memory(c, sink);
    else
      emit_rates(c, sink);
  }
}

void add_counters(traces::SliceSource& source, const ReplayGraph& graph, const ReplayTimes* times) {
  const auto counters = std::make_shared<const ReplayCounters>(graph, times);
  source.counters = counters->tracks();
  source.for_each_sample = [counters](const SampleSink& sink) { counters->emit(sink); };
}

}  // namespace distsim::replay
