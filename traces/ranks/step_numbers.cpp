#include "traces/ranks/step_numbers.hpp"

#include <algorithm>
#include <set>

#include "traces/build/collective_join.hpp"
#include "traces/trace_steps.hpp"

namespace distsim::traces {
namespace {

/// "4, 5, 7 to 9" of numbers; of many, the first.
std::string runs_of(const std::set<std::int64_t>& numbers) {
  constexpr std::size_t kShown = 6;
  std::string text;
  std::size_t shown = 0;
  for (auto at = numbers.begin(); at != numbers.end();) {
    const std::int64_t first = *at;
    std::int64_t last = first;
    for (++at; at != numbers.end() && *at - 1 == last; ++at) last = *at;
    if (shown++ == kShown) return text + ", ...";
    text += (text.empty() ? "" : ", ") + std::to_string(first) +
            (last > first ? (last - 1 == first ? ", " : " to ") + std::to_string(last) : "");
  }
  return text;
}

std::string several(std::string_view noun, const std::set<std::int64_t>& numbers) {
  return std::string(noun) + (numbers.size() == 1 ? " " : "s ") + runs_of(numbers);
}

/// One recording in the time of its run, all of it in memory.
bool is_recording(const TraceRank& rank) {
  return rank.has_times && !rank.times_are_medians && !rank.in_slices &&
         !(rank.device_records.empty() && rank.host_records.empty());
}

std::set<std::int64_t> numbers_of(const TraceRank& rank) {
  std::set<std::int64_t> out;
  for (const TraceStep& s : rank.steps) out.insert(s.number);
  return out;
}

/// How many ranks have a step of each number.
std::map<std::int64_t, std::size_t> ranks_by_number(const TraceJob& job) {
  std::map<std::int64_t, std::size_t> out;
  for (const TraceRank& rank : job.ranks) {
    if (!is_recording(rank) || !has_numbered_steps(rank)) continue;
    for (const TraceStep& s : rank.steps) ++out[s.number];
  }
  return out;
}

/// When the host issued a collective; INT64_MIN: not recorded.
std::int64_t call_of(const TraceRank& rank, const TraceCollective& c) {
  if (c.device_record == kNone) return rank.host_records[c.host_record].start_ns;
  const std::uint32_t launch = rank.device_records[c.device_record].launch;
  return launch == kNone ? INT64_MIN : rank.host_records[launch].start_ns;
}

StepPlace place_at(const std::vector<TraceStep>& steps, std::int64_t ns) {
  const auto after = std::ranges::upper_bound(steps, ns, {}, &TraceStep::start_ns);
  if (after == steps.begin()) return {steps.front().number, StepPlace::Part::before};
  const TraceStep& step = *std::prev(after);
  return {step.number, ns < step.end_ns ? StepPlace::Part::in : StepPlace::Part::after};
}

}  // namespace

bool has_numbered_steps(const TraceRank& rank) {
  for (std::size_t i = 0; i < rank.steps.size(); ++i) {
    const TraceStep& s = rank.steps[i];
    if (!s.name.ends_with("#" + std::to_string(s.number))) return false;
    if (i > 0 && s.number <= rank.steps[i - 1].number) return false;
  }
  return !rank.steps.empty();
}

std::vector<StepPlace> step_places(const TraceRank& rank) {
  const bool has_calls =
      std::ranges::any_of(rank.collectives, [&](const auto& c) { return call_of(rank, c) != INT64_MIN; });
  std::vector<StepPlace> out;
  StepPlace last{rank.steps.front().number, StepPlace::Part::before};
  for (const TraceCollective& c : rank.collectives) {
    const std::int64_t call = has_calls ? call_of(rank, c) : start_of(rank, c);
    if (call != INT64_MIN) last = place_at(rank.steps, call);
    out.push_back(last);
  }
  return out;
}

std::vector<std::string> steps_missing_from_ranks(const TraceJob& job) {
  const std::map<std::int64_t, std::size_t> all = ranks_by_number(job);
  const bool any_marked =
      std::ranges::any_of(job.ranks, [](const TraceRank& r) { return is_recording(r) && !r.steps.empty(); });
  std::map<std::string, std::set<std::int64_t>> lacking;  // ranks by what they lack
  for (const TraceRank& rank : job.ranks) {
    if (!is_recording(rank)) continue;
    if (!has_numbered_steps(rank)) {
      if (any_marked && rank.steps.empty())
        lacking["the steps"].insert(rank.rank);
      else if (!all.empty())
        lacking["the numbers of the steps"].insert(rank.rank);
      continue;
    }
    std::set<std::int64_t> missing;
    const std::set<std::int64_t> own = numbers_of(rank);
    for (const auto& [number, ranks] : all) {
      if (!own.contains(number)) missing.insert(number);
    }
    if (!missing.empty()) lacking[several("step", missing)].insert(rank.rank);
  }
  std::vector<std::string> out;
  for (const auto& [what, ranks] : lacking) out.push_back(what + " of " + several("rank", ranks));
  return out;
}

void note_steps_apart(TraceJob& job) {
  const std::map<std::int64_t, std::size_t> all = ranks_by_number(job);
  std::set<std::int64_t> apart;
  std::size_t numbered = 0;
  for (const TraceRank& rank : job.ranks) {
    if (!is_recording(rank) || !has_numbered_steps(rank)) continue;
    ++numbered;
    if (std::ranges::all_of(rank.steps, [&](const TraceStep& s) { return all.at(s.number) == 1; }))
      apart.insert(rank.rank);
  }
  if (numbered < 2 || apart.empty()) return;
  job.notes.assume(several("rank", apart) + (apart.size() == 1 ? " has" : " have") +
                   " no step of a number that another rank has: are the traces of the same iterations of one run?");
}

}  // namespace distsim::traces
