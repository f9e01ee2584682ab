#include "traces/trace_steps.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <string_view>

#include "base/text/counted.hpp"
#include "base/text/names/name_pattern.hpp"
#include "base/text/printable.hpp"

namespace distsim::traces {
namespace {

TraceStep step_of(const HostRecord& r, std::string name, std::int64_t number) {
  TraceStep s;
  s.name = std::move(name);
  s.number = number;
  s.start_ns = r.start_ns;
  s.end_ns = r.end_ns();
  return s;
}

std::int64_t number_in(std::string_view name, std::int64_t otherwise) {
  const std::size_t hash = name.rfind('#');
  std::int64_t n = 0;
  if (hash == std::string_view::npos) return otherwise;
  const auto [end, error] = std::from_chars(name.data() + hash + 1, name.data() + name.size(), n);
  return error == std::errc() && end == name.data() + name.size() ? n : otherwise;
}

/// Profilers round the two ends of a range by themselves.
constexpr std::int64_t kStepRounding = 2'000;  // ns

/// Of outermost steps by start, those that begin before the one before has ended.
std::uint64_t overlapping(const std::vector<TraceStep>& steps) {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i + 1 < steps.size(); ++i)
    out += steps[i + 1].start_ns < steps[i].end_ns - kStepRounding ? 1 : 0;
  return out;
}

using Ranges = std::vector<const HostRecord*>;

std::vector<TraceStep> outermost(const Ranges& ranges, const NameTable& names) {
  std::vector<TraceStep> out;
  for (const HostRecord* r : ranges) out.push_back(step_of(*r, std::string(names.text(r->name)), 0));
  keep_outermost_steps(out);
  return out;
}

/// Those of threads that launched work of this rank: a process that drives several GPUs marks the steps of each on a thread
/// of its own, and readers give all to all. Which thread is whose is known by what it launched.
Ranges of_launching_threads(const TraceRank& rank, const Ranges& ranges) {
  std::set<std::uint32_t> launching;
  for (const DeviceRecord& d : rank.device_records) {
    if (d.launch != kNone) launching.insert(rank.host_records[d.launch].thread);
  }
  Ranges out;
  std::ranges::copy_if(ranges, std::back_inserter(out),
                       [&](const HostRecord* r) { return launching.contains(r->thread); });
  return out;
}

/// Spans of the records that `wanted` accepts.
template <class Wanted>
std::vector<TraceStep> spans(TraceRank& rank, const NameTable& names, Wanted wanted) {
  Ranges ranges;
  for (const HostRecord& r : rank.host_records) {
    if ((r.kind == HostKind::annotation || r.kind == HostKind::op) && wanted(r.name)) ranges.push_back(&r);
  }
  const auto timeless = std::erase_if(ranges, [](const HostRecord* r) { return r->end_ns() <= r->start_ns; });
  if (timeless > 0)
    rank.notes.assume(counted(timeless, "mark of a step takes no time and is left out",
                              "marks of steps take no time and are left out"));
  std::vector<TraceStep> steps = outermost(ranges, names);
  if (overlapping(steps) == 0) return steps;
  const Ranges own = of_launching_threads(rank, ranges);
  if (!own.empty() && own.size() < ranges.size()) {
    steps = outermost(own, names);
    rank.notes.assume(
        "steps of several threads overlap; those of threads that launch nothing on this GPU are left out");
  }
  if (const std::string overlap = overlap_of(steps); !overlap.empty()) rank.notes.assume(overlap);
  return steps;
}

/// From the start of each mark to the start of the next.
std::vector<TraceStep> intervals(const TraceRank& rank, const NameTable& names,
                                 const std::vector<std::uint32_t>& marks) {
  std::vector<TraceStep> out;
  for (std::size_t i = 0; i + 1 < marks.size(); ++i) {
    TraceStep s = step_of(rank.host_records[marks[i]], std::string(names.text(rank.host_records[marks[i]].name)),
                          static_cast<std::int64_t>(i));
    s.end_ns = rank.host_records[marks[i + 1]].start_ns;
    out.push_back(std::move(s));
  }
  return out;
}

/// Outermost annotations of one name on one thread.
using Marks = std::map<std::pair<std::uint32_t, NameId>, std::vector<std::uint32_t>>;
template <class Wanted>
Marks marks_of(const TraceRank& rank, Wanted wanted) {
  Marks out;
  for (std::uint32_t i = 0; i < rank.host_records.size(); ++i) {
    const HostRecord& r = rank.host_records[i];
    if (r.kind == HostKind::annotation && wanted(r)) out[{r.thread, r.name}].push_back(i);
  }
  return out;
}

const std::vector<std::uint32_t>* most(const Marks& marks) {
  const std::vector<std::uint32_t>* best = nullptr;
  for (const auto& [key, list] : marks) {
    if (list.size() >= 2 && (best == nullptr || list.size() > best->size())) best = &list;
  }
  return best;
}

/// The list with the longest time from first to last; ties: the first.
const std::vector<std::uint32_t>* widest(const TraceRank& rank, const Marks& marks) {
  const std::vector<std::uint32_t>* best = nullptr;
  std::int64_t best_span = 0;
  for (const auto& [key, list] : marks) {
    if (list.size() < 2) continue;
    const std::int64_t span = rank.host_records[list.back()].start_ns - rank.host_records[list.front()].start_ns;
    if (span > best_span) {
      best = &list;
      best_span = span;
    }
  }
  return best;
}

/// Which device records each step launched: the launching call starts inside it.
void attribute_device_work(TraceRank& rank) {
  for (const DeviceRecord& d : rank.device_records) {
    if (d.launch == kNone) continue;
    const std::uint32_t at = step_at(rank.steps, rank.host_records[d.launch].start_ns);
    if (at == kNone) continue;
    TraceStep* const step = &rank.steps[at];
    step->first_device_ns = step->device_records == 0 ? d.start_ns : std::min(step->first_device_ns, d.start_ns);
    step->last_device_ns = std::max(step->last_device_ns, d.end_ns());
    ++step->device_records;
  }
}

/// A profiler's marks of two steps do not lie inside each other, and count up by one.
void check_profiler_steps(TraceRank& rank, const NameTable& names) {
  std::map<std::string_view, const TraceStep*> left_out;  // by name: the step around it
  std::set<std::string_view> kept;
  for (const TraceStep& step : rank.steps) kept.insert(step.name);
  for (const HostRecord& r : rank.host_records) {
    const std::string_view name = names.text(r.name);
    if (r.kind != HostKind::annotation || !name.starts_with(kProfilerStep) || r.end_ns() <= r.start_ns) continue;
    if (kept.contains(name)) continue;
    const std::uint32_t around = step_at(rank.steps, r.start_ns);
    if (around != kNone && r.end_ns() <= rank.steps[around].end_ns) left_out.emplace(name, &rank.steps[around]);
  }
  if (!left_out.empty()) {
    const auto& [name, around] = *left_out.begin();
    rank.notes.miss(counted(left_out.size(), "step") + " marked inside " +
                    std::string(agreeing(left_out.size(), "another", "others")) + " (" + printable(name, 60) +
                    " inside " + printable(around->name, 60) + ")");
  }
  for (std::size_t i = 1; i < rank.steps.size(); ++i) {
    const TraceStep &step = rank.steps[i - 1], &next = rank.steps[i];
    if (next.number > step.number) continue;
    rank.notes.assume(printable(next.name, 60) + " follows " + printable(step.name, 60) +
                      ", expected numbers that count up: is this one recording?");
    break;  // one tells it
  }
}

/// Whether the names of two neighbours say that a profiler counted others between them.
bool skips_numbers(const TraceStep& step, const TraceStep& next) {
  return next.name.starts_with(kProfilerStep) && step.name.starts_with(kProfilerStep) && next.number > step.number &&
         next.number - 1 != step.number;
}

Result<void> steps_by_pattern(TraceRank& rank, const NameTable& names, const std::string& pattern) {
  const auto compiled = NamePattern::compile(pattern);
  if (!compiled) return Error{"step pattern: " + compiled.error().text(), "", ""};
  std::map<NameId, bool> verdicts;  // a regular expression is slow; names are few
  rank.steps = spans(rank, names, [&](NameId id) {
    const auto [at, fresh] = verdicts.emplace(id, false);
    if (fresh) at->second = compiled->found_in(names.text(id));
    return at->second;
  });
  if (rank.steps.empty())
    return Error{
        "found no annotation or op of some length that matches " + in_quotes(pattern) + ", expected one for each step",
        rank.path, ""};
  rank.notes.assume("steps are the ranges that match " + in_quotes(pattern));
  return {};
}

void steps_by_marks(TraceRank& rank, const NameTable& names) {
  const Marks optimizer =
      marks_of(rank, [&](const HostRecord& r) { return names.text(r.name).starts_with("Optimizer.step"); });
  if (const auto* marks = most(optimizer)) {
    rank.steps = intervals(rank, names, *marks);
    rank.notes.assume("no ProfilerStep: a step runs from one " +
                      in_quotes(names.text(rank.host_records[marks->front()].name)) + " to the next");
    return;
  }
  const Marks top = marks_of(rank, [&](const HostRecord& r) {
    const std::string_view name = names.text(r.name);
    return name.starts_with("##") || name.find("ataLoader") != std::string_view::npos ||
           name.find("dataloader") != std::string_view::npos;
  });
  const auto* marks = widest(rank, top);
  if (marks == nullptr) return;
  rank.steps = intervals(rank, names, *marks);
  attribute_device_work(rank);
  const bool works = std::ranges::any_of(rank.steps, [](const TraceStep& s) { return s.device_records > 0; });
  for (TraceStep& s : rank.steps) s.device_records = 0, s.first_device_ns = s.last_device_ns = -1;
  if (!works) {
    rank.steps.clear();
    return;
  }
  rank.notes.assume("no ProfilerStep: a step runs from one " +
                    in_quotes(names.text(rank.host_records[marks->front()].name)) + " to the next");
}

}  // namespace

