// What must hold before an irregular program can be played.
#include <algorithm>
#include <string>

#include "sim/engine/events/irregular_evaluator.hpp"
#include "sim/engine/program/check_text.hpp"
#include "sim/engine/program/program_check.hpp"

namespace distsim::engine {
namespace {

Result<void> check_irregular_shape(const IrregularProgram& p) {
  if (p.ranks == 0) return found("program.ranks", "0", "at least 1");
  if (p.streams == 0) return found("program.streams", "0", "at least 1");
  if (p.wait_offsets.size() == p.steps.size() + 1 && p.wait_offsets.front() == 0 &&
      p.wait_offsets.back() == p.waits.size() && std::is_sorted(p.wait_offsets.begin(), p.wait_offsets.end())) {
    return {};
  }
  return found("program.wait_offsets", std::to_string(p.wait_offsets.size()) + " offsets",
               std::to_string(p.steps.size() + 1) + " rising ones from 0 to the number of waits");
}

Result<void> check_irregular_step(const IrregularProgram& p, StepId id) {
  const RankStep& step = p.steps[id];
  const auto name = [&] { return "step " + text(id.value()); };  // only a broken step pays for text
  if (step.rank.value() >= p.ranks)
    return found(name() + ".rank", text(step.rank.value()), "a rank below " + text(p.ranks));
  if (step.stream.valid() && step.stream.value() >= p.streams)
    return found(name() + ".stream", text(step.stream.value()), "a stream below " + text(p.streams));
  if (step.meeting != RankStep::kAlone && step.meeting >= p.meeting_sizes.size()) {
    return found(name() + ".meeting", text(step.meeting),
                 "one of " + std::to_string(p.meeting_sizes.size()) + " meetings");
  }
  if (step.duration < 0) return found(name() + ".duration", text(step.duration) + " ps", "a non-negative duration");
  if (step.duration >= kTimeLimit) return found(name() + ".duration", text(step.duration) + " ps", "less than 2^62 ps");
  for (const StepId wait : p.waits_of(id)) {
    if (wait.value() >= p.steps.size())
      return found(name() + ".waits", "step " + text(wait.value()), "a step of the program");
  }
  return {};
}

Result<void> check_meetings(const IrregularProgram& p) {
  std::vector<std::uint32_t> members(p.meeting_sizes.size(), 0);
  for (const RankStep& step : p.steps) {
    if (step.meeting != RankStep::kAlone) ++members[step.meeting];
  }
  for (std::size_t m = 0; m < members.size(); ++m) {
    if (members[m] == p.meeting_sizes[m]) continue;
    return found("meeting " + std::to_string(m), text(members[m]) + " members", text(p.meeting_sizes[m]));
  }
  return {};
}

}  // namespace

Result<void> validate(const IrregularProgram& program) {
  TRY(check_irregular_shape(program));
  for (StepId s(0); s < program.steps.end_id(); s = StepId(s.value() + 1)) TRY(check_irregular_step(program, s));
  return check_meetings(program);
}

}  // namespace distsim::engine
