#include "traces/agreement.hpp"

#include <algorithm>
#include <cstdio>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/median.hpp"
#include "base/text/counted.hpp"
#include "traces/build/collective_join.hpp"
#include "traces/job_assembly.hpp"

namespace distsim::traces {
namespace {

std::string agreed_ms(std::int64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g ms", static_cast<double>(ns) / 1e6);
  return text;
}

/// Of the marked steps; 0: none to compare.
std::int64_t median_step(const TraceRank& rank) {
  if (!rank.has_times || rank.times_are_medians || rank.steps.empty()) return 0;
  std::vector<std::int64_t> spans;
  for (const TraceStep& s : rank.steps) spans.push_back(s.end_ns - s.start_ns);
  return upper_median(std::move(spans));
}

/// Of the ranks that share a collective with another, those whose median step is the shortest and the longest.
struct StepExtremes {
  const TraceRank *least = nullptr, *most = nullptr;
  std::int64_t shortest = 0, longest = 0;

  void add(const TraceRank& rank) {
    const std::int64_t ns = median_step(rank);
    if (ns <= 0) return;
    if (least == nullptr || ns < shortest) least = &rank, shortest = ns;
    if (most == nullptr || ns > longest) most = &rank, longest = ns;
  }
};

/// Collectives that no rank leaves before all have joined; a root may leave early.
bool is_meeting(graph::CollectiveKind kind) {
  switch (kind) {
    case graph::CollectiveKind::all_reduce:
    case graph::CollectiveKind::all_gather:
    case graph::CollectiveKind::reduce_scatter:
    case graph::CollectiveKind::all_to_all:
    case graph::CollectiveKind::barrier:
      return true;
    default:
      return false;
  }
}

constexpr std::uint64_t kFewMeetings = 3;  // chosen; fewer may be apart by chance

struct Meetings {
  std::uint64_t shared = 0, missed = 0;  ///< missed: over on most other ranks before it began here, or likewise there
  bool contradict() const { return shared >= kFewMeetings && 2 * missed > shared; }
};

void count_meetings(const TraceJob& job, const CollectiveMatch& match, std::vector<Meetings>& of_rank) {
  std::vector<std::int64_t> starts, ends;
  for (const CollectiveMatch::Member& m : match.members) {
    const TraceRank& rank = job.ranks[m.rank];
    if (!rank.has_times || rank.times_are_medians || !rank.collectives[m.collective].timed) return;
    starts.push_back(start_of(rank, rank.collectives[m.collective]));
    ends.push_back(end_of(rank, rank.collectives[m.collective]));
  }
  std::vector<std::int64_t> first = starts, last = ends;
  std::ranges::sort(first);
  std::ranges::sort(last);
  for (std::size_t i = 0; i < match.members.size(); ++i) {
    const auto before = std::ranges::lower_bound(last, starts[i] - kClockTolerance) - last.begin(),
               after = first.end() - std::ranges::upper_bound(first, ends[i] + kClockTolerance);
    Meetings& of = of_rank[match.members[i].rank];
    ++of.shared;
    of.missed += 2 * static_cast<std::size_t>(before + after) > match.members.size() - 1 ? 1 : 0;
  }
}

/// Of the ranks that share collectives, without one.
std::int64_t median_step_of_others(const TraceJob& job, const std::vector<Meetings>& of_rank, std::size_t without) {
  std::vector<std::int64_t> steps;
  for (std::size_t r = 0; r < job.ranks.size(); ++r) {
    const std::int64_t step = r == without || of_rank[r].shared == 0 ? 0 : median_step(job.ranks[r]);
    if (step > 0) steps.push_back(step);
  }
  return steps.empty() ? 0 : upper_median(std::move(steps));
}

}  // namespace

Result<void> check_meetings(TraceJob& job) {
  std::vector<Meetings> of_rank(job.ranks.size());
  for (const CollectiveMatch& m : job.matches) {
    if (is_meeting(m.kind)) count_meetings(job, m, of_rank);
  }
  for (std::size_t r = 0; r < job.ranks.size(); ++r) {
    const Meetings& of = of_rank[r];
    if (!of.contradict()) continue;
    TraceRank& rank = job.ranks[r];
    const std::string found = std::to_string(of.missed) + " of " + counted(of.shared, "collective") + " of rank " +
                              std::to_string(rank.rank) + " apart in time from the same ones on other ranks";
    const auto own = static_cast<double>(median_step(rank)),
               others = static_cast<double>(median_step_of_others(job, of_rank, r));
    const bool steps_differ = own > 0 && others > 0 && std::max(own, others) > kStepsOfOneRun * std::min(own, others);
    if (steps_differ)
      return Error{"found " + found + ", and steps of " + agreed_ms(median_step(rank)) + ", where the others have " +
                       agreed_ms(median_step_of_others(job, of_rank, r)) + ", expected ranks of one run",
                   rank.path, ""};
    rank.notes.assume(found + ": are the traces of one run, and on one clock?");
  }
  return {};
}

Result<void> check_agreement(const TraceJob& job) {
  std::set<std::uint32_t> together;
  for (const CollectiveMatch& m : job.matches) {
    if (m.kind == graph::CollectiveKind::send_recv) continue;
    for (const CollectiveMatch::Member& member : m.members) together.insert(member.rank);
  }
  StepExtremes found;
  for (const std::uint32_t r : together) found.add(job.ranks[r]);
  if (found.least == nullptr ||
      static_cast<double>(found.longest) <= kMostStepsApart * static_cast<double>(found.shortest))
    return {};
  return Error{"found steps of " + agreed_ms(found.longest) + " on rank " + std::to_string(found.most->rank) +
                   " and of " + agreed_ms(found.shortest) + " on rank " + std::to_string(found.least->rank) +
                   ", expected steps alike of ranks that wait for each other",
               found.most->path, "are all times in one unit?"};
}

}  // namespace distsim::traces