std::string overlap_of(const std::vector<TraceStep>& steps) {
  const std::uint64_t n = overlapping(steps);
  if (n == 0) return "";
  return std::to_string(n) + " of " + counted(steps.size(), "step") + " " +
         std::string(agreeing(n, "begins", "begin")) +
         " before the one before has ended; what is launched from then on counts to the later one";
}

void keep_outermost_steps(std::vector<TraceStep>& steps) {
  std::ranges::stable_sort(steps, [](const TraceStep& a, const TraceStep& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
  });
  std::vector<TraceStep> top;
  for (TraceStep& s : steps) {
    if (!top.empty() && s.end_ns <= top.back().end_ns) continue;
    s.number = number_in(s.name, static_cast<std::int64_t>(top.size()));
    top.push_back(std::move(s));
  }
  steps = std::move(top);
}

void leave_out_cut_step(TraceRank& rank) {
  const bool others_work =
      rank.steps.size() > 1 &&
      std::all_of(rank.steps.begin(), rank.steps.end() - 1, [](const TraceStep& s) { return s.device_records > 0; });
  if (!others_work || rank.steps.back().device_records > 0) return;
  rank.notes.assume("the last step, " + in_quotes(rank.steps.back().name) + ", launches nothing" +
                    (rank.far_records > 0 ? " that is on the clock of the others, and is left out"
                                          : ": it was cut off by the end of the recording and is left out"));
  rank.steps.pop_back();
}

