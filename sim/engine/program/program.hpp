// Program: what the engine plays. Steps over rank vectors, on FIFO streams, with waits between streams and groups that
// join. The engine knows no GPU, no collective algorithm, no YAML and no file.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "base/units.hpp"
#include "sim/engine/rows/row.hpp"

namespace distsim::engine {

/// Disjoint groups of ranks that cover all ranks. Either blocks of `size` ranks `stride` apart (size*stride divides the
/// rank count), or a CSR list.
struct Groups {
  std::uint32_t size = 1;
  std::uint32_t stride = 1;
  std::vector<std::uint32_t> offsets, members;  ///< listed groups; empty when strided
  bool listed() const { return !offsets.empty() || !members.empty(); }
};

/// One step on every rank. Ranks that have no part in it carry duration 0.
///   ready[r]  = max(end of the step before it on the same stream, end of every waited-for step), on rank r; 0 where
///   there is none start[r]  = ready[r], or for a joining step the maximum of ready over r's group end[r]    = start[r]
///   + duration[r]
struct Step {
  StreamId stream;  ///< StreamId(): on no stream, so that only waits hold it back
  Row duration;
  std::uint32_t group = kNoGroup;  ///< index into Program::groups: the step joins its group before it starts
  static constexpr std::uint32_t kNoGroup = 0xFFFFFFFFu;
};

struct Program {
  std::uint32_t ranks = 1;
  std::uint32_t streams = 1;
  IdVector<StepId, Step> steps;                ///< order of a stream = order here; waits point backwards
  std::vector<std::uint32_t> wait_offsets{0};  ///< CSR, as in TaskGraph
  std::vector<StepId> waits;
  std::vector<Groups> groups;

  StepId add(Step step, std::span<const StepId> waits_for) {
    waits.insert(waits.end(), waits_for.begin(), waits_for.end());
    wait_offsets.push_back(static_cast<std::uint32_t>(waits.size()));
    return steps.push_back(std::move(step));
  }
  std::span<const StepId> waits_of(StepId s) const {
    return {waits.data() + wait_offsets[s.value()], waits.data() + wait_offsets[s.value() + 1]};
  }
};

}  // namespace distsim::engine
