#include "sim/engine/rows/recurrence.hpp"

#include <algorithm>

#include "sim/engine/program/program_check.hpp"
#include "sim/engine/rows/group_max.hpp"

namespace distsim::engine {

Recurrence::Recurrence(const Program& program) : program_(program), played_(program.steps.size()) {
  input_offsets_.reserve(program.steps.size() + 1);
  inputs_.reserve(program.steps.size() + program.waits.size());
  std::vector<StepId> last(program.streams);
  for (StepId s(0); s < program.steps.end_id(); s = StepId(s.value() + 1)) {
    reset_duration(s);
    if (program.steps[s].group != Step::kNoGroup) {
      played_[s].join = static_cast<std::uint32_t>(arrivals_.size());
      arrivals_.emplace_back();
    }
    const StreamId stream = program.steps[s].stream;
    if (stream.valid() && last[stream.value()].valid()) inputs_.push_back(last[stream.value()]);
    for (const StepId wait : program.waits_of(s)) {
      if (!stream.valid() || program.steps[wait].stream != stream) inputs_.push_back(wait);
    }
    if (stream.valid()) last[stream.value()] = s;
    input_offsets_.push_back(static_cast<std::uint32_t>(inputs_.size()));
  }
}

std::int64_t* Recurrence::room_for(StepId step, Use use) {
  std::uint32_t& room = played_[step].room;
  if (room == kNoRoom) {
    room = static_cast<std::uint32_t>(rooms_.size());
    rooms_.push_back(std::make_unique_for_overwrite<std::int64_t[]>(std::size_t{3} * program_.ranks));
  }
  return rooms_[room].get() + static_cast<std::size_t>(use) * program_.ranks;
}

Recurrence::Times Recurrence::later_of(StepId step, const Times& a, const Times& b) {
  std::int64_t* const out = room_for(step, Use::ready);
  row_kernels().max(out, a.operand(), b.operand(), program_.ranks);
  return {out, std::max(a.low, b.low), std::max(a.high, b.high)};
}

inline Recurrence::Times Recurrence::latest_input(StepId step) {
  Times latest;
  for (const StepId input : inputs(step)) {
    const Times& end = played_[input].end;
    if (end.high <= latest.low) continue;
    latest = latest.high <= end.low ? end : later_of(step, latest, end);
  }
  return latest;
}

Recurrence::Times Recurrence::join(StepId step, const Times& arrivals, const Groups& groups) {
  if (!groups.listed() && groups.size == 1) return arrivals;
  if (is_one_group(groups, program_.ranks)) {
    const std::int64_t last = *std::max_element(arrivals.row, arrivals.row + program_.ranks);
    return {nullptr, last, last};
  }
  std::int64_t* const out = room_for(step, Use::start);
  group_max(row_kernels(), groups, program_.ranks, arrivals.row, out);
  return {out, arrivals.low, arrivals.high};
}

/// False where the step ends beyond the limit.
bool Recurrence::add_rows(StepId step) {
  Played& p = played_[step];
  std::int64_t* const out = room_for(step, Use::end);
  const Bounds bounds = row_kernels().add(out, p.start.operand(), p.duration, program_.ranks);
  p.end = {bounds.low == bounds.high ? nullptr : out, bounds.low, bounds.high};
  return bounds.bits < static_cast<std::uint64_t>(kTimeLimit);
}

bool Recurrence::play() {
  for (StepId s(0); s < program_.steps.end_id(); s = StepId(s.value() + 1)) {
    Played& p = played_[s];
    p.start = latest_input(s);
    if (p.join != kNoJoin) {
      arrivals_[p.join] = p.start;
      if (p.start.row) p.start = join(s, p.start, program_.groups[program_.steps[s].group]);
    }
    const Operand duration = p.duration;
    if (!duration.row && (!p.start.row || duration.scalar == 0)) {
      p.end = {p.start.row, p.start.low + duration.scalar, p.start.high + duration.scalar};
      if (p.end.high >= kTimeLimit) return false;
    } else if (!add_rows(s)) {
      return false;
    }
  }
  return true;
}

}  // namespace distsim::engine
