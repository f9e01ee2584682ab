#include "sim/report/text/path_table.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "base/text/counted.hpp"
#include "sim/report/text/format.hpp"

namespace distsim::report {

std::string phase_text(std::optional<graph::Phase> phase) {
  std::string out(phase ? graph::name_of(*phase) : "host");
  std::ranges::replace(out, '_', ' ');
  return out;
}

std::vector<PathRun> path_runs(const std::vector<CriticalStep>& path) {
  std::vector<PathRun> runs;
  std::vector<std::pair<std::string_view, std::string_view>> names;  // first and last of each run
  for (const CriticalStep& s : path) {
    const bool same =
        !runs.empty() && runs.back().stream == s.stream && runs.back().phase == s.phase && runs.back().rank == s.rank;
    if (!same) {
      runs.push_back({"", s.stream, s.phase, s.rank, 0, s.start, {}});
      names.emplace_back(s.name, s.name);
    }
    runs.back().steps += s.steps;
    runs.back().time += s.time;
    names.back().second = s.name;
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto& [first, last] = names[i];
    runs[i].name = first == last ? std::string(first) : std::string(first) + " .. " + std::string(last);
  }
  return runs;
}

namespace {

constexpr std::size_t kManyRuns = 100;

/// The path's time by stream, phase and op kind, in order of their first steps.
std::vector<PathRun> path_causes(const std::vector<CriticalStep>& path) {
  std::vector<PathRun> causes;
  std::map<std::tuple<graph::Stream, std::optional<graph::Phase>, std::string_view>, std::size_t> row_of;
  for (const CriticalStep& s : path) {
    const auto [at, is_new] = row_of.try_emplace({s.stream, s.phase, s.kind}, causes.size());
    if (is_new)
      causes.push_back(
          {s.on_host() ? "launches and framework overhead" : s.kind, s.stream, s.phase, 0, 0, s.start, {}});
    causes[at->second].steps += s.steps;
    causes[at->second].time += s.time;
  }
  return causes;
}

Duration time_of(const std::vector<PathRun>& rows) {
  Duration sum;
  for (const PathRun& row : rows) sum += row.time;
  return sum;
}

std::vector<PathRun> taken(const std::vector<PathRun>& runs, const std::vector<std::size_t>& which) {
  std::vector<PathRun> out;
  for (const std::size_t i : which) out.push_back(runs[i]);
  return out;
}

}  // namespace

PathTable path_table(const std::vector<CriticalStep>& path, std::size_t most) {
  std::vector<PathRun> runs = path_runs(path);
  PathTable out;
  out.rows = taken(runs, longest_runs(runs, most));
  if (runs.size() > kManyRuns && time_of(out.rows) + time_of(out.rows) < time_of(runs)) {
    out.by_cause = true;
    runs = path_causes(path);
    std::ranges::stable_sort(runs, [](const PathRun& a, const PathRun& b) { return a.time > b.time; });
    out.rows = taken(runs, longest_runs(runs, most));
  }
  out.left_out = runs.size() - out.rows.size();
  out.shown = time_of(out.rows);
  return out;
}

std::string PathTable::left_out_text() const {
  return by_cause ? counted(left_out, "smaller cause") : counted(left_out, "shorter segment") + " in between";
}

std::string host_note(const Report& r) {
  const auto share = [&](Duration d) {
    return percent_text(static_cast<double>(d.ps()), static_cast<double>(r.iteration.ps())) + " %";
  };
  Duration host;
  for (const CriticalStep& s : r.critical_path) {
    if (s.on_host()) host += s.time;
  }
  if (host <= r.host_bound + Duration::picoseconds(r.iteration.ps() / 50)) return "";
  return "(host is " + share(host) + " of the critical cycle but " + share(r.host_bound) +
         " of the bar: launches also run during compute)";
}

std::vector<std::size_t> longest_runs(const std::vector<PathRun>& runs, std::size_t most) {
  std::vector<std::size_t> order(runs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return runs[a].time > runs[b].time; });
  if (order.size() > most) order.resize(most);
  std::ranges::sort(order);
  return order;
}

}  // namespace distsim::report
