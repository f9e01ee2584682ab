#include "sim/profile/profile_in_pieces.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "base/system/inputs/input_record.hpp"
#include "base/text/printable.hpp"
#include "sim/profile/collective_table.hpp"
#include "sim/profile/gpu_use.hpp"
#include "sim/profile/host_overheads.hpp"
#include "sim/profile/op_rates.hpp"
#include "sim/profile/step_split.hpp"
#include "sim/profile/work_tree.hpp"
#include "traces/build/collective_join.hpp"
#include "traces/build/rank_builder.hpp"
#include "traces/kineto/kineto_reader.hpp"
#include "traces/kineto/kineto_survey.hpp"
#include "traces/registry.hpp"
#include "traces/trace_steps.hpp"
#include "traces/verdict.hpp"

namespace distsim::profile {
namespace {

struct Window {
  std::int64_t begin = 0, end = 0;
  bool has(std::int64_t t) const { return t >= begin && t < end; }
};

void add(OverheadSummary& to, const OverheadSummary& from) {
  const double all = static_cast<double>(to.count + from.count);
  const auto weighted = [&](std::int64_t a, std::int64_t b) {
    return std::llround((static_cast<double>(a) * static_cast<double>(to.count) +
                         static_cast<double>(b) * static_cast<double>(from.count)) /
                        all);
  };
  if (from.count == 0) return;
  to.median = weighted(to.median, from.median);
  to.p90 = weighted(to.p90, from.p90);
  to.count += from.count;
  to.total += from.total;
}

void add(HostOverheads& to, const HostOverheads& from) {
  add(to.t1, from.t1);
  add(to.t2, from.t2);
  add(to.t3, from.t3);
  add(to.t4, from.t4);
  add(to.t5, from.t5);
}

/// The next part of the whole window; between the two nothing runs, and the GPU waits for the host or not. Stretches
/// without work count only where there is no other.
void add_part(StepProfile& to, const StepProfile& from, bool waits_for_host) {
  const bool works = to.step.device_records > 0, more = from.step.device_records > 0;
  if (from.step.name.empty() || (works && !more)) {
    to.launches += from.launches;
    return;
  }
  if (to.step.name.empty() || works != more) {
    const std::uint32_t launches = to.launches;
    to = from;
    to.launches += launches;
    return;
  }
  const std::int64_t between = std::max<std::int64_t>(0, from.step.start_ns - to.step.end_ns);
  to.split.wall += between;
  to.split.idle += between;
  to.gaps.count += between > 0 ? 1 : 0;
  to.gaps.total += between;
  to.gaps.longest = std::max(to.gaps.longest, between);
  to.gaps.waiting_for_host += waits_for_host ? between : 0;
  to.step.end_ns = from.step.end_ns;
  to.step.last_device_ns = from.step.last_device_ns;
  to.step.device_records += from.step.device_records;
  to.split.wall += from.split.wall;
  to.split.busy += from.split.busy;
  to.split.compute += from.split.compute;
  to.split.comm += from.split.comm;
  to.split.exposed += from.split.exposed;
  to.split.idle += from.split.idle;
  to.gaps.count += from.gaps.count;
  to.gaps.total += from.gaps.total;
  to.gaps.longest = std::max(to.gaps.longest, from.gaps.longest);
  to.gaps.waiting_for_host += from.gaps.waiting_for_host;
  to.kernels += from.kernels;
  to.launches += from.launches;
  to.occupancy.add(from.occupancy);
  if (to.memory.begin < 0) to.memory.begin = from.memory.begin;
  to.memory.peak = std::max(to.memory.peak, from.memory.peak);
  if (from.memory.end >= 0) to.memory.end = from.memory.end;
  to.profiler += from.profiler;
  to.profiler_idle += from.profiler_idle;
}

void add(KernelSummary& to, const KernelSummary& from) {
  if (to.calls == 0) {
    to = from;
    return;
  }
  to.calls += from.calls;
  to.total += from.total;
  to.shortest = std::min(to.shortest, from.shortest);
  to.longest = std::max(to.longest, from.longest);
  to.bytes += from.bytes;
  to.occupancy.add(from.occupancy);
}

void add(OpRate& to, const OpRate& from) {
  if (to.calls == 0) {
    to = from;
    return;
  }
  to.calls += from.calls;
  to.device_time += from.device_time;
  to.flops += from.flops;
  to.bytes += from.bytes;
  to.least_bytes += from.least_bytes;
}

void add(CollectiveSummary& to, const CollectiveSummary& from) {
  if (to.calls == 0) {
    to = from;
    return;
  }
  const double time = static_cast<double>(to.total_duration), more = static_cast<double>(from.total_duration);
  if (time + more > 0) to.busbw = (to.busbw * time + from.busbw * more) / (time + more);
  to.calls += from.calls;
  to.records += from.records;
  to.total_duration += from.total_duration;
}

template <class Rows, class Time>
auto longest_first(Rows& rows, Time time) {
  std::vector<typename Rows::mapped_type> out;
  for (auto& [key, row] : rows) out.push_back(std::move(row));
  std::ranges::stable_sort(out, [&](const auto& a, const auto& b) { return time(a) > time(b); });
  return out;
}

class Pieces {
 public:
  Pieces(const traces::KinetoSurvey& survey, bool keep_steps) : survey_(survey), keep_steps_(keep_steps) {
    for (const traces::TraceStep& s : survey.steps) {
      step_starts_.push_back(s.start_ns);
      step_ends_.push_back(s.end_ns);
    }
    std::ranges::sort(step_starts_);
    std::ranges::sort(step_ends_);
  }