Result<void> find_steps(TraceRank& rank, const NameTable& names, const TraceOptions& options) {
  if (rank.times_are_medians) return {};  // the reader knows the one step
  rank.steps.clear();
  if (!options.step_pattern.empty()) {
    TRY(steps_by_pattern(rank, names, options.step_pattern));
  } else {
    rank.steps = spans(rank, names, [&](NameId id) { return names.text(id).starts_with(kProfilerStep); });
    rank.steps.empty() ? steps_by_marks(rank, names) : check_profiler_steps(rank, names);
  }
  attribute_device_work(rank);
  if (!options.slice) leave_out_cut_step(rank);
  for (std::size_t i = 1; i < rank.steps.size(); ++i) {
    const TraceStep &step = rank.steps[i - 1], &next = rank.steps[i];
    if (is_followed_by(step, next) && !skips_numbers(step, next)) continue;
    rank.notes.miss("what ran between " + printable(step.name, 60) + " and " + printable(next.name, 60));
    break;  // one tells it
  }
  return {};
}

bool is_followed_by(const TraceStep& step, const TraceStep& next) {
  const bool counts_on = step.number != INT64_MAX && next.number == step.number + 1;  // names hold any number
  return counts_on || next.start_ns - step.end_ns < (step.end_ns - step.start_ns) / 2;
}

std::uint32_t step_at(const std::vector<TraceStep>& steps, std::int64_t ns) {
  const auto after = std::ranges::upper_bound(steps, ns, {}, &TraceStep::start_ns);
  if (after == steps.begin() || ns >= std::prev(after)->end_ns) return kNone;
  return static_cast<std::uint32_t>(after - steps.begin()) - 1;
}

std::vector<TraceStep> steps_or_whole(const TraceRank& rank) {
  return rank.steps.empty() ? whole_window(rank) : rank.steps;
}

std::vector<TraceStep> whole_window(const TraceRank& rank) {
  TraceStep whole;
  whole.name = "whole trace";
  bool any = false;
  const auto add = [&](std::int64_t start, std::int64_t end) {
    whole.start_ns = any ? std::min(whole.start_ns, start) : start;
    whole.end_ns = any ? std::max(whole.end_ns, end) : end;
    any = true;
  };
  for (const DeviceRecord& d : rank.device_records) add(d.start_ns, d.end_ns());
  whole.device_records = static_cast<std::uint32_t>(rank.device_records.size());
  if (any) {
    whole.first_device_ns = whole.start_ns;
    whole.last_device_ns = whole.end_ns;
  }
  for (const HostRecord& h : rank.host_records) {
    if (whole.device_records == 0) add(h.start_ns, h.end_ns());
  }
  return any ? std::vector<TraceStep>{whole} : std::vector<TraceStep>{};
}

}  // namespace distsim::traces
