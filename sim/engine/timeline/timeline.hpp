// Timeline: when every step was ready, started and ended on every rank, and a digest of it all.
#pragma once

#include <cstdint>

#include "sim/engine/program/program.hpp"

namespace distsim::engine {

struct Timeline {
  std::uint32_t ranks = 1;
  IdVector<StepId, Row> ready;  ///< the rank itself could start (for a joining step: it has arrived)
  IdVector<StepId, Row> start;  ///< work began (for a joining step: the last member has arrived)
  IdVector<StepId, Row> end;
  Duration makespan;         ///< latest end
  std::uint64_t digest = 0;  ///< order-independent of thread count and evaluator; equal timelines have equal digests
};

}  // namespace distsim::engine