  void add_slice(traces::TraceJob job, const traces::TraceSlice& slice);
  Result<PiecedProfile> finish();

 private:
  void count_records(const traces::TraceRank& rank, const Window& slice, std::int64_t offset);
  void add_steps(const RankProfile& piece, const SliceEdge& edge, std::int64_t shift);
  void add_collectives(traces::TraceJob& job, const Window& slice);
  void leave_out_cut_step();
  void keep_first(const traces::TraceJob& job);
  void add_verdict(const traces::TraceJob& job, const traces::TraceSlice& slice, std::int64_t offset);
  void add_notes(const traces::TraceJob& job);

  const traces::KinetoSurvey& survey_;
  const bool keep_steps_;
  PiecedProfile out_;
  RankProfile rank_;
  std::set<std::string, std::less<>> said_;  ///< notes of slices, without their digits
  std::map<std::pair<std::string, traces::DeviceRecordKind>, KernelSummary> kernels_;
  std::map<std::pair<std::string, std::string>, OpRate> ops_;
  /// By kind, group, its size, bytes and whether their times are known.
  std::map<std::tuple<std::string, std::string, std::uint32_t, std::int64_t, bool>, CollectiveSummary> collectives_;
  std::set<std::pair<std::uint32_t, std::uint64_t>> streams_;
  std::set<std::uint32_t> gpus_;                                  ///< that ran something
  std::vector<std::int64_t> step_starts_, step_ends_;             ///< of the survey's steps; each sorted
  std::int64_t records_in_steps_ = 0, records_in_last_step_ = 0;  ///< of the host
  std::int64_t dry_ = INT64_MIN;  ///< when the last work of all slices so far ended, on out_'s clock
};

void Pieces::add_slice(traces::TraceJob job, const traces::TraceSlice& s) {
  traces::TraceRank& rank = job.ranks.front();
  const std::int64_t offset = job.epoch_ns - survey_.base_ns;  // from the job's clock to that of the file
  const Window slice{s.begin - offset, s.end - offset};
  if (out_.slices == 0) keep_first(job);
  add_verdict(job, s, offset);
  if (!keep_steps_) rank.steps.clear();
  RankProfile piece;
  const std::int64_t shift = job.epoch_ns - out_.job.epoch_ns;
  const SliceEdge edge =
      profile_steps_within(rank, {slice.begin, slice.end, dry_ == INT64_MIN ? dry_ : dry_ - shift}, piece);
  const GpuUse use(job, rank);
  for (StepProfile& step : piece.steps) use.fill(step);
  use.fill(piece.whole);
  Window tables = slice,
         host = {std::max(slice.begin, piece.whole.step.start_ns), std::min(slice.end, piece.whole.step.end_ns)};
  if (keep_steps_) {
    tables.begin = std::max(slice.begin, survey_.steps.front().start_ns - offset);
    host = {tables.begin, std::min(slice.end, survey_.steps.back().end_ns - offset)};
  }
  add(rank_.overheads, host_overheads(rank, host.begin, host.end));
  rank_.tree = merge_trees(rank_.tree, work_tree(job, rank, tables.begin, tables.end));
  for (const KernelSummary& k : kernel_table(job, rank, tables.begin, tables.end)) add(kernels_[{k.name, k.kind}], k);
  for (const OpRate& o : op_rates(job, rank, tables.begin, tables.end)) add(ops_[{o.name, o.shapes}], o);
  rank_.variants = merge_variants(std::move(rank_.variants), kernel_variants(job, rank, tables.begin, tables.end));
  for (const traces::DeviceRecord& d : rank.device_records) {
    if (!slice.has(d.start_ns)) continue;
    rank_.device_time += d.duration_ns;
    rank_.device_time_before += d.start_ns < tables.begin ? d.duration_ns : 0;
  }
  count_records(rank, slice, offset);
  add_steps(piece, edge, shift);
  add_collectives(job, slice);
  ++out_.slices;
}

/// What is of the file, which each slice knows.
void Pieces::keep_first(const traces::TraceJob& job) {
  const traces::TraceRank& rank = job.ranks.front();
  out_.job.epoch_ns = job.epoch_ns;
  out_.job.world_size = job.world_size;
  rank_.rank = rank.rank;
  traces::TraceRank kept;
  kept.rank = rank.rank;
  kept.in_slices = true;
  kept.path = rank.path;
  kept.format = rank.format;
  kept.host_name = rank.host_name;
  kept.devices = rank.devices;
  kept.notes.dropped = rank.notes.dropped;
  out_.job.ranks.push_back(std::move(kept));
}

/// What the records of the slice say of missing work adds up; what else was noted of it is kept.
void Pieces::add_verdict(const traces::TraceJob& job, const traces::TraceSlice& slice, std::int64_t offset) {
  std::vector<traces::TraceStep> steps = survey_.steps;
  for (traces::TraceStep& s : steps) s.start_ns -= offset, s.end_ns -= offset;
  traces::WorkCounts work =
      traces::count_work(job, job.ranks.front(), steps, {slice.begin - offset, slice.end - offset});
  work.shift(offset);
  out_.job.ranks.front().work.add(work);
  out_.job.ranks.front().far_records += job.ranks.front().far_records;
  out_.job.ranks.front().twice_elsewhere += job.ranks.front().twice_elsewhere;
  add_notes(job);
}

std::string without_digits(std::string text) {
  std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
  return text;
}

/// The notes of counts that add up.
void note_counts(traces::TraceNotes& notes, const traces::WorkCounts& work) {
  traces::note_unlaunched(notes, work.unlaunched, work.device_records);
  traces::note_unknown_collectives(notes, work.communication, work.no_kind, work.no_size);
}

/// Those that several slices have with other numbers are kept once, as one tells it.
void Pieces::add_notes(const traces::TraceJob& job) {
  const traces::TraceRank& rank = job.ranks.front();
  traces::TraceNotes counted, &kept = out_.job.ranks.front().notes;
  note_counts(counted, traces::count_work(job, rank, {}));
  for (const std::string& text : rank.notes.assumptions) {
    const bool of_counts = std::ranges::find(counted.assumptions, text) != counted.assumptions.end();
    const bool of_other_steps = !keep_steps_ && text.starts_with("no ProfilerStep: ");
    if (of_counts || of_other_steps) continue;
    if (said_.insert(without_digits(text)).second) kept.assume(text);
  }
  for (const std::string& text : rank.notes.missing) {
    if (said_.insert(without_digits(text)).second) kept.miss(text);
  }
  for (const std::string& text : job.notes.assumptions) {
    if (said_.insert(without_digits(text)).second) out_.job.notes.assume(text);
  }
}

/// `offset`: from the clock of the job to that of the survey's steps.
void Pieces::count_records(const traces::TraceRank& rank, const Window& slice, std::int64_t offset) {
  RecordCounts& c = rank_.records;
  for (const traces::DeviceRecord& d : rank.device_records) {
    if (!slice.has(d.start_ns)) continue;
    (d.kind == traces::DeviceRecordKind::kernel ? c.kernels : c.copies) += 1;
    c.unlaunched += d.launch == traces::kNone ? 1 : 0;
  }
  for (const traces::HostRecord& h : rank.host_records) {
    if (!slice.has(h.start_ns)) continue;
    ++c.host;
    const std::int64_t at = h.start_ns + offset;
    records_in_steps_ += std::ranges::upper_bound(step_starts_, at) - step_starts_.begin();
    records_in_steps_ -= std::ranges::upper_bound(step_ends_, at) - step_ends_.begin();
    records_in_last_step_ +=
        keep_steps_ && at >= survey_.steps.back().start_ns && at < survey_.steps.back().end_ns ? 1 : 0;
  }
  for (const traces::TraceStream& s : rank.streams) {
    streams_.emplace(s.device, s.id);
    if (s.begin < s.end) gpus_.insert(s.device);
  }
}

/// Steps of earlier slices that ended after all work so far wait for the first work of this one.
void Pieces::add_steps(const RankProfile& piece, const SliceEdge& edge, std::int64_t shift) {
  for (StepProfile& p : rank_.steps) {
    if (!edge.waits_for_host || p.step.end_ns <= dry_) continue;
    const std::int64_t from = std::max(dry_, p.step.start_ns), to = std::min(edge.first + shift, p.step.end_ns);
    p.gaps.waiting_for_host += std::max<std::int64_t>(0, to - from);
  }
  if (edge.works) dry_ = edge.dry + shift;
  const auto moved = [shift](StepProfile p) {
    p.step.start_ns += shift;
    p.step.end_ns += shift;
    if (p.step.device_records > 0) p.step.first_device_ns += shift, p.step.last_device_ns += shift;
    return p;
  };
  add_part(rank_.whole, moved(piece.whole), edge.waits_for_host);
  for (const StepProfile& p : piece.steps) rank_.steps.push_back(moved(p));
}

/// Only collectives of the slice: those of its margins belong to its neighbours.
void Pieces::add_collectives(traces::TraceJob& job, const Window& slice) {
  traces::TraceRank& rank = job.ranks.front();
  std::erase_if(rank.collectives, [&](const traces::TraceCollective& c) {
    return !slice.has(c.device_record != traces::kNone ? rank.device_records[c.device_record].start_ns
                                                       : rank.host_records[c.host_record].start_ns);
  });
  rank_.records.collectives += rank.collectives.size();
  Profile table;
  profile_collectives(job, table);
  for (const CollectiveSummary& c : table.collectives)
    add(collectives_[{c.kind, c.group, c.group_size, c.bytes, c.records > 0}], c);
}

void Pieces::leave_out_cut_step() {
  traces::TraceRank& rank = out_.job.ranks.front();
  for (const StepProfile& p : rank_.steps) rank.steps.push_back(p.step);
  traces::leave_out_cut_step(rank);
  if (rank.steps.size() < rank_.steps.size()) {
    rank_.steps.pop_back();
    records_in_steps_ -= records_in_last_step_;
  }
  rank.steps.clear();
}

Result<PiecedProfile> Pieces::finish() {
  leave_out_cut_step();
  rank_.steps_marked = !rank_.steps.empty();
  if (!rank_.steps_marked && !rank_.whole.step.name.empty()) rank_.steps.push_back(rank_.whole);
  set_measured_times(rank_);
  rank_.profiler = profiler_cost(rank_.steps_marked ? records_in_steps_ : -1, rank_, {});
  rank_.records.streams = streams_.size();
  rank_.gpus = static_cast<std::uint32_t>(gpus_.size());
  rank_.kernels = longest_first(kernels_, [](const KernelSummary& k) { return k.total; });
  rank_.ops = longest_first(ops_, [](const OpRate& o) { return o.device_time; });
  for (auto& [key, row] : collectives_) out_.profile.collectives.push_back(std::move(row));
  std::ranges::stable_sort(out_.profile.collectives, comes_first);
  traces::TraceNotes& notes = out_.job.ranks.front().notes;
  note_counts(notes, out_.job.ranks.front().work);
  TRY(traces::check_plausible(out_.job));
  out_.profile.ranks.push_back(std::move(rank_));
  notes.assume("read in " + std::to_string(out_.slices) +
               (out_.slices == 1 ? " slice" : " slices of time; medians of host overheads are means over the slices"));
  if (const std::string overlap = traces::overlap_of(survey_.steps); !overlap.empty()) notes.assume(overlap);
  if (!keep_steps_) notes.assume("no ProfilerStep: other kinds of steps are not searched for in slices");
  return std::move(out_);
}

Result<traces::TraceFile> only_trace(const std::vector<std::string>& paths, const traces::TraceOptions& options) {
  TRY_ASSIGN(const std::vector<std::string> files, traces::expand_paths(paths));
  if (files.size() != 1)
    return Error{"found " + std::to_string(files.size()) + " files, expected one to be read in slices", "",
                 "ranks can only be compared in memory"};
  TRY_ASSIGN(const std::vector<traces::TraceFile> traces, traces::open_trace_file(files.front(), options));
  if (traces.size() != 1)
    return Error{"found " + std::to_string(traces.size()) + " traces in an archive, expected one to be read in slices",
                 printable(files.front(), 300), "unpack it"};
  TRY_ASSIGN(const traces::TraceFormat* format, traces::format_of(traces.front()));
  if (format != &traces::kKineto)
    return Error{"found " + std::string(format->name) + ", expected " + std::string(traces::kKineto.name) +
                     " to be read in slices",
                 printable(files.front(), 300), ""};
  return traces.front();
}

Result<PiecedProfile> read_in_pieces(const std::vector<std::string>& paths, const traces::TraceOptions& options,
                                     std::uint64_t records) {
  TRY_ASSIGN(const traces::TraceFile file, only_trace(paths, options));
  TRY_ASSIGN(const traces::KinetoSurvey survey, traces::survey_kineto(file, options));
  if (survey.steps.empty() && !options.step_pattern.empty())
    return Error{
        "found no annotation or op that matches " + in_quotes(options.step_pattern) + ", expected one for each step",
        printable(file.path, 300), ""};
  Pieces pieces(survey, !survey.steps.empty());
  for (const traces::TraceSlice& slice : traces::plan_slices(survey, records)) {
    traces::TraceOptions part = options;
    part.slice = slice;
    TRY_ASSIGN(traces::TraceJob job, traces::read_traces(paths, part));
    pieces.add_slice(std::move(job), slice);
  }
  return pieces.finish();
}

}  // namespace

Result<PiecedProfile> profile_in_pieces(const std::vector<std::string>& paths, const traces::TraceOptions& options,
                                        std::uint64_t records) {
  InputRecord opened;  // each slice reads the file anew
  Result<PiecedProfile> pieces = read_in_pieces(paths, options, records);
  if (const Result<void> unchanged = check_unchanged(opened.take()); !unchanged.ok()) {
    Error error = unchanged.error();
    error.where = printable(error.where, 300);
    return error;
  }
  return pieces;
}

}  // namespace distsim::profile
