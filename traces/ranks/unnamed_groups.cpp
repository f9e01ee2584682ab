#include "traces/ranks/unnamed_groups.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "base/text/counted.hpp"
#include "traces/build/collective_join.hpp"

namespace distsim::traces {
namespace {

/// All of its ranks wait for the last to come, and end together. A kernel that is called SendRecv, and whose call nobody names,
/// may be an all-to-all.
bool ends_at_once(graph::CollectiveKind kind) {
  return kind != graph::CollectiveKind::broadcast && kind != graph::CollectiveKind::reduce &&
         kind != graph::CollectiveKind::gather && kind != graph::CollectiveKind::scatter;
}

bool has_own_times(const TraceRank& rank, const TraceCollective& c) {
  return rank.has_times && !rank.times_are_medians && c.timed;
}

void give_up(TraceJob& job, const std::vector<bool>& unlike) {
  std::vector<std::uint32_t> now(job.matches.size(), kNone);
  std::vector<CollectiveMatch> kept;
  for (std::size_t i = 0; i < unlike.size(); ++i) {
    if (unlike[i]) continue;
    now[i] = static_cast<std::uint32_t>(kept.size());
    kept.push_back(std::move(job.matches[i]));
  }
  job.matches = std::move(kept);
  for (TraceRank& rank : job.ranks) {
    for (TraceCollective& c : rank.collectives) {
      if (c.match != kNone) c.match = now[c.match];
    }
  }
}

}  // namespace

bool is_of_unnamed_group(const TraceJob& job, const CollectiveMatch& match) {
  return match.group == kNone && std::max<std::size_t>(job.world_size, job.ranks.size()) > 2;
}

bool ends_too_far_apart(const TraceJob& job, const CollectiveMatch& match, std::int64_t tolerance_ns) {
  if (!ends_at_once(match.kind)) return false;
  std::int64_t first = INT64_MAX, last = INT64_MIN, transfer = INT64_MAX;
  for (const CollectiveMatch::Member& m : match.members) {
    const TraceRank& rank = job.ranks[m.rank];
    const TraceCollective& c = rank.collectives[m.collective];
    if (!has_own_times(rank, c)) return false;
    const std::int64_t end = end_of(rank, c);
    first = std::min(first, end), last = std::max(last, end);
    transfer = std::min(transfer, end - start_of(rank, c));
  }
  return last - first > std::max(tolerance_ns, transfer);
}

void give_up_unlike_matches(TraceJob& job, std::int64_t tolerance_ns) {
  constexpr std::size_t kMostUnlike = 4;  // chosen: more than one in so many, and the ranks are not one group
  std::map<graph::CollectiveKind, std::pair<std::size_t, std::size_t>> of_kind;  // all, unlike
  std::vector<bool> unlike(job.matches.size(), false);
  std::size_t unnamed = 0, given_up = 0;
  for (std::size_t i = 0; i < job.matches.size(); ++i) {
    if (!is_of_unnamed_group(job, job.matches[i])) continue;
    ++unnamed;
    unlike[i] = ends_too_far_apart(job, job.matches[i], tolerance_ns);
    auto& [all, apart] = of_kind[job.matches[i].kind];
    ++all, apart += unlike[i] ? 1 : 0;
  }
  if (unnamed == 0) return;
  for (std::size_t i = 0; i < job.matches.size(); ++i) {
    if (!is_of_unnamed_group(job, job.matches[i])) continue;
    const auto& [all, apart] = of_kind[job.matches[i].kind];
    unlike[i] = unlike[i] || kMostUnlike * apart > all;
    given_up += unlike[i] ? 1 : 0;
  }
  std::string note = "no trace says between which ranks " + counted(unnamed, "collective") + " " +
                     std::string(agreeing(unnamed, "is", "are")) + ": all ranks are taken for one group";
  if (given_up > 0)
    note +=
        "; " +
        (given_up == unnamed
             ? "which they are not"
             : std::to_string(given_up) + " of them " + std::string(agreeing(given_up, "is", "are")) + " no such") +
        ", as their ends on the ranks lie too far apart: matched with none, so that they show no clock and no straggler";
  job.notes.assume(std::move(note));
  if (given_up > 0) give_up(job, unlike);
}

}  // namespace distsim::traces
