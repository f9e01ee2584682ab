#include "traces/hugectr/hugectr_verdict.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/median.hpp"
#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "base/text/quantity_text.hpp"

namespace distsim::traces {
namespace {

using GpusOfHosts = std::map<std::string, std::set<std::int64_t>>;

struct EventsBeyond {
  std::uint64_t events = 0, beyond = 0;
  double latest_ms = 0, iteration_ms = 0;  ///< start of the last event; the median iteration that it is furthest behind

  void take(double start_ms, double median_iteration_ms) {
    ++events;
    if (start_ms <= median_iteration_ms) return;
    ++beyond;
    if (start_ms <= latest_ms) return;
    latest_ms = start_ms;
    iteration_ms = median_iteration_ms;
  }
};

std::string milliseconds_text(double ms) { return format_quantity(ms * 1e-3, Dimension::seconds); }

/// Hosts of a run have the same GPUs; what a result lacks was not recorded, or was taken out of the file.
std::vector<std::string> missing_gpus(const GpusOfHosts& hosts) {
  std::set<std::int64_t> all;
  for (const auto& [host, gpus] : hosts) all.insert(gpus.begin(), gpus.end());
  std::vector<std::string> out;
  for (const auto& [host, gpus] : hosts) {
    if (gpus.size() == all.size()) continue;
    out.push_back(std::to_string(all.size() - gpus.size()) + " of the " + counted(all.size(), "GPU") + " of host " +
                  printable(host, 60));
  }
  return out;
}

std::vector<std::string> missing_events(const EventsBeyond& found) {
  if (found.beyond == 0) return {};
  return {std::to_string(found.beyond) + " of " + counted(found.events, "event") + " in the iteration (of " +
          milliseconds_text(found.iteration_ms) + "; " +
          std::string(agreeing(found.beyond, "it begins", "they begin")) + " up to " +
          milliseconds_text(found.latest_ms) + " after its start, in longer ones)"};
}

std::vector<std::string> joined(std::vector<std::string> first, std::vector<std::string> second) {
  std::ranges::move(second, std::back_inserter(first));
  return first;
}

}  // namespace

std::vector<std::string> missing_from_hugectr(const TraceJob& job) {
  EventsBeyond found;
  GpusOfHosts hosts;
  for (const TraceRank& rank : job.ranks) {
    if (!rank.times_are_medians) continue;
    for (const TraceDevice& d : rank.devices) hosts[rank.host_name].insert(d.index);
    if (rank.steps.empty()) continue;
    const double iteration = static_cast<double>(rank.steps.front().end_ns) * 1e-6;  // the median one
    for (const MedianEvent& e : rank.median_events) found.take(static_cast<double>(e.start_ns) * 1e-6, iteration);
  }
  return joined(missing_events(found), missing_gpus(hosts));
}

std::string iterations_beyond_events(std::int64_t iteration_ns, const std::vector<std::int64_t>& starts_ns,
                                     const std::vector<std::int64_t>& ends_ns) {
  constexpr double kMostBeside = 100;  // times the events; chosen: hosts wait for data
  if (starts_ns.empty() || ends_ns.empty()) return "";
  const std::int64_t events_ns = upper_median(ends_ns) - *std::ranges::min_element(starts_ns);
  if (events_ns <= 0 || static_cast<double>(iteration_ns) <= kMostBeside * static_cast<double>(events_ns)) return "";
  const auto text = [](std::int64_t ns) { return milliseconds_text(static_cast<double>(ns) * 1e-6); };
  return "found iterations of " + text(iteration_ns) + ", in which most events end within " + text(events_ns) +
         ": are all times in milliseconds?";
}

std::string fewer_iterations(std::size_t iterations, std::size_t timed) {
  if (iterations == 0 || iterations >= timed) return "";
  return "found the times of " + counted(iterations, "iteration") + ", where an event was timed in " +
         std::to_string(timed) + ": their median may not be that of the run";
}

std::vector<std::string> missing_from_hugectr(const std::vector<HugectrHost>& results) {
  EventsBeyond found;
  GpusOfHosts hosts;
  for (const HugectrHost& host : results) {
    for (const auto& [device, by_stream] : host.timeline) {
      hosts[host.host_name].insert(device);
      for (const auto& [stream, events] : by_stream) {
        if (!host.has_iterations) continue;
        for (const HugectrTimedEvent& e : events) found.take(e.median_start_ms, host.median_iter_time_ms);
      }
    }
  }
  return joined(missing_events(found), missing_gpus(hosts));
}

}  // namespace distsim::traces
