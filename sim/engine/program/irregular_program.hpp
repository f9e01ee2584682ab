// IrregularProgram: every rank has its own list of steps, as a trace has. Steps of different ranks meet in collectives
// and in send-receive pairs. Where all ranks do the same steps, Program says it in a fraction of the space; `expand`
// writes one out as the other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "base/units.hpp"
#include "sim/engine/program/program.hpp"

namespace distsim::engine {

/// One step of one rank.
///   ready = max(end of the step before it on the same stream of its rank, end of every waited-for step)
///   start = ready, or for a member of a meeting the latest ready of all members
///   end   = start + duration
struct RankStep {
  RankId rank;
  StreamId stream;            ///< StreamId(): on no stream, so that only waits hold it back
  std::int64_t duration = 0;  ///< picoseconds
  std::uint32_t meeting = kAlone;
  static constexpr std::uint32_t kAlone = 0xFFFFFFFFu;
};

struct IrregularProgram {
  std::uint32_t ranks = 1;
  std::uint32_t streams = 1;                   ///< of each rank
  IdVector<StepId, RankStep> steps;            ///< order of a stream = order here; ranks may be interleaved in any way
  std::vector<std::uint32_t> wait_offsets{0};  ///< CSR: waits of step s are waits[wait_offsets[s] .. wait_offsets[s+1])
  std::vector<StepId> waits;                   ///< any step of any rank, also a later one; a cycle is a deadlock
  std::vector<std::uint32_t> meeting_sizes;    ///< by meeting: members it needs

  StepId add(const RankStep& step, std::span<const StepId> waits_for = {}) {
    waits.insert(waits.end(), waits_for.begin(), waits_for.end());
    wait_offsets.push_back(static_cast<std::uint32_t>(waits.size()));
    return steps.push_back(step);
  }
  std::span<const StepId> waits_of(StepId s) const {
    return {waits.data() + wait_offsets[s.value()], waits.data() + wait_offsets[s.value() + 1]};
  }
};

/// The steps of a valid program, written out rank by rank: step s of rank r becomes step r * steps + s. Refuses more
/// than 2^32 - 2 of them.
Result<IrregularProgram> expand(const Program& program);

}  // namespace distsim::engine
