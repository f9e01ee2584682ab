#include "traces/verdict.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/fnv.hpp"
#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "base/text/quantity_text.hpp"
#include "traces/build/collective_text.hpp"
#include "traces/trace_steps.hpp"

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
  return std::any_of(job.ranks.begin(), job.ranks.end(),
                     [](const TraceRank& r) { return !r.device_records.empty() || r.in_slices; });
}

bool has_kernels(const TraceJob& job) {
  const auto is_kernel = [](const DeviceRecord& d) { return d.kind == DeviceRecordKind::kernel; };
  return std::ranges::any_of(
      job.ranks, [&](const TraceRank& r) { return r.in_slices || std::ranges::any_of(r.device_records, is_kernel); });
}

struct Overlaps {
  std::uint64_t kernels = 0, at_once = 0, twice = 0;
};

/// Kernels that start before one earlier on their stream has ended, and those that are the one before again.
Overlaps overlaps_of(const TraceRank& rank) {
  Overlaps out;
  for (const TraceStream& stream : rank.streams) {
    std::int64_t end = INT64_MIN;
    const DeviceRecord* before = nullptr;
    for (std::uint32_t i = stream.begin; i < stream.end; ++i) {
      const DeviceRecord& d = rank.device_records[i];
      if (d.kind != DeviceRecordKind::kernel) continue;
      ++out.kernels;
      if (end != INT64_MIN && d.start_ns < end - kRounding) ++out.at_once;
      end = std::max(end, d.end_ns());
      if (before != nullptr && d.duration_ns > 0 && before->start_ns == d.start_ns &&
          before->duration_ns == d.duration_ns && before->name == d.name)
        ++out.twice;
      before = &d;
    }
  }
  return out;
}

/// Of all kernels, when more are there twice than a profiler's slip explains; chosen.
constexpr double kKernelsTwice = 0.1;

/// Work of a GPU that begins this long before the call that launched it: clocks of host and GPU are not that far apart.
constexpr std::int64_t kBeforeItsLaunch = 1'000'000;  // ns

/// Nor does all work of a rank wait so long for a GPU that had nothing to do when the first of it was launched.
constexpr std::int64_t kAfterItsLaunch = 1'000'000'000;  // ns

struct LaunchOrder {
  std::uint64_t launched = 0, before = 0, early = 0, timeless = 0, kernels = 0;  ///< early: before by kBeforeItsLaunch
  std::int64_t least_delay = INT64_MAX;                                          ///< ns from a launch to its kernel
  std::uint64_t late = 0;      ///< launched, and begun by kAfterItsLaunch later on a GPU that had nothing else to do
  std::int64_t most_idle = 0;  ///< ns that the GPU had nothing to do before one of those
};

void find_late(const TraceRank& rank, LaunchOrder& out) {
  std::vector<const DeviceRecord*> by_start;
  for (const DeviceRecord& d : rank.device_records) by_start.push_back(&d);
  std::ranges::stable_sort(by_start, {}, &DeviceRecord::start_ns);
  std::int64_t busy_until = INT64_MIN;
  for (const DeviceRecord* d : by_start) {
    if (d->kind == DeviceRecordKind::kernel && d->launch != kNone) {
      const std::int64_t idle = d->start_ns - std::max(busy_until, rank.host_records[d->launch].end_ns());
      out.late += idle > kAfterItsLaunch ? 1 : 0;
      if (idle > kAfterItsLaunch) out.most_idle = std::max(out.most_idle, idle);
    }
    busy_until = std::max(busy_until, d->end_ns());
  }
}

