// Programs for tests: short ways to write one, random ones, and other spellings of the same program.
#pragma once

#include <initializer_list>

#include "base/random.hpp"
#include "sim/engine/program/program.hpp"

namespace distsim::engine {

inline StepId add_step(Program& p, std::uint32_t stream, Row duration, std::initializer_list<StepId> waits = {},
                       std::uint32_t group = Step::kNoGroup) {
  return p.add({StreamId(stream), std::move(duration), group}, std::span(waits.begin(), waits.size()));
}

inline Row row(std::vector<std::int64_t> values) { return Row(std::move(values)); }

struct RandomLimits {
  std::uint32_t ranks = 24, streams = 4, steps = 30, waits = 3;
};

/// A valid program: any mix of streams, waits, uniform and per-rank durations (many zero, many equal), no, strided and
/// listed groups.
Program random_program(Random& random, const RandomLimits& limits = {});

/// Every uniform duration written out rank by rank.
Program with_expanded_rows(const Program& program);

/// Every strided partition written out as a list of members, groups and members in random order.
Program with_listed_groups(const Program& program, Random& random);

}  // namespace distsim::engine
