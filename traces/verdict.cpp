#include "traces/verdict.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/fnv.hpp"
#include "base/median.hpp"
#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "base/text/quantity_text.hpp"
#include "traces/hugectr/hugectr_verdict.hpp"
#include "traces/ranks/step_numbers.hpp"
#include "traces/work_counts.hpp"

namespace distsim::traces {
namespace {

constexpr std::uint64_t kFewKernels = 20;  // fewer prove nothing
constexpr std::size_t kShownRuns = 6;      // of missing ranks

/// "ranks 1, 5 to 7 of 8" of those below `world` that are not there; `stated`: not only that it has as many at least.
std::string missing_ranks(const std::set<std::uint32_t>& there, std::uint32_t world, bool stated) {
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
         (stated ? "" : "at least ") + std::to_string(world);
}

/// Where their number is not stated, those below the highest one that a trace or its name says.
std::string ranks_missing_from(const TraceJob& job) {
  constexpr std::uint32_t kMost = 1u << 24;
  std::set<std::uint32_t> there;
  std::uint32_t least = 0;
  for (const TraceRank& r : job.ranks) {
    there.insert(r.rank);
    if (!r.rank_is_guessed) least = std::max(least, std::min(r.rank, kMost - 1) + 1);
  }
  const bool stated = job.world_size > 0;
  return missing_ranks(there, stated ? std::min(job.world_size, kMost) : least, stated);
}

bool has_gpu_work(const TraceJob& job) {
  return std::any_of(job.ranks.begin(), job.ranks.end(),
                     [](const TraceRank& r) { return !r.device_records.empty() || r.work.device_records > 0; });
}

bool has_kernels(const TraceJob& job) {
  const auto is_kernel = [](const DeviceRecord& d) { return d.kind == DeviceRecordKind::kernel; };
  return std::ranges::any_of(job.ranks, [&](const TraceRank& r) {
    return r.work.kernels > 0 || std::ranges::any_of(r.device_records, is_kernel);
  });
}

/// Of all kernels, when more are there twice than a profiler's slip explains; chosen.
constexpr double kKernelsTwice = 0.1;

/// Launches of kernels that no GPU record belongs to, as where a profiler's buffers were full. Some may have run after the
/// profiler had stopped.
constexpr double kLostLaunches = 0.1;  // share of all that is more than that; chosen

bool many(std::uint64_t lost, std::uint64_t calls, double share) {
  return lost >= kFewKernels && static_cast<double>(lost) > share * static_cast<double>(calls);
}

/// Where all graphs lack theirs and other work belongs to no call, the format may not say that it is theirs.
bool graphs_tell(const WorkCounts& work) {
  const LaunchCounts& graphs = work.graph_launches;
  return graphs.all == 0 || graphs.lost_at.size() < graphs.all || work.unlaunched == 0;
}

std::uint64_t lost_of(const WorkCounts& work, const LaunchCounts& of) {
  return many(of.lost_at.size(), of.all, kLostLaunches) ? of.lost_at.size() : work.lost_between(of);
}

/// What GPU records of the calls of a rank are missing; empty where no record says which call it belongs to. Copies within
/// the host and of nothing have none, so that only copies of which most are missing tell something.
std::vector<std::string> work_missing_from(const WorkCounts& work) {
  constexpr double kLostCopies = 0.5;  // chosen
  std::vector<std::string> out;
  if (!work.joined) return out;
  if (const std::uint64_t lost = lost_of(work, work.launches); lost > 0)
    out.push_back("the GPU work of " + std::to_string(lost) + " of " +
                  counted(work.launches.all, "kernel launch", "kernel launches"));
  if (const std::uint64_t lost = lost_of(work, work.graph_launches); graphs_tell(work) && lost > 0)
    out.push_back("the GPU work of " + std::to_string(lost) + " of " +
                  counted(work.graph_launches.all, "graph launch", "graph launches"));
  if (many(work.lost_copies, work.copy_calls, kLostCopies))
    out.push_back("the GPU work of " + std::to_string(work.lost_copies) + " of " +
                  counted(work.copy_calls, "call for a copy", "calls for copies"));
  return out;
}

/// Launches that the ends of the recording do not explain: a stream runs in the order of the launches, so that what it runs
/// behind a launch that is there was launched later. Of what follows the last one, and of streams without any launch, only many
/// tell something, as of launches without work.
std::uint64_t launches_lost(const WorkCounts& work) {
  if (2 * work.unlaunched > work.device_records) return work.unlaunched;
  if (!work.joined || !graphs_tell(work)) return 0;
  std::uint64_t between = 0, all = 0;
  for (const auto& [stream, of] : work.unlaunched_of) {
    between += of.between;
    all += of.has_launched ? of.between + of.after : of.before;
  }
  return many(all, work.device_records, kLostLaunches) ? all : between;
}

/// Work of GPUs that no call of the host belongs to. Some was launched before the profiler had started, and where a format has
/// no calls of the host none is missing.
std::string launches_missing_from(const TraceRank& rank, const WorkCounts& work) {
  if (!rank.has_times || rank.times_are_medians || work.host_records == 0) return "";
  const std::uint64_t lost = launches_lost(work);
  if (lost == 0) return "";
  return "the launches of " + std::to_string(lost) + " of " +
         counted(work.device_records, "kernel or copy", "kernels and copies");
}

/// A profiler's steps follow each other without a gap: what was launched between two is of a step whose mark is wrong.
std::string steps_missing_from(const WorkCounts& work) {
  if (static_cast<double>(work.between_steps) <= kLostLaunches * static_cast<double>(work.in_steps)) return "";
  return "the step of " + std::to_string(work.between_steps) + " of " + counted(work.in_steps, "kernel") +
         " launched between steps";
}

WorkCounts work_of(const TraceJob& job, const TraceRank& rank) {
  return rank.in_slices ? rank.work : count_work(job, rank, rank.steps);
}

/// What no GPU does, of so many kernels or copies: where there are enough of them an Error, else a note.
Result<void> contradiction(TraceRank& rank, std::uint64_t kernels, const std::string& found, const char* expected,
                           const char* hint) {
  if (kernels >= kFewKernels) return Error{"found " + found + ", expected " + expected, rank.path, hint};
  rank.notes.assume(found + ", expected " + expected + "; too few to be sure");
  return {};
}

std::string seconds_text(std::int64_t ns) {
  return format_quantity(static_cast<double>(ns) * 1e-9, Dimension::seconds);
}

/// By how much the clocks differ is not known, only at least how much, so that none is moved.
std::string begun_before(const TraceRank& rank, const WorkCounts& found) {
  if (!rank.has_times || rank.times_are_medians || 2 * found.before <= found.launched) return "";
  return std::to_string(found.before) + " of " + counted(found.launched, "launched kernel") + " " +
         std::string(agreeing(found.before, "begins", "begin")) + " before the " +
         std::string(agreeing(found.before, "call that launched it", "calls that launched them")) + ", by up to " +
         std::to_string(-found.least_delay / 1000) + " us";
}

/// Records so far from the others that they are on another clock: half a recording is none.
Result<void> check_far(const TraceRank& rank, const WorkCounts& work) {
  constexpr double kMostFar = 0.1;  // of all records; chosen
  const std::uint64_t all = work.host_records + work.device_records + rank.far_records;
  if (!many(rank.far_records, all, kMostFar)) return {};
  return Error{"found " + std::to_string(rank.far_records) + " of " + counted(all, "record") +
                   " more than 11 days from the others, expected one recording, on one clock",
               rank.path, "were two traces put together?"};
}

/// A rank is one process. A profiler within it records no other, so that a second one that launches work is another rank.
Result<void> check_processes(TraceRank& rank, const WorkCounts& work) {
  if (work.launches_of_process.size() < 2) return {};
  std::uint64_t all = 0, most = 0;
  std::string each;
  std::size_t shown = 0;
  for (const auto& [process, calls] : work.launches_of_process) {
    all += calls;
    most = std::max(most, calls);
    if (shown++ < kShownRuns)
      each += (each.empty() ? "" : ", ") + std::to_string(calls) + " of process " +
              std::to_string(static_cast<std::int64_t>(process));
  }
  return contradiction(rank, all - most,
                       "launches of " + std::to_string(work.launches_of_process.size()) + " processes (" + each +
                           (shown > kShownRuns ? ", ..." : "") + ")",
                       "those of one: a rank is a process", "were the traces of several ranks put together?");
}

/// Effects before their causes, and work without time.
Result<void> check_order(TraceRank& rank, const WorkCounts& found) {
  if (2 * found.early > found.launched)
    TRY(contradiction(rank, found.launched,
                      std::to_string(found.early) + " of " + counted(found.launched, "kernel") +
                          " more than 1 ms before the calls that launched them",
                      "causes before effects", "are host and GPU on one clock?"));
  else if (found.early > 0)
    rank.notes.assume(std::to_string(found.early) + " of " + counted(found.launched, "kernel") + " " +
                      std::string(agreeing(found.early, "begins", "begin")) + " more than 1 ms before the " +
                      std::string(agreeing(found.early, "call that launched it", "calls that launched them")) +
                      ", by up to " + seconds_text(-found.least_delay) + ": spans and steps begin with " +
                      std::string(agreeing(found.early, "it", "them")));
  if (found.late > 0 && found.least_delay <= kAfterItsLaunch)
    rank.notes.assume(std::to_string(found.late) + " of " + counted(found.launched, "kernel") + " " +
                      std::string(agreeing(found.late, "begins", "begin")) + " after up to " +
                      seconds_text(found.most_idle) +
                      " in which the GPU had nothing to do and the kernel was launched already: is its time right?");
  if (found.launched > 0 && found.least_delay > kAfterItsLaunch)
    TRY(contradiction(rank, found.launched,
                      counted(found.launched, "kernel") + ", all more than 1 s after the calls that launched them",
                      "some soon after", "are host and GPU on one clock?"));
  if (const std::string before = begun_before(rank, found); !before.empty() && 2 * found.early <= found.launched)
    rank.notes.assume(before + ": are host and GPU on one clock?");
  if (found.kernels > 0 && found.timeless == found.kernels)
    TRY(contradiction(rank, found.kernels,
                      counted(found.kernels, "kernel") + " that " +
                          std::string(agreeing(found.kernels, "takes", "take")) + " no time",
                      "durations", "was the trace edited, or its times rounded?"));
  return {};
}

/// Calls that wait for work of the GPU and return before it has ended: the clock of the GPU is late.
Result<void> check_host_waits(TraceRank& rank, const WorkCounts& found) {
  if (found.ended_before == 0) return {};
  const auto what = [&](std::uint64_t n, const char* by) {
    return std::to_string(n) + " of " + counted(found.host_waits, "call") + " that " +
           std::string(agreeing(found.host_waits, "waits", "wait")) + " for the GPU " +
           std::string(agreeing(n, "returns", "return")) + by + " before the work launched ahead has ended";
  };
  if (2 * found.ended_early > found.host_waits)
    return contradiction(
        rank, found.host_waits,
        what(found.ended_early, " more than 1 ms") + " (up to " + seconds_text(found.most_before) + ")",
        "calls that return after it", "are host and GPU on one clock?");
  rank.notes.assume(what(found.ended_before, "") + ", by up to " + seconds_text(found.most_before) +
                    ": are host and GPU on one clock?");
  return {};
}

void note_short(TraceRank& rank, std::uint64_t found, std::uint64_t all, const char* what) {
  if (found == 0) return;
  rank.notes.assume(
      std::to_string(found) + " of " + counted(all, what) + " " + std::string(agreeing(found, "takes", "take")) +
      " less than 0.2 us, in which no GPU starts one, reads memory and ends it: are all times in one unit?");
}

/// Of times in whole microseconds, a short one is rounded to 0.
void note_short_kernels(TraceRank& rank, const WorkCounts& work) {
  if (work.timeless == work.kernels) return;  // all: check_order
  const std::uint64_t rounded = work.in_nanoseconds > 0 ? 0 : work.timeless - work.lost_times();
  note_short(rank, work.too_short - rounded, work.kernels, "kernel");
}

/// Medians over iterations have no launches. Iterations consist of the events, of which the records are parts.
void note_medians(TraceRank& rank) {
  std::vector<std::int64_t> starts, ends;
  std::uint64_t timeless = 0, too_short = 0;
  for (const MedianEvent& e : rank.median_events) {
    starts.push_back(e.start_ns);
    ends.push_back(e.end_ns());
    timeless += e.duration_ns == 0 ? 1 : 0;
    too_short += e.duration_ns > 0 && e.duration_ns < kShortestKernel ? 1 : 0;
  }
  note_short(rank, too_short, rank.median_events.size(), "event");
  const std::size_t events = rank.median_events.size();
  if (timeless > 0)
    rank.notes.assume(std::to_string(timeless) + " of " + counted(events, "event") + " " +
                      std::string(agreeing(timeless, "takes", "take")) + " no time");
  if (events > 2 && std::ranges::min(starts) == std::ranges::max(starts))
    rank.notes.assume("all " + std::to_string(events) +
                      " events begin at once, expected one after the other: are their starts recorded?");
  if (rank.measured_iterations_ns.empty() || events == 0) return;
  const std::int64_t iteration = upper_median(rank.measured_iterations_ns);
  if (std::string beyond = iterations_beyond_events(iteration, starts, ends); !beyond.empty())
    rank.notes.assume(std::move(beyond));
}

Result<void> check_copies(TraceRank& rank, const WorkCounts& work) {
  if (work.fast_copies == 0) return {};
  const std::string found = std::to_string(work.fast_copies) + " of " + counted(work.large_copies, "copy", "copies") +
                            " of 1 MiB or more faster than any link or memory";
  if (2 * work.fast_copies > work.large_copies)
    return contradiction(rank, work.large_copies, found, "copies at the rate of a link",
                         "are the sizes or times in another unit?");
  rank.notes.assume(found);
  return {};
}

/// Collectives that move their bytes faster than any link.
Result<void> check_collectives(TraceRank& rank, const WorkCounts& work) {
  if (work.fast_collectives == 0) return {};
  const std::string found = std::to_string(work.fast_collectives) + " of " +
                            counted(work.large_collectives, "collective") + " of 1 MiB or more faster than any link";
  if (2 * work.fast_collectives > work.large_collectives)
    return contradiction(rank, work.large_collectives, found, "collectives at the rate of a link",
                         "are sizes or times in another unit?");
  rank.notes.assume(found);
  return {};
}

/// Ranks whose kernels are those of another to the nanosecond. What distsim itself writes has such ranks, so that they are
/// named and not refused.
void note_copies_of_ranks(TraceJob& job) {
  if (job.ranks.size() < 2) return;
  std::map<std::uint64_t, std::uint32_t> first;
  std::uint64_t copies = 0;
  std::string which;
  for (const TraceRank& rank : job.ranks) {
    if (!rank.has_times || rank.times_are_medians || rank.device_records.size() < kFewKernels) continue;
    Fnv64 hash;
    for (const DeviceRecord& d : rank.device_records) {
      hash.add_word(static_cast<std::uint64_t>(d.start_ns));
      hash.add_word(static_cast<std::uint64_t>(d.duration_ns));
    }
    const auto [at, is_new] = first.emplace(hash.value(), rank.rank);
    if (is_new) continue;
    if (copies++ == 0)
      which = "ranks " + std::to_string(at->second) + " and " + std::to_string(rank.rank) +
              " have the same kernels at the same nanoseconds";
  }
  if (copies == 0) return;
  job.notes.assume(which + (copies > 1 ? ", as " + std::to_string(copies - 1) + " more" : "") +
                   ": is one trace a copy of the other?");
}

/// Groups of more ranks than the job has.
void note_groups_beyond(TraceJob& job) {
  if (job.world_size == 0) return;
  std::uint64_t beyond = 0;
  std::string first;
  for (const TraceGroup& g : job.groups) {
    const bool listed = !g.ranks.empty() && g.ranks.back() >= job.world_size;
    if (!listed && g.size <= job.world_size) continue;
    if (beyond++ > 0) continue;
    first = (g.name.empty() ? "one" : in_quotes(g.name, 60)) +
            (listed ? " lists rank " + std::to_string(g.ranks.back()) : " has " + counted(g.size, "rank"));
  }
  if (beyond == 0) return;
  job.notes.assume(counted(beyond, "process group") + " of " + std::to_string(job.groups.size()) +
                   " with more ranks than the " + std::to_string(job.world_size) + " of the job (the first: " + first +
                   "): is the stated number of ranks that of the job?");
}

/// Names of GPUs in a job, and collectives whose members do not agree on their size.
void note_contradictions(TraceJob& job) {
  std::set<std::string> gpus;
  for (const TraceRank& rank : job.ranks) {
    for (const TraceDevice& d : rank.devices) {
      if (!d.name.empty() && gpus.size() < kShownRuns) gpus.insert(printable(d.name, 60));
    }
  }
  if (gpus.size() > 1) {
    std::string names;
    for (const std::string& name : gpus) names += (names.empty() ? "" : ", ") + name;
    job.notes.assume("the job names several GPUs (" + names + "): is it one job?");
  }
  std::uint64_t unequal = 0;
  for (const CollectiveMatch& match : job.matches) {
    if (match.kind != graph::CollectiveKind::all_reduce) continue;  // of others, ranks may hold different shares
    std::set<std::int64_t> sizes;
    for (const CollectiveMatch::Member& m : match.members)
      sizes.insert(job.ranks[m.rank].collectives[m.collective].bytes);
    sizes.erase(-1);
    unequal += sizes.size() > 1 ? 1 : 0;
  }
  if (unequal > 0)
    job.notes.assume(counted(unequal, "all-reduce") + " of " + std::to_string(job.matches.size()) +
                     " matched collectives " + std::string(agreeing(unequal, "has", "have")) +
                     " different sizes on its ranks: are the traces of one run?");
}

/// An allocator holds what it gives out, and no more than the device has.
void note_memory(TraceRank& rank, const WorkCounts& work) {
  const auto gb = [](std::int64_t bytes) { return format_quantity(static_cast<double>(bytes), Dimension::bytes); };
  if (const LargestMemory& m = work.beyond_device; m.found > 0)
    rank.notes.assume("found " + gb(m.found) + " allocated, expected at most the " + gb(m.limit) + " of GPU " +
                      std::to_string(m.device));
  if (const LargestMemory& m = work.beyond_reserved; m.found > 0)
    rank.notes.assume("found " + gb(m.found) + " allocated of " + gb(m.limit) +
                      " reserved, expected at most what is reserved");
}

/// What collectives say of themselves against their kernels' names, and against the rank that they were recorded on.
void note_collectives(TraceRank& rank, const WorkCounts& work) {
  if (work.unlike > 0)
    rank.notes.assume(counted(work.unlike, "collective") + " of " + std::to_string(work.collectives) +
                      " named as another kind than " +
                      std::string(agreeing(work.unlike, "its kernel", "their kernels")) + " (" + work.first_unlike +
                      "); the name of the call is taken");
  if (work.two_sizes > 0)
    rank.notes.assume(std::to_string(work.two_sizes) + " of " + counted(work.collectives, "collective") + " " +
                      std::string(agreeing(work.two_sizes, "states", "state")) +
                      " numbers of elements that do not fit together (the first: " + work.first_two_sizes +
                      "); the size is not known");
  if (work.other_calls > 0)
    rank.notes.assume(counted(work.other_calls, "collective") + " of " + std::to_string(work.collectives) +
                      " of another size than the " +
                      std::string(agreeing(work.other_calls, "call that launched it", "calls that launched them")) +
                      " (the first: " + work.first_other_call + "); the size is not known");
  if (work.other_dtypes > 0)
    rank.notes.assume(std::to_string(work.other_dtypes) + " of " + counted(work.collectives, "collective") + " " +
                      std::string(agreeing(work.other_dtypes, "states", "state")) +
                      " two types of elements in the call, the kernel or its name (the first: " +
                      work.first_other_dtype + "); the size is not known");
  if (work.not_member > 0)
    rank.notes.assume(
        counted(work.not_member, "collective") + " of " + std::to_string(work.collectives) +
        " of groups without rank " + std::to_string(rank.rank) +
        (rank.rank_is_guessed ? ", a number that nothing in the trace says" : " itself") +
        " (the first: " + work.first_group + "): " +
        (rank.rank_is_guessed ? "name the file by its rank, e.g. rank3.json" : "are the ranks of groups global ones?"));
}

/// Work behind the last step of a profiler, as much as half of one: its mark may be lost.
void note_work_after_steps(TraceRank& rank, const WorkCounts& work) {
  if (work.steps == 0 || work.after_steps < kFewKernels || 2 * work.after_steps * work.steps <= work.in_steps) return;
  rank.notes.assume(counted(work.after_steps, "kernel") +
                    " launched after the last step belong to none: is the mark of a step missing?");
}

/// Formats without calls of the host do not say when work was launched; a time in which nothing runs tells of a wrong one.
void note_hole(TraceRank& rank, const WorkCounts& work) {
  constexpr std::int64_t kFarWider =
      100;  // times all work; chosen: a program that loads and prepares data waits for less
  constexpr std::int64_t kWide = 1'000'000'000;  // ns, chosen
  if (work.unlaunched < work.device_records || work.widest_hole <= kWide) return;
  if (work.widest_hole / kFarWider <= work.device_time) return;
  rank.notes.assume("nothing runs for " + seconds_text(work.widest_hole) + ", beside " +
                    seconds_text(work.device_time) + " of all work: is the start of a record wrong?");
}

/// Nor do they say how long the host took. Where nearly all work stands alone, starts are in a larger unit than durations.
void note_units(TraceRank& rank, const WorkCounts& work) {
  if (work.unlaunched < work.device_records || work.device_records < kFewKernels) return;
  if (5 * work.far_behind <= 4 * work.device_records) return;
  rank.notes.assume(std::to_string(work.far_behind) + " of " +
                    counted(work.device_records, "kernel or copy", "kernels and copies") + " " +
                    std::string(agreeing(work.far_behind, "begins", "begin")) +
                    " after the GPU had nothing to do for more than " + std::to_string(kFarBehind) +
                    " times as long as the work before and after took: are starts and durations in one unit?");
}

/// Bodies of conditions and loops, and nodes that were turned off, look as those whose work is lost.
void note_idle_nodes(TraceRank& rank, const WorkCounts& work) {
  const WorkCounts::IdleNodes nodes = work.idle_nodes();
  if (nodes.idle == 0) return;
  rank.notes.assume("CUDA graphs: " + std::to_string(nodes.idle) + " of " + counted(nodes.all, "node") +
                    " did not run in launches whose graph ran them at other times: lost, or parts that do not run " +
                    "each time");
}

/// The host waits for its GPU before a recording ends: what runs on for far longer than all that was recorded has a wrong time.
void note_overtime(TraceRank& rank, const WorkCounts& work) {
  constexpr std::int64_t kFarLonger = 100;  // times what the host recorded; chosen: a queue of launches is shorter
  if (work.launched == 0 || work.late > 0 || work.least_delay > kAfterItsLaunch) return;  // named by check_order
  const std::int64_t beyond = work.device_end - work.host_end, recorded = work.host_end - work.host_begin;
  if (beyond <= kAfterItsLaunch || beyond / kFarLonger <= recorded) return;
  rank.notes.assume("the last work of the GPU ends " + seconds_text(beyond) +
                    " after the last record of the host, which are of " + seconds_text(recorded) +
                    " in all: is its duration right?");
}

/// Hosts of one run wait for each other in every iteration, so that their medians agree; as check_hugectr_hosts.
Result<void> check_iterations_of_hosts(const TraceJob& job) {
  constexpr std::int64_t kMostApart = 2;
  const TraceRank *fastest = nullptr, *slowest = nullptr;
  std::int64_t least = 0, most = 0;
  for (const TraceRank& rank : job.ranks) {
    if (!rank.times_are_medians || rank.measured_iterations_ns.empty()) continue;
    const std::int64_t time = upper_median(rank.measured_iterations_ns);
    if (fastest == nullptr || time < least) fastest = &rank, least = time;
    if (slowest == nullptr || time > most) slowest = &rank, most = time;
  }
  if (fastest == nullptr || most / kMostApart <= least) return {};
  const auto ms = [](std::int64_t ns) {
    return format_quantity(static_cast<double>(ns) * 1e-6, Dimension::none) + " ms";
  };
  return Error{"found iterations of " + ms(most) + ", where " + in_quotes(fastest->path, 200) + " has some of " +
                   ms(least) + ", expected hosts of one run, which wait for each other",
               slowest->path, ""};
}

/// Error: many of them are in the trace a second time.
Result<void> check_twice(const TraceRank& rank, std::uint64_t twice, std::uint64_t all, const char* one,
                         const char* several, const char* where = "on the same stream") {
  if (all < kFewKernels || static_cast<double>(twice) <= kKernelsTwice * static_cast<double>(all)) return {};
  return Error{"found " + std::to_string(twice) + " of " + counted(all, one, several) +
                   " a second time, of the same name at the same time " + where + ", expected each once",
               rank.path, "was the trace merged with itself?"};
}

/// Those of one launch that are there again on another stream.
Result<void> check_elsewhere(TraceRank& rank, const WorkCounts& work) {
  if (rank.twice_elsewhere == 0) return {};
  TRY(check_twice(rank, rank.twice_elsewhere, work.device_records, "kernel or copy", "kernels and copies",
                  "and of the same launch on another stream"));
  rank.notes.assume(std::to_string(rank.twice_elsewhere) + " of " +
                    counted(work.device_records, "kernel or copy", "kernels and copies") + " " +
                    std::string(agreeing(rank.twice_elsewhere, "is", "are")) +
                    " there twice, of one launch on two streams");
  return {};
}

/// Kernels of one stream run one after the other.
Result<void> check_overlaps(TraceRank& rank, const WorkCounts& found) {
  TRY(check_twice(rank, found.copies_twice, found.copies_in_streams, "copy or memset", "copies and memsets"));
  if (found.copies_twice > 0)
    rank.notes.assume(counted(found.copies_twice, "copy or memset", "copies and memsets") + " of " +
                      std::to_string(found.copies_in_streams) + " " +
                      std::string(agreeing(found.copies_twice, "is", "are")) + " there twice");
  if (found.at_once == 0) return {};
  if (found.in_streams >= kFewKernels && 2 * found.at_once > found.in_streams)
    return Error{"found " + std::to_string(found.at_once) + " of " + counted(found.in_streams, "kernel") +
                     " at the same time as another on their stream, expected one after the other",
                 rank.path, "are these the times of one GPU?"};
  TRY(check_twice(rank, found.twice, found.in_streams, "kernel", "kernels"));
  rank.notes.assume(counted(found.at_once, "kernel") + " of " + std::to_string(found.in_streams) + " " +
                    std::string(agreeing(found.at_once, "overlaps", "overlap")) + " another on the same stream");
  return {};
}

Result<void> check_rank(const TraceJob& job, TraceRank& rank) {
  const WorkCounts work = work_of(job, rank);
  TRY(check_far(rank, work));
  TRY(check_processes(rank, work));
  note_memory(rank, work);
  note_collectives(rank, work);
  if (rank.times_are_medians) note_medians(rank);
  if (!rank.has_times || rank.times_are_medians) return {};
  note_short_kernels(rank, work);
  TRY(check_order(rank, work));
  TRY(check_host_waits(rank, work));
  TRY(check_copies(rank, work));
  TRY(check_collectives(rank, work));
  note_work_after_steps(rank, work);
  note_hole(rank, work);
  note_units(rank, work);
  note_overtime(rank, work);
  note_idle_nodes(rank, work);
  TRY(check_elsewhere(rank, work));
  return check_overlaps(rank, work);
}

}  // namespace

std::vector<std::string> missing_parts(const TraceJob& job) {
  std::vector<std::string> out;
  if (std::string ranks = ranks_missing_from(job); !ranks.empty()) out.push_back(std::move(ranks));
  const bool timed = std::any_of(job.ranks.begin(), job.ranks.end(), [](const TraceRank& r) { return r.has_times; });
  if (timed && !has_gpu_work(job)) out.emplace_back("kernels and copies of a GPU");
  if (timed && has_gpu_work(job) && !has_kernels(job)) out.emplace_back("kernels of a GPU (there are copies only)");
  for (std::string& part : missing_from_hugectr(job)) out.push_back(std::move(part));
  for (std::string& part : steps_missing_from_ranks(job)) out.push_back(std::move(part));
  std::map<std::string, std::vector<std::uint32_t>> by_text;
  for (const TraceRank& r : job.ranks) {
    const WorkCounts work = work_of(job, r);
    for (const std::string& calls : work_missing_from(work)) by_text[calls].push_back(r.rank);
    if (const std::string calls = launches_missing_from(r, work); !calls.empty()) by_text[calls].push_back(r.rank);
    if (const std::string steps = steps_missing_from(work); !steps.empty()) by_text[steps].push_back(r.rank);
    for (const std::string& part : r.notes.missing) by_text[part].push_back(r.rank);
  }
  for (const auto& [text, ranks] : by_text) {
    const std::string who = job.ranks.size() == 1 ? "" : " (" + counted(ranks.size(), "rank") + ")";
    out.push_back(printable(text, 120) + who);
  }
  return out;
}

std::string kernels_before_launches(const TraceJob& job, const TraceRank& rank) {
  return begun_before(rank, work_of(job, rank));
}

std::string verdict_of(const TraceJob& job) {
  std::string text;
  for (const std::string& part : missing_parts(job)) text += (text.empty() ? "partial, without " : "; ") + part;
  return text.empty() ? "complete" : text;
}

Result<void> check_plausible(TraceJob& job) {
  note_contradictions(job);
  note_groups_beyond(job);
  note_copies_of_ranks(job);
  TRY(check_iterations_of_hosts(job));
  for (TraceRank& rank : job.ranks) TRY(check_rank(job, rank));
  return {};
}

}  // namespace distsim::traces