LaunchOrder launch_order_of(const TraceRank& rank) {
  LaunchOrder out;
  for (const DeviceRecord& d : rank.device_records) {
    if (d.kind != DeviceRecordKind::kernel) continue;
    ++out.kernels;
    out.timeless += d.duration_ns == 0 ? 1 : 0;
    if (d.launch == kNone) continue;
    ++out.launched;
    const std::int64_t delay = d.start_ns - rank.host_records[d.launch].start_ns;
    out.before += delay < -kRounding ? 1 : 0;
    out.early += delay < -kBeforeItsLaunch ? 1 : 0;
    out.least_delay = std::min(out.least_delay, delay);
  }
  find_late(rank, out);
  return out;
}

/// Launches of kernels that no GPU record belongs to, as where a profiler's buffers were full. Some may have run after the
/// profiler had stopped.
constexpr double kLostLaunches = 0.1;  // share of all that is more than that; chosen

/// Calls of some kinds, and those of them that no GPU record belongs to.
struct CallsWithoutWork {
  std::uint64_t calls = 0, lost = 0;
  bool many(double share) const {
    return lost >= kFewKernels && static_cast<double>(lost) > share * static_cast<double>(calls);
  }
};

/// What GPU records of the calls of a rank are missing; empty where no record says which call it belongs to. Copies within
/// the host and of nothing have none, so that only copies of which most are missing tell something.
std::vector<std::string> work_missing_from(const TraceRank& rank) {
  constexpr double kLostCopies = 0.5;  // chosen
  std::vector<bool> has_work(rank.host_records.size(), false);
  bool joined = false;
  for (const DeviceRecord& d : rank.device_records) {
    if (d.launch == kNone) continue;
    joined = has_work[d.launch] = true;
  }
  std::vector<std::string> out;
  if (!joined) return out;
  CallsWithoutWork kernels, copies;
  for (std::size_t i = 0; i < rank.host_records.size(); ++i) {
    const RuntimeCall call = rank.host_records[i].call;
    if (call != RuntimeCall::launch_kernel && call != RuntimeCall::memcpy) continue;
    CallsWithoutWork& of = call == RuntimeCall::launch_kernel ? kernels : copies;
    ++of.calls;
    of.lost += has_work[i] ? 0 : 1;
  }
  if (kernels.many(kLostLaunches))
    out.push_back("the GPU work of " + std::to_string(kernels.lost) + " of " +
                  counted(kernels.calls, "kernel launch", "kernel launches"));
  if (copies.many(kLostCopies))
    out.push_back("the GPU work of " + std::to_string(copies.lost) + " of " +
                  counted(copies.calls, "call for a copy", "calls for copies"));
  return out;
}

/// Work of GPUs that no call of the host belongs to. Some was launched before the profiler had started, and where a format has
/// no calls of the host none is missing.
std::string launches_missing_from(const TraceRank& rank) {
  if (!rank.has_times || rank.times_are_medians || rank.host_records.empty()) return "";
  const std::size_t all = rank.device_records.size();
  const auto without = static_cast<std::size_t>(
      std::ranges::count_if(rank.device_records, [](const DeviceRecord& d) { return d.launch == kNone; }));
  if (2 * without <= all) return "";
  return "the launches of " + std::to_string(without) + " of " + counted(all, "kernel or copy", "kernels and copies");
}

