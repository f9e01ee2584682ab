#include "traces/hugectr/hugectr_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/json/json_text.hpp"
#include "base/text/counted.hpp"
#include "base/text/csv.hpp"
#include "base/text/printable.hpp"

namespace distsim::traces {
namespace {

constexpr std::size_t kLabel = 60, kBar = 60;  // columns

std::string ms(double value) { return fmt::format("{:.3f}", value); }

std::string label_text(const std::string& label) {
  const std::string text = printable(label, 200);
  return text.size() <= kLabel ? text : "..." + text.substr(text.size() - (kLabel - 3));
}

std::string notes_text(const std::vector<std::string>& notes) {
  std::string out;
  for (const std::string& note : notes) out += "note: " + note + "\n";
  return out;
}

struct Sums {
  double mean = 0, most = 0;
};

Sums sums_of(const HugectrRun& run) {
  Sums sums;
  for (const HugectrEventSummary& e : run.job.summaries) {
    sums.mean += e.outer ? e.mean_ms : 0;
    sums.most += e.outer ? e.max_ms : 0;
  }
  return sums;
}

/// Outer labels of all runs, in order of appearance, with their summary in each run; null: not in that run.
using Row = std::vector<const HugectrEventSummary*>;
std::vector<std::pair<std::string, Row>> rows_of(const std::vector<HugectrRun>& runs) {
  std::vector<std::pair<std::string, Row>> rows;
  std::map<std::string, std::size_t> place;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    for (const HugectrEventSummary& e : runs[r].job.summaries) {
      if (!e.outer) continue;
      const auto [at, fresh] = place.emplace(e.label, rows.size());
      if (fresh) rows.emplace_back(e.label, Row(runs.size(), nullptr));
      rows[at->second].second[r] = &e;
    }
  }
  return rows;
}

std::string cell_text(const HugectrEventSummary* e) {
  return e == nullptr ? "-" : ms(e->mean_ms) + " / " + ms(e->max_ms);
}

/// "mean of the medians of 2 hosts", of which some may have no times of iterations.
std::string iteration_text(const HugectrJob& job, std::size_t hosts) {
  if (job.timed_hosts == 0) return "not timed: " + counted(hosts, "host");
  const std::string of =
      job.timed_hosts == hosts ? "" : std::to_string(job.timed_hosts) + " (with times of iterations) of ";
  return ms(job.iteration_ms) + " ms: " + (job.timed_hosts == 1 ? "median" : "mean of the medians") + " of " + of +
         counted(hosts, "host");
}

}  // namespace

std::string hugectr_job_text(const std::vector<HugectrHost>& hosts, const HugectrJob& job, std::size_t top) {
  std::string out =
      fmt::format("iteration {}, {}, {}, {}\n", iteration_text(job, hosts.size()), counted(job.devices, "device"),
                  counted(job.streams, "stream"), counted(job.events, "event"));
  if (hosts.size() > 1 && job.slowest_iteration_ms > 0)
    out += fmt::format("slowest host {}: {} ms\n", printable(job.slowest_host, kLabel), ms(job.slowest_iteration_ms));
  out += fmt::format("\n{:<{}}{:>12}{:>12}{:>10}\n", "host", kLabel, "median ms", "mean ms", "devices");
  for (const HugectrHost& h : hosts)
    out += fmt::format("{:<{}}{:>12}{:>12}{:>10}\n", label_text(h.host_name), kLabel,
                       h.has_iterations ? ms(h.median_iter_time_ms) : "-",
                       h.has_iterations ? ms(h.avg_iter_time_ms) : "-", h.timeline.size());
  std::vector<const HugectrEventSummary*> longest;
  for (const HugectrEventSummary& e : job.summaries) longest.push_back(&e);
  std::ranges::stable_sort(longest, [](const auto* a, const auto* b) { return a->max_ms > b->max_ms; });
  out += fmt::format("\n{:<{}}{:>12}{:>12}{:>9}  {}\n", "event (median of its repetitions)", kLabel, "mean ms",
                     "max ms", "streams", "slowest");
  for (std::size_t i = 0; i < std::min(top, longest.size()); ++i) {
    const HugectrEventSummary& e = *longest[i];
    out += fmt::format("{:<{}}{:>12}{:>12}{:>9}  {} GPU {}\n", label_text(e.label), kLabel, ms(e.mean_ms), ms(e.max_ms),
                       e.streams, printable(e.slowest_host, kLabel), e.slowest_device);
  }
  if (longest.size() > top) out += fmt::format("{} in --csv\n", counted(longest.size() - top, "more event"));
  return out + notes_text(job.notes);
}

