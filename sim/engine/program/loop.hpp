// Loop: a program that is played several times in a row without a barrier in between, written down once.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sim/engine/program/program.hpp"
#include "sim/engine/program/roles.hpp"

namespace distsim::engine {

/// The steps of one round on places: `each` neighbouring ranks that do the same, `repeats` times
/// (sim/engine/program/alike.hpp). Rounds follow each other on every stream, and by `carried`.
struct Loop {
  struct Step {
    StreamId stream;
    std::uint32_t row = 0;  ///< its duration, an index into `rows`
    std::uint32_t group = engine::Step::kNoGroup;
  };
  std::uint32_t ranks = 1;  ///< places
  std::uint32_t each = 1, repeats = 1;
  std::uint32_t streams = 1;
  IdVector<StepId, Step> steps;
  std::vector<std::uint32_t> wait_offsets{0};  ///< as in Program; within the round
  std::vector<StepId> waits;
  std::vector<std::pair<StepId, StepId>> carried;  ///< the first waits for the second of the round before; by the first
  std::vector<Groups> groups;                      ///< of places
  std::vector<Row> rows;                           ///< numbers by place, or one for all

  StepId add(const Step& step, std::span<const StepId> waits_for) {
    waits.insert(waits.end(), waits_for.begin(), waits_for.end());
    wait_offsets.push_back(static_cast<std::uint32_t>(waits.size()));
    return steps.push_back(step);
  }
  std::span<const StepId> waits_of(StepId s) const {
    return {waits.data() + wait_offsets[s.value()], waits.data() + wait_offsets[s.value() + 1]};
  }
};

/// Of a valid loop; first and count are of ranks.
Roles roles_of(const Loop& loop);

/// The loop with one place for each role.
Loop loop_of_roles(Loop loop, const Roles& roles);

}  // namespace distsim::engine