/// A profiler's steps follow each other without a gap: what was launched between two is of a step whose mark is wrong.
std::string steps_missing_from(const TraceRank& rank) {
  if (rank.steps.empty() || !rank.steps.front().name.starts_with(kProfilerStep)) return "";
  const std::int64_t begin = rank.steps.front().start_ns, end = rank.steps.back().end_ns;
  std::uint64_t launched = 0, between = 0;
  for (const DeviceRecord& d : rank.device_records) {
    if (d.launch == kNone || d.kind != DeviceRecordKind::kernel) continue;
    const std::int64_t at = rank.host_records[d.launch].start_ns;
    if (at < begin || at >= end) continue;
    ++launched;
    between += step_at(rank.steps, at) == kNone ? 1 : 0;
  }
  if (static_cast<double>(between) <= kLostLaunches * static_cast<double>(launched)) return "";
  return "the step of " + std::to_string(between) + " of " + counted(launched, "kernel") + " launched between steps";
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

/// Effects before their causes, and work without time.
Result<void> check_order(TraceRank& rank) {
  const LaunchOrder found = launch_order_of(rank);
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
  if (const std::string before = kernels_before_launches(rank); !before.empty() && 2 * found.early <= found.launched)
    rank.notes.assume(before + ": are host and GPU on one clock?");
  if (found.kernels > 0 && found.timeless == found.kernels)
    TRY(contradiction(rank, found.kernels,
                      counted(found.kernels, "kernel") + " that " +
                          std::string(agreeing(found.kernels, "takes", "take")) + " no time",
                      "durations", "was the trace edited, or its times rounded?"));
  return {};
}

/// Bytes a second that no link and no memory reaches, twice the fastest of 2026: 450 GB/s from host to GPU (NVLink-C2C), 900
/// GB/s between GPUs (NVLink 5), 8 TB/s in one (HBM3e, read and written: half of that; more from its cache).
double fastest_copy(CopyDirection direction) {
  switch (direction) {
    case CopyDirection::host_to_device:
    case CopyDirection::device_to_host:
      return 0.9e12;
    case CopyDirection::peer_to_peer:
      return 1.8e12;
    default:
      return 20e12;
  }
}

Result<void> check_copies(TraceRank& rank) {
  constexpr std::int64_t kLargeCopy = std::int64_t{1} << 20;  // the clock of a profiler is too coarse for shorter ones
  std::uint64_t large = 0, too_fast = 0;
  for (const DeviceRecord& d : rank.device_records) {
    if (d.kind != DeviceRecordKind::memcpy || d.bytes < kLargeCopy) continue;
    ++large;
    const double seconds = static_cast<double>(std::max<std::int64_t>(d.duration_ns, 1)) * 1e-9;
    too_fast += static_cast<double>(d.bytes) > fastest_copy(d.direction) * seconds ? 1 : 0;
  }
  if (too_fast == 0) return {};
  const std::string found = std::to_string(too_fast) + " of " + counted(large, "copy", "copies") +
                            " of 1 MiB or more faster than any link or memory";
  if (2 * too_fast > large)
    return contradiction(rank, large, found, "copies at the rate of a link", "are the sizes or times in another unit?");
  rank.notes.assume(found);
  return {};
}

/// A bus bandwidth that no link reaches: twice the fastest of 2026, 900 GB/s each way (NVLink 5) where switches add up, which
/// halves what an all-reduce sends.
constexpr double kFastestBus = 3.6e12;

/// Collectives that move their bytes faster than any link.
Result<void> check_collectives(TraceRank& rank, const TraceJob& job) {
  constexpr std::int64_t kLarge = std::int64_t{1} << 20;
  std::uint64_t large = 0, too_fast = 0;
  for (const TraceCollective& c : rank.collectives) {
    if (!c.kind_known || c.bytes < kLarge || c.device_record == kNone || c.group == kNone) continue;
    const TraceGroup& group = job.groups[c.group];
    const std::size_t ranks = group.ranks.empty() ? group.size : group.ranks.size();
    const std::int64_t ns = rank.device_records[c.device_record].duration_ns;
    if (ranks < 2 || ns <= 0) continue;
    ++large;
    const double busbw = graph::busbw_factor(c.kind, static_cast<std::uint32_t>(ranks)) * static_cast<double>(c.bytes) /
                         (static_cast<double>(ns) * 1e-9);
    too_fast += busbw > kFastestBus ? 1 : 0;
  }
  if (too_fast == 0) return {};
  const std::string found =
      std::to_string(too_fast) + " of " + counted(large, "collective") + " of 1 MiB or more faster than any link";
  if (2 * too_fast > large)
    return contradiction(rank, large, found, "collectives at the rate of a link",
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
void note_memory(TraceRank& rank) {
  const auto gb = [](std::int64_t bytes) { return format_quantity(static_cast<double>(bytes), Dimension::bytes); };
  const MemoryRecord *beyond_device = nullptr, *beyond_reserved = nullptr;
  std::uint64_t device_bytes = 0;
  for (const MemoryRecord& m : rank.memory) {
    const auto device = std::ranges::find(rank.devices, m.device, &TraceDevice::index);
    const std::uint64_t has = device == rank.devices.end() ? 0 : device->memory_bytes;
    const bool beyond = has > 0 && m.allocated > 0 && static_cast<std::uint64_t>(m.allocated) > has;
    if (beyond && (beyond_device == nullptr || m.allocated > beyond_device->allocated))
      beyond_device = &m, device_bytes = has;
    if (beyond_reserved == nullptr && m.reserved > 0 && m.allocated > m.reserved) beyond_reserved = &m;
  }
  if (beyond_device != nullptr)
    rank.notes.assume("found " + gb(beyond_device->allocated) + " allocated, expected at most the " +
                      gb(static_cast<std::int64_t>(device_bytes)) + " of GPU " + std::to_string(beyond_device->device));
  if (beyond_reserved != nullptr)
    rank.notes.assume("found " + gb(beyond_reserved->allocated) + " allocated of " + gb(beyond_reserved->reserved) +
                      " reserved, expected at most what is reserved");
}

/// Kernels that a call of another kind may launch: uneven parts are sent by broadcasts and reductions, a barrier reduces,
/// and what has no kernel of its own is sent and received.
bool may_launch(graph::CollectiveKind call, graph::CollectiveKind kernel) {
  using Kind = graph::CollectiveKind;
  return call == kernel || kernel == Kind::send_recv || (call == Kind::barrier && kernel == Kind::all_reduce) ||
         (call == Kind::all_gather && kernel == Kind::broadcast) ||
         (call == Kind::reduce_scatter && kernel == Kind::reduce);
}

/// What collectives say of themselves against their kernels' names, and against the rank that they were recorded on.
void note_collectives(TraceRank& rank, const TraceJob& job) {
  std::uint64_t unlike = 0, not_member = 0;
  std::string first_unlike, first_group;
  for (const TraceCollective& c : rank.collectives) {
    if (c.kind_known && c.device_record != kNone) {
      const std::string_view name = job.name(rank.device_records[c.device_record].name);
      const auto kernel = collective_of_kernel(name);
      if (kernel && !may_launch(c.kind, *kernel) && unlike++ == 0)
        first_unlike = std::string(graph::name_of(c.kind)) + " on " + in_quotes(name, 60);
    }
    if (job.world_size == 0 || c.group == kNone || job.groups[c.group].ranks.empty()) continue;
    if (!std::ranges::binary_search(job.groups[c.group].ranks, rank.rank) && not_member++ == 0)
      first_group = in_quotes(job.groups[c.group].name, 60);
  }
  if (unlike > 0)
    rank.notes.assume(counted(unlike, "collective") + " of " + std::to_string(rank.collectives.size()) +
                      " named as another kind than " + std::string(agreeing(unlike, "its kernel", "their kernels")) +
                      " (" + first_unlike + "); the name of the call is taken");
  if (not_member > 0)
    rank.notes.assume(counted(not_member, "collective") + " of " + std::to_string(rank.collectives.size()) +
                      " of groups without rank " + std::to_string(rank.rank) + " itself (the first: " + first_group +
                      "): are the ranks of groups global ones?");
}

std::int64_t median(std::vector<std::int64_t> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  return *middle;
}

/// Hosts of one run wait for each other in every iteration, so that their medians agree; as check_hugectr_hosts.
Result<void> check_iterations_of_hosts(const TraceJob& job) {
  constexpr std::int64_t kMostApart = 2;
  const TraceRank *fastest = nullptr, *slowest = nullptr;
  std::int64_t least = 0, most = 0;
  for (const TraceRank& rank : job.ranks) {
    if (!rank.times_are_medians || rank.measured_iterations_ns.empty()) continue;
    const std::int64_t time = median(rank.measured_iterations_ns);
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

}  // namespace

std::vector<std::string> missing_parts(const TraceJob& job) {
  std::vector<std::string> out;
  if (std::string ranks = ranks_missing_from(job); !ranks.empty()) out.push_back(std::move(ranks));
  const bool timed = std::any_of(job.ranks.begin(), job.ranks.end(), [](const TraceRank& r) { return r.has_times; });
  if (timed && !has_gpu_work(job)) out.emplace_back("kernels and copies of a GPU");
  if (timed && has_gpu_work(job) && !has_kernels(job)) out.emplace_back("kernels of a GPU (there are copies only)");
  std::map<std::string, std::vector<std::uint32_t>> by_text;
  for (const TraceRank& r : job.ranks) {
    for (const std::string& work : work_missing_from(r)) by_text[work].push_back(r.rank);
    if (const std::string calls = launches_missing_from(r); !calls.empty()) by_text[calls].push_back(r.rank);
    if (const std::string steps = steps_missing_from(r); !steps.empty()) by_text[steps].push_back(r.rank);
    for (const std::string& part : r.notes.missing) by_text[part].push_back(r.rank);
  }
  for (const auto& [text, ranks] : by_text) {
    const std::string who = job.ranks.size() == 1 ? "" : " (" + counted(ranks.size(), "rank") + ")";
    out.push_back(printable(text, 120) + who);
  }
  return out;
}

/// By how much the clocks differ is not known, only at least how much, so that none is moved.
std::string kernels_before_launches(const TraceRank& rank) {
  if (!rank.has_times || rank.times_are_medians) return "";
  const LaunchOrder found = launch_order_of(rank);
  if (2 * found.before <= found.launched) return "";
  return std::to_string(found.before) + " of " + counted(found.launched, "launched kernel") + " " +
         std::string(agreeing(found.before, "begins", "begin")) + " before the " +
         std::string(agreeing(found.before, "call that launched it", "calls that launched them")) + ", by up to " +
         std::to_string(-found.least_delay / 1000) + " us";
}

std::string verdict_of(const TraceJob& job) {
  std::string text;
  for (const std::string& part : missing_parts(job)) text += (text.empty() ? "partial, without " : "; ") + part;
  return text.empty() ? "complete" : text;
}

Result<void> check_plausible(TraceJob& job) {
  note_contradictions(job);
  note_copies_of_ranks(job);
  TRY(check_iterations_of_hosts(job));
  for (TraceRank& rank : job.ranks) {
    note_memory(rank);
    note_collectives(rank, job);
    if (!rank.has_times || rank.times_are_medians) continue;
    TRY(check_order(rank));
    TRY(check_copies(rank));
    TRY(check_collectives(rank, job));
    const Overlaps found = overlaps_of(rank);
    if (found.at_once == 0) continue;
    if (found.kernels >= kFewKernels && 2 * found.at_once > found.kernels)
      return Error{"found " + std::to_string(found.at_once) + " of " + counted(found.kernels, "kernel") +
                       " at the same time as another on their stream, expected one after the other",
                   rank.path, "are these the times of one GPU?"};
    if (found.kernels >= kFewKernels &&
        static_cast<double>(found.twice) > kKernelsTwice * static_cast<double>(found.kernels))
      return Error{"found " + std::to_string(found.twice) + " of " + counted(found.kernels, "kernel") +
                       " a second time, of the same name at the same time on the same stream, expected each once",
                   rank.path, "was the trace merged with itself?"};
    rank.notes.assume(counted(found.at_once, "kernel") + " of " + std::to_string(found.kernels) + " " +
                      std::string(agreeing(found.at_once, "overlaps", "overlap")) + " another on the same stream");
  }
  return {};
}

}  // namespace distsim::traces
