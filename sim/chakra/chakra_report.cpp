#include "sim/chakra/chakra_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/json/json_text.hpp"
#include "base/text/counted.hpp"
#include "base/text/csv.hpp"
#include "base/text/printable.hpp"
#include "base/text/quantity_text.hpp"

namespace distsim::chakra {
namespace {

constexpr double kMs = 1e-9;
double ms(std::int64_t ps) { return static_cast<double>(ps) * kMs; }

const ChakraRankTimes& times_of(const ChakraPlay& play, std::size_t rank) {
  return play.ranks.size() == 1 ? play.ranks[0] : play.ranks[rank];
}

/// Collectives that are alike, over all communicators.
struct CallLine {
  std::uint64_t count = 0;
  graph::Cost cost;
};
using CallKey = std::tuple<graph::CollectiveKind, std::int64_t, std::size_t, std::int64_t>;  // kind, bytes, ranks, time

std::map<CallKey, CallLine> call_lines(const ChakraPlay& play) {
  std::map<CallKey, CallLine> lines;
  for (const ChakraCommunicator& c : play.communicators) {
    for (const ChakraCall& call : c.calls) {
      CallLine& line = lines[{call.op.kind, call.op.bytes, c.members.size(), call.cost.mean.ps()}];
      ++line.count;
      line.cost = call.cost;
    }
  }
  return lines;
}

struct MeanMinMax {
  double mean = 0, min = 0, max = 0;
};

MeanMinMax over_ranks(const ChakraPlay& play, std::int64_t ChakraRankTimes::*part) {
  MeanMinMax s{0, 1e300, 0};
  for (const ChakraRankTimes& r : play.ranks) {
    s.mean += ms(r.*part) / static_cast<double>(play.ranks.size());
    s.min = std::min(s.min, ms(r.*part));
    s.max = std::max(s.max, ms(r.*part));
  }
  return s;
}

constexpr std::pair<const char*, std::int64_t ChakraRankTimes::*> kParts[] = {
    {"compute", &ChakraRankTimes::compute}, {"exposed comm", &ChakraRankTimes::exposed},
    {"waiting", &ChakraRankTimes::waiting}, {"host", &ChakraRankTimes::host},
    {"idle", &ChakraRankTimes::idle},       {"total comm", &ChakraRankTimes::comm}};

std::string part_lines(const ChakraPlay& play) {
  std::string out = fmt::format("{:<16}{:>10}{:>12}{:>12}  ms by rank\n", "", "mean", "min", "max");
  for (const auto& [name, part] : kParts) {
    const MeanMinMax s = over_ranks(play, part);
    out += fmt::format("  {:<14}{:>10.3f}{:>12.3f}{:>12.3f}\n", name, s.mean, s.min, s.max);
  }
  return out;
}

std::string call_table(const ChakraPlay& play) {
  constexpr std::size_t kMostLines = 20;
  const auto lines = call_lines(play);
  if (lines.empty()) return "";
  std::vector<std::pair<CallKey, CallLine>> sorted(lines.begin(), lines.end());
  const auto total = [](const auto& l) {
    return static_cast<double>(std::get<3>(l.first)) * static_cast<double>(l.second.count);
  };
  std::stable_sort(sorted.begin(), sorted.end(), [&](auto& a, auto& b) { return total(a) > total(b); });
  std::string out =
      fmt::format("\n{:<16}{:>7}{:>8}{:>14}{:>12}  basis\n", "collectives", "ranks", "count", "bytes", "ms each");
  for (std::size_t i = 0; i < std::min(kMostLines, sorted.size()); ++i) {
    const auto& [kind, bytes, ranks, ps] = sorted[i].first;
    out += fmt::format("  {:<14}{:>7}{:>8}{:>14}{:>12.4f}  {}\n", graph::name_of(kind), ranks, sorted[i].second.count,
                       bytes, ms(ps), graph::name_of(sorted[i].second.cost.basis));
  }
  if (sorted.size() > kMostLines)
    out += fmt::format("  and {} in --json\n", counted(sorted.size() - kMostLines, "more kind"));
  return out;
}

std::string extremes(const traces::ChakraSet& set, const ChakraPlay& play) {
  if (set.ranks.size() == 1) return "";
  if (play.ranks.size() == 1) return "all ranks have the same times\n";
  const auto by = [](auto& a, auto& b) { return a.finish < b.finish; };
  const auto [first, last] = std::minmax_element(play.ranks.begin(), play.ranks.end(), by);
  return fmt::format("rank {} finishes first, at {:.3f} ms; rank {} last\n", first - play.ranks.begin(),
                     ms(first->finish), last - play.ranks.begin());
}

}  // namespace

std::string chakra_text(const traces::ChakraSet& set, const ChakraPlay& play, const std::string& where) {
  std::size_t nodes = 0;
  for (const traces::ChakraRank& r : set.ranks) nodes = std::max(nodes, set.graphs[r.graph].nodes.size());
  std::string out = fmt::format("{:.3f} ms for {} {}\n", play.makespan.ms(), counted(set.ranks.size(), "rank"), where);
  out += fmt::format("{} of up to {}; {} identical to another, {}\n\n", counted(set.files, "trace"),
                     counted(nodes, "node"), set.same_files, counted(set.graphs.size(), "distinct structure"));
  out += part_lines(play) + extremes(set, play) + call_table(play);
  for (const std::string& note : play.notes) out += "assumes  " + note + "\n";
  return out;
}

std::string chakra_csv(const traces::ChakraSet& set, const ChakraPlay& play) {
  std::string out = "rank,step,measured_ms,replayed_ms,compute_ms,comm_ms,exposed_comm_ms,idle_ms\n";
  for (std::size_t r = 0; r < set.ranks.size(); ++r) {
    const ChakraRankTimes& t = times_of(play, r);
    out += fmt::format("{},0,,{:.6f},{:.6f},{:.6f},{:.6f},{:.6f}\n", r, ms(t.finish), ms(t.compute), ms(t.comm),
                       ms(t.exposed), ms(t.idle));
  }
  return out;
}

std::string chakra_json(const traces::ChakraSet& set, const ChakraPlay& play, const std::string& where) {
  nlohmann::ordered_json json;
  json["makespan_ms"] = play.makespan.ms();
  json["makespan_ps"] = play.makespan.ps();
  json["digest"] = fmt::format("{:016x}", play.digest);
  json["ranks"] = set.ranks.size();
  json["job_ranks"] = set.ranks_of_job();
  json["where"] = where;
  json["files"] = set.files;
  json["equal_files"] = set.same_files;
  json["structures"] = set.graphs.size();
  json["steps"] = play.steps;
  json["evaluator"] = play.rows ? "rows" : "lists";
  for (const auto& [name, part] : kParts) {
    const MeanMinMax s = over_ranks(play, part);
    std::string key = name;
    std::replace(key.begin(), key.end(), ' ', '_');
    json["parts_ms"][key] = {{"mean", s.mean}, {"least", s.min}, {"most", s.max}};
  }
  json["collectives"] = nlohmann::ordered_json::array();
  for (const auto& [key, line] : call_lines(play)) {
    const auto& [kind, bytes, ranks, ps] = key;
    json["collectives"].push_back({{"kind", graph::name_of(kind)},
                                   {"ranks", ranks},
                                   {"bytes", bytes},
                                   {"count", line.count},
                                   {"ms", ms(ps)},
                                   {"basis", graph::name_of(line.cost.basis)},
                                   {"source", std::string(line.cost.source)}});
  }
  json["per_rank"] = nlohmann::ordered_json::array();
  for (std::size_t r = 0; r < play.ranks.size(); ++r) {
    const ChakraRankTimes& t = play.ranks[r];
    json["per_rank"].push_back({{"rank", r},
                                {"finish_ms", ms(t.finish)},
                                {"compute_ms", ms(t.compute)},
                                {"comm_ms", ms(t.comm)},
                                {"exposed_comm_ms", ms(t.exposed)},
                                {"waiting_ms", ms(t.waiting)},
                                {"host_ms", ms(t.host)},
                                {"idle_ms", ms(t.idle)}});
  }
  json["assumptions"] = play.notes;
  return json_text(json, 1) + "\n";
}

}  // namespace distsim::chakra
