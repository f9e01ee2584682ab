#include "traces/agreement.hpp"

#include <cstdio>
#include <set>
#include <utility>
#include <vector>

#include "base/median.hpp"

namespace distsim::traces {
namespace {

std::string agreed_ms(std::int64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g ms", static_cast<double>(ns) / 1e6);
  return text;
}

/// Of the ranks that share a collective with another, those whose median step is the shortest and the longest.
struct StepExtremes {
  const TraceRank *least = nullptr, *most = nullptr;
  std::int64_t shortest = 0, longest = 0;

  void add(const TraceRank& rank) {
    if (!rank.has_times || rank.times_are_medians || rank.steps.empty()) return;
    std::vector<std::int64_t> spans;
    for (const TraceStep& s : rank.steps) spans.push_back(s.end_ns - s.start_ns);
    const std::int64_t ns = upper_median(std::move(spans));
    if (ns <= 0) return;
    if (least == nullptr || ns < shortest) least = &rank, shortest = ns;
    if (most == nullptr || ns > longest) most = &rank, longest = ns;
  }
};

}  // namespace

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