std::string hugectr_scaling_text(const std::vector<HugectrRun>& runs) {
  double longest = 1e-9;
  std::size_t name = 3;
  for (const HugectrRun& run : runs) {
    const Sums sums = sums_of(run);
    longest = std::max({longest, run.job.iteration_ms, sums.mean, sums.most});
    name = std::max(name, printable(run.name).size());
  }
  const auto bar = [&](const std::string& who, const char* what, double value) {
    const auto length = static_cast<std::size_t>(std::lround(value / longest * static_cast<double>(kBar)));
    return fmt::format("{:<{}}  {:<20}{:>10}  {}\n", who, name, what, ms(value), std::string(length, '#'));
  };
  std::string out = fmt::format("{:<{}}  {:<20}{:>10}\n", "run", name, "", "ms");
  for (const HugectrRun& run : runs) {
    const Sums sums = sums_of(run);
    out += bar(printable(run.name), "iteration", run.job.iteration_ms);
    out += bar("", "events, mean", sums.mean);
    out += bar("", "events, maximum", sums.most);
  }
  out += fmt::format("\n{:<{}}", "event: mean / maximum, ms", kLabel);
  for (const HugectrRun& run : runs) out += fmt::format("  {:>19}", printable(run.name));
  out += '\n';
  for (const auto& [label, row] : rows_of(runs)) {
    out += fmt::format("{:<{}}", label_text(label), kLabel);
    for (const HugectrEventSummary* e : row) out += fmt::format("  {:>19}", cell_text(e));
    out += '\n';
  }
  for (const HugectrRun& run : runs) {
    for (const std::string& note : run.job.notes) out += "note: run " + printable(run.name) + ": " + note + "\n";
  }
  return out;
}

std::string hugectr_scaling_csv(const std::vector<HugectrRun>& runs) {
  std::string out = csv_line({"run", "label", "mean_ms", "max_ms"});
  for (const HugectrRun& run : runs) {
    const std::string name = printable(run.name, 200);
    out += csv_line({name, "iteration", ms(run.job.iteration_ms), ms(run.job.slowest_iteration_ms)});
    for (const HugectrEventSummary& e : run.job.summaries) {
      if (e.outer) out += csv_line({name, printable(e.label, 200), ms(e.mean_ms), ms(e.max_ms)});
    }
  }
  return out;
}

std::string hugectr_scaling_json(const std::vector<HugectrRun>& runs) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array(), events = Json::array();
  for (const HugectrRun& run : runs) {
    Json notes = Json::array();
    for (const std::string& note : run.job.notes) notes.push_back(printable(note, 1000));
    list.push_back({{"name", printable(run.name, 200)},
                    {"iteration_ms", run.job.iteration_ms},
                    {"slowest_ms", run.job.slowest_iteration_ms},
                    {"notes", std::move(notes)}});
  }
  for (const auto& [label, row] : rows_of(runs)) {
    Json mean = Json::array(), most = Json::array();
    for (const HugectrEventSummary* e : row) {
      mean.push_back(e == nullptr ? Json(nullptr) : Json(e->mean_ms));
      most.push_back(e == nullptr ? Json(nullptr) : Json(e->max_ms));
    }
    events.push_back({{"label", printable(label, 200)}, {"mean_ms", std::move(mean)}, {"max_ms", std::move(most)}});
  }
  return json_text(Json{{"kind", "hugectr"}, {"runs", std::move(list)}, {"events", std::move(events)}});
}

}  // namespace distsim::traces
