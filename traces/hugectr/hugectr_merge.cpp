#include "traces/hugectr/hugectr_merge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "base/text/counted.hpp"
#include "base/text/csv.hpp"
#include "base/text/printable.hpp"
#include "traces/hugectr/hugectr_verdict.hpp"

namespace distsim::traces {
namespace {

constexpr std::size_t kMostNamed = 3;  // labels in a note

template <class Each>
void for_each_event(const HugectrHost& host, Each each) {
  for (const auto& [device, by_stream] : host.timeline) {
    for (const auto& [stream, events] : by_stream) {
      for (const HugectrTimedEvent& e : events) each(device, e);
    }
  }
}

/// "a, b, c and 4 more"
std::string some_of(const std::set<std::string>& labels) {
  std::string out;
  std::size_t shown = 0;
  for (const std::string& label : labels) {
    if (shown++ == kMostNamed) break;
    out += (out.empty() ? "" : ", ") + printable(label, 100);
  }
  return labels.size() > kMostNamed ? out + " and " + std::to_string(labels.size() - kMostNamed) + " more" : out;
}

/// Each host's labels against those of all.
void note_missing(const std::vector<HugectrHost>& hosts, HugectrJob& job) {
  for (const HugectrHost& host : hosts) {
    std::set<std::string> missing;
    for (const HugectrEventSummary& s : job.summaries) missing.insert(s.label);
    for_each_event(host, [&](std::int64_t, const HugectrTimedEvent& e) { missing.erase(e.label); });
    if (!missing.empty())
      job.notes.push_back("host " + printable(host.host_name) + " has no " + some_of(missing) +
                          "; means and maxima are those of the hosts that do");
  }
}

void note_unfinished(const std::vector<HugectrHost>& hosts, HugectrJob& job) {
  std::uint32_t asked = 0, fewest = UINT32_MAX;
  for (const HugectrHost& host : hosts) {
    for_each_event(host, [&](std::int64_t, const HugectrTimedEvent& e) { asked = std::max(asked, e.repetitions); });
  }
  for (const HugectrHost& host : hosts) {
    std::set<std::string> short_of;
    fewest = UINT32_MAX;
    for_each_event(host, [&](std::int64_t, const HugectrTimedEvent& e) {
      if (e.repetitions == asked) return;
      short_of.insert(e.label);
      fewest = std::min(fewest, e.repetitions);
    });
    if (!short_of.empty())
      job.notes.push_back("host " + printable(host.host_name) + " timed " + some_of(short_of) + " fewer than " +
                          counted(asked, "time") + " (down to " + std::to_string(fewest) +
                          "): the run ended before the recording did");
  }
}

void note_never_seen(const std::vector<HugectrEvent>& expected, HugectrJob& job) {
  std::set<std::string> seen, never;
  for (const HugectrEventSummary& s : job.summaries) seen.insert(s.label);
  for (const HugectrEvent& e : expected) {
    if (!seen.contains(e.layer + "." + e.name)) never.insert(e.layer + "." + e.name);
  }
  if (!never.empty())
    job.notes.push_back("never seen on any host, though the event list has " +
                        std::string(agreeing(never.size(), "it", "them")) + ": " + some_of(never));
}

/// Hosts of a synchronous job exchange gradients in each iteration, so that their medians agree but for when each began to
/// record; so many times apart, they are of two runs or in two units. Chosen.
constexpr double kMostApart = 2;

std::string milliseconds(double ms) { return fmt::format("{:.3f} ms", ms); }

}  // namespace

Result<void> check_hugectr_hosts(const std::vector<HugectrHost>& hosts) {
  std::set<std::string> names;
  const HugectrHost *fastest = nullptr, *slowest = nullptr;
  for (const HugectrHost& host : hosts) {
    if (!names.insert(host.host_name).second)
      return Error{
          "found a second result of host " + in_quotes(host.host_name) + ", expected one for each host of a run", "",
          ""};
    if (!host.has_iterations) continue;
    if (fastest == nullptr || host.median_iter_time_ms < fastest->median_iter_time_ms) fastest = &host;
    if (slowest == nullptr || host.median_iter_time_ms > slowest->median_iter_time_ms) slowest = &host;
  }
  if (fastest == nullptr || slowest->median_iter_time_ms <= kMostApart * fastest->median_iter_time_ms) return {};
  return Error{"found iterations of " + milliseconds(slowest->median_iter_time_ms) + " on " +
                   in_quotes(slowest->host_name) + " and of " + milliseconds(fastest->median_iter_time_ms) + " on " +
                   in_quotes(fastest->host_name) + ", expected hosts of one run, which wait for each other",
               "", ""};
}

namespace {

/// One GPU of each host tells it.
void note_iterations(const std::vector<HugectrHost>& hosts, HugectrJob& job) {
  const auto ns = [](double ms) { return static_cast<std::int64_t>(ms * 1e6); };
  for (const HugectrHost& host : hosts) {
    std::size_t timed = 0;
    for_each_event(
        host, [&](std::int64_t, const HugectrTimedEvent& e) { timed = std::max<std::size_t>(timed, e.repetitions); });
    if (const std::string fewer = fewer_iterations(host.iterations, timed); !fewer.empty())
      job.notes.push_back("host " + printable(host.host_name) + ": " + fewer);
    for (const auto& [device, by_stream] : host.timeline) {
      std::vector<std::int64_t> starts, ends;
      for (const auto& [stream, events] : by_stream) {
        for (const HugectrTimedEvent& e : events) {
          starts.push_back(ns(e.median_start_ms));
          ends.push_back(ns(e.median_start_ms + e.median_duration_ms));
        }
      }
      const std::string beyond =
          host.has_iterations ? iterations_beyond_events(ns(host.median_iter_time_ms), starts, ends) : "";
      if (beyond.empty()) continue;
      job.notes.push_back("host " + printable(host.host_name) + ": " + beyond);
      break;
    }
  }
}

}  // namespace

HugectrJob merge_hugectr_hosts(const std::vector<HugectrHost>& hosts, const std::vector<HugectrEvent>& expected) {
  HugectrJob job;
  std::map<std::string, HugectrEventSummary> merged;
  job.timed_hosts = static_cast<std::size_t>(std::ranges::count_if(hosts, &HugectrHost::has_iterations));
  for (const HugectrHost& host : hosts) {
    if (host.has_iterations) job.iteration_ms += host.median_iter_time_ms / static_cast<double>(job.timed_hosts);
    if (job.slowest_host.empty() || host.median_iter_time_ms > job.slowest_iteration_ms) {
      job.slowest_iteration_ms = host.median_iter_time_ms;
      job.slowest_host = host.host_name;
    }
    job.devices += host.timeline.size();
    for (const auto& [device, by_stream] : host.timeline) job.streams += by_stream.size();
    std::set<std::string> here;
    for_each_event(host, [&](std::int64_t device, const HugectrTimedEvent& e) {
      ++job.events;
      HugectrEventSummary& s = merged[e.label];
      if (s.streams == 0) s = {e.label, 0, 0, e.median_start_ms, 0, -1, "", 0, true};
      if (here.insert(e.label).second) ++s.hosts;
      ++s.streams;
      s.start_ms = std::min(s.start_ms, e.median_start_ms);
      s.mean_ms += e.median_duration_ms;
      s.outer = s.outer && e.level == 0;
      if (e.median_duration_ms <= s.max_ms) return;
      s.max_ms = e.median_duration_ms;
      s.slowest_host = host.host_name;
      s.slowest_device = device;
    });
  }
  for (auto& [label, s] : merged) {
    s.mean_ms /= static_cast<double>(s.streams);
    job.summaries.push_back(std::move(s));
  }
  std::ranges::stable_sort(job.summaries, {}, &HugectrEventSummary::start_ms);
  for (const std::string& part : missing_from_hugectr(hosts)) job.notes.push_back("without " + part);
  for (const HugectrHost& host : hosts) {
    std::set<std::int64_t> gpus;
    for (const auto& [device, by_stream] : host.timeline) gpus.insert(device);
    if (std::string absent = absent_gpus(host.host_name, gpus); !absent.empty()) job.notes.push_back(std::move(absent));
  }
  note_iterations(hosts, job);
  note_missing(hosts, job);
  note_unfinished(hosts, job);
  note_never_seen(expected, job);
  return job;
}

std::string hugectr_job_csv(const HugectrJob& job) {
  const auto ms = [](double value) { return fmt::format("{:.4f}", value); };
  std::string out = csv_line(
      {"label", "hosts", "streams", "outer", "start_ms", "mean_ms", "max_ms", "slowest_host", "slowest_device"});
  const auto known = [&](double value) { return value > 0 ? ms(value) : std::string(); };
  out += csv_line({"iteration", "", "", "", "", known(job.iteration_ms), known(job.slowest_iteration_ms),
                   printable(job.slowest_host, 200), ""});
  for (const HugectrEventSummary& s : job.summaries)
    out += csv_line({printable(s.label, 200), std::to_string(s.hosts), std::to_string(s.streams),
                     s.outer ? "yes" : "no", ms(s.start_ms), ms(s.mean_ms), ms(s.max_ms),
                     printable(s.slowest_host, 200), std::to_string(s.slowest_device)});
  return out;
}

}  // namespace distsim::traces
