#include "traces/verdict.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/text/counted.hpp"
#include "base/text/printable.hpp"

namespace distsim::traces {
namespace {

constexpr std::int64_t kRounding = 2'000;  // ns: profilers round the two ends of an interval by themselves
constexpr std::uint64_t kFewKernels = 20;  // fewer prove nothing
constexpr std::size_t kShownRuns = 6;      // of missing ranks

/// "ranks 1, 5 to 7 of 8" of those below `world` that are not there.
std::string missing_ranks(const std::set<std::uint32_t>& there, std::uint32_t world) {
  std::string runs;
  std::size_t shown = 0, count = 0;
  for (std::uint32_t r = 0; r < world;) {
    if (there.contains(r)) {
      ++r;
      continue;
    }
    const auto next = there.upper_bound(r);
    const std::uint32_t end = std::min(world, next == there.end() ? world : *next);
    count += end - r;
    const std::string run = std::to_string(r) + (end - r > 1 ? " to " + std::to_string(end - 1) : "");
    if (shown++ < kShownRuns) runs += (runs.empty() ? "" : ", ") + run;
    r = end;
  }
  if (count == 0) return "";
  return std::string(count == 1 ? "rank " : "ranks ") + runs + (shown > kShownRuns ? ", ..." : "") + " of " +
         std::to_string(world);
}

std::string ranks_missing_from(const TraceJob& job) {
  std::set<std::uint32_t> there;
  for (const TraceRank& r : job.ranks) there.insert(r.rank);
  return missing_ranks(there, std::min(job.world_size, 1u << 24));
}

bool has_gpu_work(const TraceJob& job) {
  return std::any_of(job.ranks.begin(), job.ranks.end(), [](const TraceRank& r) { return !r.device_records.empty(); });
}

struct Overlaps {
  std::uint64_t kernels = 0, at_once = 0;
};

/// Kernels that start before one earlier on their stream has ended.
Overlaps overlaps_of(const TraceRank& rank) {
  Overlaps out;
  for (const TraceStream& stream : rank.streams) {
    std::int64_t end = INT64_MIN;
    for (std::uint32_t i = stream.begin; i < stream.end; ++i) {
      const DeviceRecord& d = rank.device_records[i];
      if (d.kind != DeviceRecordKind::kernel) continue;
      ++out.kernels;
      if (end != INT64_MIN && d.start_ns < end - kRounding) ++out.at_once;
      end = std::max(end, d.end_ns());
    }
  }
  return out;
}

}  // namespace

std::vector<std::string> missing_parts(const TraceJob& job) {
  std::vector<std::string> out;
  if (std::string ranks = ranks_missing_from(job); !ranks.empty()) out.push_back(std::move(ranks));
  const bool timed = std::any_of(job.ranks.begin(), job.ranks.end(), [](const TraceRank& r) { return r.has_times; });
  if (timed && !has_gpu_work(job)) out.emplace_back("kernels and copies of a GPU");
  std::map<std::string, std::vector<std::uint32_t>> by_text;
  for (const TraceRank& r : job.ranks) {
    for (const std::string& part : r.notes.missing) by_text[part].push_back(r.rank);
  }
  for (const auto& [text, ranks] : by_text) {
    const std::string who = job.ranks.size() == 1 ? "" : " (" + counted(ranks.size(), "rank") + ")";
    out.push_back(printable(text, 120) + who);
  }
  return out;
}

std::string verdict_of(const TraceJob& job) {
  std::string text;
  for (const std::string& part : missing_parts(job)) text += (text.empty() ? "partial, without " : "; ") + part;
  return text.empty() ? "complete" : text;
}

Result<void> check_plausible(TraceJob& job) {
  for (TraceRank& rank : job.ranks) {
    if (!rank.has_times || rank.times_are_medians) continue;
    const Overlaps found = overlaps_of(rank);
    if (found.at_once == 0) continue;
    if (found.kernels >= kFewKernels && 2 * found.at_once > found.kernels)
      return Error{"found " + std::to_string(found.at_once) + " of " + counted(found.kernels, "kernel") +
                       " at the same time as another on their stream, expected one after the other",
                   rank.path, "are these the times of one GPU?"};
    rank.notes.assume(counted(found.at_once, "kernel") + " of " + std::to_string(found.kernels) + " " +
                      std::string(agreeing(found.at_once, "overlaps", "overlap")) + " another on the same stream");
  }
  return {};
}

}  // namespace distsim::traces
