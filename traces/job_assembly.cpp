#include "traces/job_assembly.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <regex>
#include <set>

#include "base/text/printable.hpp"
#include "traces/graph/et_link.hpp"

namespace distsim::traces {
namespace {

constexpr std::int64_t kFarApart = std::int64_t{600} * 1'000'000'000;
/// The year 2000: times before it count from the start of a machine, a process or a recording.
constexpr std::int64_t kFirstOfDay = std::int64_t{946'684'800} * 1'000'000'000;

std::string file_name(const std::string& path) { return path.substr(path.find_last_of("/:") + 1); }

struct Span {
  std::int64_t start = INT64_MAX, end = INT64_MIN;
};

Span span_of(const TraceRank& rank) {
  Span s;
  for (const TraceStep& step : rank.steps)
    s.start = std::min(s.start, step.start_ns), s.end = std::max(s.end, step.end_ns);
  for (const HostRecord& r : rank.host_records)
    s.start = std::min(s.start, r.start_ns), s.end = std::max(s.end, r.end_ns());
  for (const DeviceRecord& r : rank.device_records)
    s.start = std::min(s.start, r.start_ns), s.end = std::max(s.end, r.end_ns());
  return s;
}

/// The format without its version.
std::string profiler_of(const TraceRank& r) {
  std::string name = r.format.substr(0, r.format.find_first_of("0123456789"));
  while (name.ends_with(' ')) name.pop_back();
  return name;
}

/// A number for every rank. Files of one rank of different kinds (timed or not) may share one.
Result<void> number_ranks(std::vector<ReadRank>& read) {
  std::set<std::pair<bool, std::uint32_t>> used;
  std::vector<ReadRank*> open;
  const bool several = read.size() > 1;
  for (ReadRank& r : read) {
    const auto named = rank_in_name(file_name(r.rank.path));
    if (!r.rank_known && several && named) {
      r.rank.rank = *named;
      r.rank_known = true;
      r.rank.notes.assume("rank " + std::to_string(*named) + " taken from the file name");
    }
    if (r.rank_known)
      used.emplace(r.rank.has_times, r.rank.rank);
    else
      open.push_back(&r);
  }
  for (ReadRank* r : open) {
    std::uint32_t n = r->rank.rank;
    while (used.contains({r->rank.has_times, n})) ++n;
    r->rank.rank = n;
    r->rank.rank_is_guessed = true;
    used.emplace(r->rank.has_times, n);
    if (several) r->rank.notes.assume("rank " + std::to_string(n) + " taken from the order of the files");
  }
  std::ranges::stable_sort(read, [](const ReadRank& a, const ReadRank& b) {
    return std::pair(a.rank.rank, !a.rank.has_times) < std::pair(b.rank.rank, !b.rank.has_times);
  });
  for (std::size_t i = 1; i < read.size(); ++i) {
    const TraceRank& a = read[i - 1].rank;
    TraceRank& b = read[i].rank;
    if (a.has_times && b.has_times && profiler_of(a) != profiler_of(b))
      b.notes.assume("it is " + profiler_of(b) + ", rank " + std::to_string(a.rank) + " is " + profiler_of(a) +
                     ": profilers differ in their clocks and in what recording costs");
    if (a.rank != b.rank || a.has_times != b.has_times) continue;
    return Error{"found a second trace of rank " + std::to_string(b.rank) + " (the first is " + in_quotes(a.path, 200) +
                     "), expected one for each rank of a job",
                 b.path, "read the traces of different runs separately"};
  }
  return {};
}

/// The inline profiler writes one file a host: a second one is of another run, or the same again.
Result<void> check_hosts(const std::vector<ReadRank>& read) {
  std::set<std::pair<std::string, std::uint32_t>> seen;
  for (const ReadRank& r : read) {
    if (!r.rank.times_are_medians || r.rank.host_name.empty() || r.rank.devices.empty()) continue;
    if (seen.emplace(r.rank.host_name, r.rank.devices.front().index).second) continue;
    return Error{
        "found a second result of host " + in_quotes(r.rank.host_name) + ", expected one for each host of a run",
        r.rank.path, "read the traces of different runs separately"};
  }
  return {};
}

Result<void> check_worlds(TraceJob& job, const std::vector<ReadRank>& read) {
  const ReadRank* first = nullptr;
  for (const ReadRank& r : read) {
    if (r.world_size == 0) continue;
    if (first != nullptr && first->world_size != r.world_size) {
      return Error{"found world size " + std::to_string(r.world_size) + ", expected " +
                       std::to_string(first->world_size) + " as in " + in_quotes(first->rank.path, 200),
                   r.rank.path, "they belong to different jobs"};
    }
    if (first == nullptr) first = &r;
    job.world_size = r.world_size;
    if (r.rank_known && r.rank.rank >= r.world_size) {
      return Error{"found rank " + std::to_string(r.rank.rank) + " of " + std::to_string(r.world_size) +
                       ", expected a rank below that",
                   r.rank.path, ""};
    }
  }
  return {};
}

Result<void> set_epoch(TraceJob& job) {
  std::int64_t epoch = INT64_MAX;
  std::vector<Span> spans;
  for (const TraceRank& r : job.ranks) {
    spans.push_back(r.has_times ? span_of(r) : Span{});
    epoch = std::min(epoch, spans.back().start);
  }
  for (std::size_t i = 1; i < spans.size(); ++i) {
    const Span &a = spans[0], &b = spans[i];
    if (!job.ranks[i].has_times || !job.ranks[0].has_times || a.end < a.start || b.end < b.start) continue;
    const std::int64_t apart = std::max(b.start - a.end, a.start - b.end);
    const bool a_of_day = a.start >= kFirstOfDay, b_of_day = b.start >= kFirstOfDay;
    if (apart > kFarApart && a_of_day != b_of_day)
      return Error{"found times that begin " + std::to_string((b_of_day ? a : b).start / 1'000'000'000) +
                       " s after a moment that the file does not state, expected the time of day as in " +
                       in_quotes(job.ranks[b_of_day ? i : 0].path, 200),
                   job.ranks[b_of_day ? 0 : i].path,
                   "how the two lie to each other is not known: read them separately"};
    if (apart > kFarApart) {
      return Error{"found a trace that is " + std::to_string(apart / 1'000'000'000) + " s apart from " +
                       in_quotes(job.ranks[0].path, 200) + ": they belong to different runs",
                   job.ranks[i].path, ""};
    }
  }
  if (epoch == INT64_MAX) return {};
  job.epoch_ns = epoch;
  for (TraceRank& r : job.ranks) {
    if (r.has_times) move_times(r, -epoch);
  }
  return {};
}

}  // namespace

std::optional<std::uint32_t> rank_in_name(const std::string& path) {
  static const std::regex kinds[] = {
      std::regex("rank[-_.]?([0-9]{1,7})", std::regex::icase),
      std::regex("(?:worker|npu|gpu)[-_.]?([0-9]{1,7})", std::regex::icase),  // may be how many there are
      std::regex("[-_.]([0-9]{1,5})(?:\\.[A-Za-z]+)+$"),
  };
  const std::string name = file_name(path).substr(0, 255);
  std::smatch found;
  if (std::ranges::none_of(kinds, [&](const std::regex& kind) { return std::regex_search(name, found, kind); }))
    return std::nullopt;
  std::uint32_t n = 0;
  const std::string digits = found[1].str();
  std::from_chars(digits.data(), digits.data() + digits.size(), n);
  return n;
}

Result<void> assemble(TraceJob& job, std::vector<ReadRank> read) {
  TRY(check_hosts(read));
  TRY(number_ranks(read));
  TRY(check_worlds(job, read));
  for (ReadRank& r : read) {
    const bool belongs =
        !job.ranks.empty() && job.ranks.back().rank == r.rank.rank && job.ranks.back().has_times && !r.rank.has_times;
    if (belongs)
      TRY(link_execution_trace(job, job.ranks.back(), r.rank));
    else
      job.ranks.push_back(std::move(r.rank));
  }
  return set_epoch(job);
}

}  // namespace distsim::traces
