#include "sim/engine/program/step_links.hpp"

namespace distsim::engine {
namespace {

std::uint32_t count(const IrregularProgram& p) { return static_cast<std::uint32_t>(p.steps.size()); }

}  // namespace

StepLinks::StepLinks(const IrregularProgram& p)
    : waiters(p.steps.size(),
              [&](auto sink) {
                for (std::uint32_t s = 0; s < count(p); ++s) {
                  for (const StepId wait : p.waits_of(StepId(s))) sink(wait.value(), s);
                }
              }),
      members(p.meeting_sizes.size(),
              [&](auto sink) {
                for (std::uint32_t s = 0; s < count(p); ++s) {
                  if (const std::uint32_t meeting = p.steps[StepId(s)].meeting; meeting != RankStep::kAlone)
                    sink(meeting, s);
                }
              }),
      before(p.steps.size(), kNone),
      after(p.steps.size(), kNone) {
  std::vector<std::uint32_t> last(std::size_t{p.ranks} * p.streams, kNone);
  for (std::uint32_t s = 0; s < count(p); ++s) {
    const RankStep& step = p.steps[StepId(s)];
    if (!step.stream.valid()) continue;
    std::uint32_t& tail = last[std::size_t{step.rank.value()} * p.streams + step.stream.value()];
    before[s] = tail;
    if (tail != kNone) after[tail] = s;
    tail = s;
  }
}

}  // namespace distsim::engine
