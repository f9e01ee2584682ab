// Oracle for irregular programs: looks at every step again and again until nothing moves. Quadratic, obvious.
#pragma once

#include <optional>
#include <vector>

#include "sim/engine/events/irregular_evaluator.hpp"

namespace distsim::engine {

/// Is `other` one of the things that `step` waits for before it ends: a predecessor, or a member of its meeting?
inline bool waits_for(const IrregularProgram& p, StepId step, StepId other) {
  const RankStep &a = p.steps[step], &b = p.steps[other];
  for (StepId w : p.waits_of(step)) {
    if (w == other) return true;
  }
  if (a.meeting != RankStep::kAlone && a.meeting == b.meeting && step != other) return true;
  return a.rank == b.rank && a.stream.valid() && a.stream == b.stream && other < step;
}

/// Times of all steps, or nothing where some never end.
inline std::optional<std::vector<StepTimes>> play_by_rescanning(const IrregularProgram& p) {
  const std::uint32_t n = static_cast<std::uint32_t>(p.steps.size());
  std::vector<StepTimes> times(n);
  std::vector<bool> ready(n), ended(n);
  const auto ready_time = [&](std::uint32_t s) -> std::optional<std::int64_t> {
    std::int64_t latest = 0;
    for (std::uint32_t o = 0; o < n; ++o) {
      const RankStep &a = p.steps[StepId(s)], &b = p.steps[StepId(o)];
      bool before = a.rank == b.rank && a.stream.valid() && a.stream == b.stream && o < s;
      for (StepId w : p.waits_of(StepId(s))) before = before || w.value() == o;
      if (before && !ended[o]) return std::nullopt;
      if (before) latest = std::max(latest, times[o].end);
    }
    return latest;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (std::uint32_t s = 0; s < n; ++s) {
      if (const auto time = ready[s] ? std::nullopt : ready_time(s)) {
        times[s].ready = *time;
        ready[s] = moved = true;
      }
    }
    for (std::uint32_t s = 0; s < n; ++s) {
      if (ended[s] || !ready[s]) continue;
      std::int64_t start = times[s].ready;
      bool all_here = true;
      for (std::uint32_t o = 0; o < n; ++o) {
        if (p.steps[StepId(s)].meeting == RankStep::kAlone || p.steps[StepId(o)].meeting != p.steps[StepId(s)].meeting)
          continue;
        all_here = all_here && ready[o];
        if (ready[o]) start = std::max(start, times[o].ready);
      }
      if (!all_here) continue;
      times[s].start = start;
      times[s].end = start + p.steps[StepId(s)].duration;
      ended[s] = moved = true;
    }
  }
  for (std::uint32_t s = 0; s < n; ++s) {
    if (!ended[s]) return std::nullopt;
  }
  return times;
}

}  // namespace distsim::engine
