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

using EventsOfGpus = std::map<std::int64_t, std::set<std::string, std::less<>>>;  ///< names, by the number of the GPU
using GpusOfHosts = std::map<std::string, EventsOfGpus>;

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
  for (const auto& [host, gpus] : hosts) {
    for (const auto& [gpu, events] : gpus) all.insert(gpu);
  }
  std::vector<std::string> out;
  for (const auto& [host, gpus] : hosts) {
    if (gpus.size() == all.size()) continue;
    out.push_back(std::to_string(all.size() - gpus.size()) + " of the " + counted(all.size(), "GPU") + " of host " +
                  printable(host, 60));
  }
  return out;
}

/// GPUs of a host do the same work: what all have but one was not recorded there, or was taken out of the file. Of two it is
/// not known whether one lacks it or the other has more.
std::vector<std::string> events_of_all_others(const GpusOfHosts& hosts) {
  constexpr std::size_t kMajority = 3;
  std::vector<std::string> out;
  for (const auto& [host, gpus] : hosts) {
    if (gpus.size() < kMajority) continue;
    std::map<std::string_view, std::size_t> having;
    for (const auto& [gpu, events] : gpus) {
      for (const std::string& e : events) ++having[e];
    }
    std::map<std::int64_t, std::uint64_t> lacks;
    for (const auto& [event, on] : having) {
      if (on + 1 != gpus.size()) continue;
      ++lacks[std::ranges::find_if(gpus, [&](const auto& gpu) { return !gpu.second.contains(event); })->first];
    }
    for (const auto& [gpu, events] : lacks)
      out.push_back(counted(events, "event") + " of GPU " + std::to_string(gpu) + " of host " + printable(host, 60) +
                    " that its other GPUs have");
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
    for (const TraceDevice& d : rank.devices) {
      std::set<std::string, std::less<>>& events = hosts[rank.host_name][d.index];
      for (const MedianEvent& e : rank.median_events) events.emplace(job.name(e.name));
    }
    if (rank.steps.empty()) continue;
    const double iteration = static_cast<double>(rank.steps.front().end_ns) * 1e-6;  // the median one
    for (const MedianEvent& e : rank.median_events) found.take(static_cast<double>(e.start_ns) * 1e-6, iteration);
  }
  return joined(joined(missing_events(found), missing_gpus(hosts)), events_of_all_others(hosts));
}

std::string absent_gpus(const std::string& host, const std::set<std::int64_t>& gpus) {
  if (gpus.empty() || *gpus.rbegin() - *gpus.begin() < static_cast<std::int64_t>(gpus.size())) return "";
  std::int64_t first = *gpus.begin();
  while (gpus.contains(first)) ++first;
  return "host " + printable(host, 60) + " has no GPU " + std::to_string(first) + ", but GPU " +
         std::to_string(*gpus.rbegin()) + ": did the run leave out " +
         counted(static_cast<std::uint64_t>(*gpus.rbegin() - *gpus.begin()) + 1 - gpus.size(), "GPU") +
         ", or does the file?";
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
      std::set<std::string, std::less<>>& names = hosts[host.host_name][device];
      for (const auto& [stream, events] : by_stream) {
        for (const HugectrTimedEvent& e : events) names.insert(e.label);
        if (!host.has_iterations) continue;
        for (const HugectrTimedEvent& e : events) found.take(e.median_start_ms, host.median_iter_time_ms);
      }
    }
  }
  return joined(joined(missing_events(found), missing_gpus(hosts)), events_of_all_others(hosts));
}

}  // namespace distsim::traces
