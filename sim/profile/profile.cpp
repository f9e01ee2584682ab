#include "sim/profile/profile.hpp"

#include <algorithm>
#include <set>

#include "base/median.hpp"
#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "base/text/quantity_text.hpp"
#include "sim/profile/collective_table.hpp"
#include "sim/profile/gpu_use.hpp"
#include "sim/profile/host_overheads.hpp"
#include "sim/profile/op_rates.hpp"
#include "sim/profile/step_split.hpp"
#include "sim/profile/work_tree.hpp"

namespace distsim::profile {
namespace {

RecordCounts counts_of(const traces::TraceRank& rank) {
  RecordCounts c;
  for (const traces::DeviceRecord& d : rank.device_records) {
    (d.kind == traces::DeviceRecordKind::kernel ? c.kernels : c.copies) += 1;
    c.unlaunched += d.launch == traces::kNone ? 1 : 0;
  }
  c.host = rank.host_records.size();
  c.collectives = rank.collectives.size();
  c.streams = rank.streams.size();
  return c;
}

std::uint32_t gpus_of(const traces::TraceRank& rank) {
  std::set<std::uint32_t> gpus;
  for (const traces::TraceStream& s : rank.streams) {
    if (s.begin < s.end) gpus.insert(s.device);
  }
  return static_cast<std::uint32_t>(gpus.size());
}

RankProfile profile_of(const traces::TraceJob& job, const traces::TraceRank& rank, const ProfileOptions& options) {
  RankProfile p;
  p.rank = rank.rank;
  p.records = counts_of(rank);
  p.gpus = gpus_of(rank);
  profile_steps(rank, p);
  if (p.steps.empty()) return p;
  const GpuUse use(job, rank);
  for (StepProfile& s : p.steps) use.fill(s);
  use.fill(p.whole);
  // Device work of the last step may end after its mark on the host, so the tables go on to the end of the trace.
  const std::int64_t begin = p.steps.front().step.start_ns;
  const std::int64_t host_end = p.steps.back().step.end_ns;
  const std::int64_t end = std::max(host_end, p.whole.step.end_ns) + 1;
  for (const traces::DeviceRecord& d : rank.device_records) {
    p.device_time += d.duration_ns;
    p.device_time_before += d.start_ns < begin ? d.duration_ns : 0;
  }
  p.overheads = host_overheads(rank, begin, host_end);
  p.profiler = profiler_cost(records_in_steps(rank, p), p, options);
  p.corrected = host_overheads(rank, begin, host_end, p.profiler.per_record);
  p.tree = work_tree(job, rank, begin, end);
  p.kernels = kernel_table(job, rank, begin, end);
  p.ops = op_rates(job, rank, begin, end);
  p.variants = kernel_variants(job, rank, begin, end);
  return p;
}

/// So many times the profiled iteration is none of the same run without the profiler. Chosen: iterations differ, too.
constexpr double kMostUnprofiled = 1.25;

/// One thread records one thing at a time: what it records in an iteration takes no longer than that.
Result<void> check_record_cost(const traces::TraceJob& job, const Profile& profile, const ProfileOptions& options) {
  if (options.record_ns <= 0) return {};
  for (std::size_t r = 0; r < profile.ranks.size(); ++r) {
    const RankProfile& p = profile.ranks[r];
    std::vector<double> records(job.ranks[r].threads.size());
    double iterations = 0, busiest = 0;
    for (const StepProfile& s : p.steps) iterations += static_cast<double>(s.step.end_ns - s.step.start_ns);
    for (const traces::HostRecord& h : job.ranks[r].host_records) {
      const bool in_steps = std::ranges::any_of(
          p.steps, [&](const StepProfile& s) { return h.start_ns >= s.step.start_ns && h.start_ns < s.step.end_ns; });
      if (in_steps && h.thread < records.size()) busiest = std::max(busiest, ++records[h.thread]);
    }
    if (busiest * static_cast<double>(options.record_ns) <= iterations) continue;
    const auto seconds = [](double ns) { return format_quantity(ns * 1e-9, Dimension::seconds); };
    return Error{"--record-cost: found " + seconds(static_cast<double>(options.record_ns)) + ", expected at most " +
                     seconds(iterations / busiest) + ", as a thread has " +
                     counted(static_cast<std::uint64_t>(busiest), "record") + " in the " + seconds(iterations) +
                     (p.steps_marked ? " of the iterations" : " of the trace"),
                 job.ranks[r].path, ""};
  }
  return {};
}

/// A profiler slows the host; the work of the GPU takes as long without it.
Result<void> check_unprofiled(const traces::TraceJob& job, const Profile& profile, const ProfileOptions& options) {
  if (options.unprofiled_ns <= 0) return {};
  const auto seconds = [](std::int64_t ns) {
    return format_quantity(static_cast<double>(ns) * 1e-9, Dimension::seconds);
  };
  for (std::size_t r = 0; r < profile.ranks.size(); ++r) {
    const ProfilerCost& cost = profile.ranks[r].profiler;
    if (cost.with > 0 && static_cast<double>(cost.without) > kMostUnprofiled * static_cast<double>(cost.with))
      return Error{"--unprofiled: found " + seconds(cost.without) + ", expected at most about " + seconds(cost.with) +
                       ", which an iteration takes with the profiler",
                   job.ranks[r].path, "is it the time of one iteration?"};
    if (!profile.ranks[r].steps_marked) continue;  // the whole trace is no iteration
    std::vector<std::int64_t> busy;
    for (const StepProfile& s : profile.ranks[r].steps) busy.push_back(s.split.busy);
    if (busy.empty()) continue;
    const std::int64_t middle = median(std::move(busy));
    if (options.unprofiled_ns >= middle) continue;
    return Error{"--unprofiled: found " + seconds(options.unprofiled_ns) + ", expected at least " + seconds(middle) +
                     ", which the GPU is busy in an iteration",
                 job.ranks[r].path, ""};
  }
  return {};
}

}  // namespace

bool knows_waits(const RankProfile& rank) {
  const std::uint64_t on_gpu = rank.records.kernels + rank.records.copies;
  return on_gpu == 0 || rank.records.unlaunched < on_gpu;
}

std::int64_t sm_time_within(const RankProfile& rank, const StepProfile& step) {
  return step.split.wall * std::max(1u, rank.gpus);
}

bool knows_launches(const RankProfile& rank) { return knows_waits(rank) || rank.whole.launches > 0; }

bool has_overheads(const RankProfile& rank) { return rank.overheads.t1.count + rank.overheads.t2.count > 0; }

std::string work_before_steps(const RankProfile& rank) {
  constexpr double kNegligible = 0.01;  // chosen
  const auto ms = [](std::int64_t ns) { return format_quantity(static_cast<double>(ns) * 1e-9, Dimension::seconds); };
  const auto before = static_cast<double>(rank.device_time_before), all = static_cast<double>(rank.device_time);
  if (!rank.steps_marked || before <= kNegligible * all) return "";
  return ms(rank.device_time_before) + " of " + ms(rank.device_time) +
         " of kernels and copies ran before the first step, " + in_quotes(rank.steps.front().step.name) +
         ": the tables of kernels, ops and the tree are without them";
}

Result<Profile> make_profile(const traces::TraceJob& job, const ProfileOptions& options) {
  if (job.ranks.empty()) return Error{"found no trace, expected one with times", "", ""};
  const auto untimed = std::ranges::find(job.ranks, false, &traces::TraceRank::has_times);
  if (untimed != job.ranks.end())
    return Error{"found " + untimed->format + " without times" +
                     (job.ranks.size() == 1 ? "" : " of rank " + std::to_string(untimed->rank)) +
                     ", expected one with them",
                 untimed->path, "pass the Kineto trace of the same run along with it"};
  Profile out;
  for (const traces::TraceRank& rank : job.ranks) out.ranks.push_back(profile_of(job, rank, options));
  TRY(check_unprofiled(job, out, options));
  TRY(check_record_cost(job, out, options));
  profile_collectives(job, out);
  return out;
}

}  // namespace distsim::profile
