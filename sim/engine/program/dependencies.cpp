#include "sim/engine/program/dependencies.hpp"

#include <string>

namespace distsim::engine {
namespace {

/// A step that keeps `step` from beginning: a predecessor that has not begun, or a member of its meeting that has not
/// arrived. (When a run halts, all that has begun has ended.)
std::uint32_t blocker_of(const IrregularProgram& p, const StepLinks& links, const Dependencies& halted,
                         std::uint32_t step) {
  if (const std::uint32_t before = links.before[step]; before != StepLinks::kNone && !halted.has_begun(before))
    return before;
  for (const StepId wait : p.waits_of(StepId(step))) {
    if (!halted.has_begun(wait.value())) return wait.value();
  }
  const auto members = links.members.of(p.steps[StepId(step)].meeting);
  const auto absent =
      std::find_if(members.begin(), members.end(), [&](std::uint32_t m) { return !halted.has_arrived(m); });
  CHECK(absent != members.end()) << "step " << step << " is stuck without a reason";
  return *absent;
}

std::string describe(const IrregularProgram& p, StepId id) {
  const RankStep& step = p.steps[id];
  return "step " + std::to_string(id.value()) + " (rank " + std::to_string(step.rank.value()) + ", stream " +
         std::to_string(step.stream.value()) + ")";
}

}  // namespace

std::vector<StepId> cycle_of(const IrregularProgram& p, const StepLinks& links, const Dependencies& halted) {
  std::uint32_t step = 0;
  while (halted.has_begun(step)) ++step;
  std::vector<StepId> path;
  std::vector<std::uint32_t> place(p.steps.size(), StepLinks::kNone);
  for (; place[step] == StepLinks::kNone; step = blocker_of(p, links, halted, step)) {
    place[step] = static_cast<std::uint32_t>(path.size());
    path.push_back(StepId(step));
  }
  path.erase(path.begin(), path.begin() + place[step]);
  return path;
}

Error deadlock_error(const IrregularProgram& p, const std::vector<StepId>& cycle) {
  constexpr std::size_t kMostNamed = 12;
  std::string text = "deadlock: ";
  for (std::size_t i = 0; i < std::min(cycle.size(), kMostNamed); ++i) text += describe(p, cycle[i]) + " waits for ";
  if (cycle.size() > kMostNamed) text += "... (" + std::to_string(cycle.size()) + " steps in total) ... ";
  return {text + describe(p, cycle.front()), "",
          "some rank posts its sends, receives or collectives in a different order than its peers"};
}

}  // namespace distsim::engine
