// LoopRun: a loop ready to be played, as plain arrays. A row is `stride` numbers, one for each rank and zeros up to full
// lanes; of a single rank, one.
//
//   end[s] = join(max over inputs i of end[s - i]) + duration[s]
//
// Steps are numbered through all rounds. A round of zeros lies before the first, so that what comes from the round before
// needs no special case.
#pragma once

#include <cstdint>

#include "sim/engine/rows/lanes.hpp"

namespace distsim::engine {

struct LoopStep {
  std::uint32_t first_input = 0;  ///< in LoopRun::inputs; those up to the next step's are its own, at least one
  std::uint32_t join = 0;         ///< 0: no rank waits for another, else 1 + index of the joining step in its round
  std::uint32_t first_member = 0, members_end = 0;  ///< of LoopRun::members
  const std::int64_t* duration = nullptr;
};

struct LoopRun {
  const LoopStep* steps;         ///< one more than `count`
  const std::uint32_t* inputs;   ///< how many numbers earlier the input's row lies: steps x stride
  const std::uint32_t* members;  ///< groups of more than one: size, then the ranks
  std::uint32_t count, joins;    ///< of a round
  std::uint32_t rounds, stride;
  std::int64_t* end;         ///< of the first step of the first round
  std::int64_t* arrivals;    ///< by joining step, through all rounds
  std::int64_t* last_start;  ///< by step of the last round
};

/// Each group of a joining step starts with its last member.
DISTSIM_ALWAYS_INLINE void join_groups(const LoopRun& run, const LoopStep& step, std::int64_t* row) {
  for (std::uint32_t m = step.first_member; m < step.members_end;) {
    const std::uint32_t size = run.members[m];
    const std::uint32_t* const members = run.members + m + 1;
    std::int64_t last = row[members[0]];
    for (std::uint32_t i = 1; i < size; ++i) last = row[members[i]] > last ? row[members[i]] : last;
    for (std::uint32_t i = 0; i < size; ++i) row[members[i]] = last;
    m += 1 + size;
  }
}

/// Of a single rank: joining changes nothing.
DISTSIM_ALWAYS_INLINE std::uint64_t play_scalar_round(const LoopRun& run, std::uint32_t round, bool is_last) {
  std::int64_t* out = run.end + std::size_t{round} * run.count;
  std::int64_t* const arrivals = run.arrivals + std::size_t{round} * run.joins;
  std::uint64_t bits = 0;
  for (std::uint32_t s = 0; s < run.count; ++s, ++out) {
    const LoopStep& step = run.steps[s];
    const std::uint32_t* in = run.inputs + step.first_input;
    const std::uint32_t* const in_end = run.inputs + run.steps[s + 1].first_input;
    std::int64_t ready = *(out - *in);
    for (++in; in != in_end; ++in) ready = *(out - *in) > ready ? *(out - *in) : ready;
    if (step.join != 0) arrivals[step.join - 1] = ready;
    if (is_last) run.last_start[s] = ready;
    *out = static_cast<std::int64_t>(static_cast<std::uint64_t>(ready) + static_cast<std::uint64_t>(*step.duration));
    bits |= static_cast<std::uint64_t>(*out) | static_cast<std::uint64_t>(*step.duration);
  }
  return bits;
}

/// The latest input, eight ranks at a time.
DISTSIM_ALWAYS_INLINE void latest_lanes(const std::uint32_t* in, const std::uint32_t* in_end, const std::int64_t* out,
                                        Lanes& latest) {
  latest = in_row(out - *in).lanes;
  for (++in; in != in_end; ++in) {
    const Lanes other = in_row(out - *in).lanes;
    latest = other > latest ? other : latest;
  }
}

DISTSIM_ALWAYS_INLINE void play_round(const LoopRun& run, std::uint32_t round, bool is_last, Lanes& bits) {
  const std::size_t stride = run.stride;
  std::int64_t* out = run.end + std::size_t{round} * run.count * stride;
  std::int64_t* const arrivals = run.arrivals + std::size_t{round} * run.joins * stride;
  for (std::uint32_t s = 0; s < run.count; ++s, out += stride) {
    const LoopStep& step = run.steps[s];
    const std::uint32_t* const in = run.inputs + step.first_input;
    const std::uint32_t* const in_end = run.inputs + run.steps[s + 1].first_input;
    const bool meets = step.first_member != step.members_end;
    Lanes ready = {};
    for (std::size_t lane = 0; lane < stride; lane += kLanes) {
      latest_lanes(in, in_end, out + lane, ready);
      if (step.join != 0) in_row(arrivals + (step.join - 1) * stride + lane).lanes = ready;
      in_row(out + lane).lanes = ready;
    }
    if (meets) join_groups(run, step, out);
    for (std::size_t lane = 0; lane < stride; lane += kLanes) {
      ready = in_row(out + lane).lanes;
      if (is_last) in_row(run.last_start + s * stride + lane).lanes = ready;
      const Lanes time = in_row(step.duration + lane).lanes;
      const Lanes end = (Lanes)((UnsignedLanes)ready + (UnsignedLanes)time);
      bits |= end | time;
      in_row(out + lane).lanes = end;
    }
  }
}

/// The same of at most eight ranks, whose numbers stay in a register.
DISTSIM_ALWAYS_INLINE void play_short_round(const LoopRun& run, std::uint32_t round, bool is_last, Lanes& bits) {
  std::int64_t* out = run.end + std::size_t{round} * run.count * kLanes;
  std::int64_t* const arrivals = run.arrivals + std::size_t{round} * run.joins * kLanes;
  for (std::uint32_t s = 0; s < run.count; ++s, out += kLanes) {
    const LoopStep& step = run.steps[s];
    Lanes ready = {};
    latest_lanes(run.inputs + step.first_input, run.inputs + run.steps[s + 1].first_input, out, ready);
    if (step.join != 0) in_row(arrivals + (step.join - 1) * kLanes).lanes = ready;
    if (step.first_member != step.members_end) {
      in_row(out).lanes = ready;
      join_groups(run, step, out);
      ready = in_row(out).lanes;
    }
    if (is_last) in_row(run.last_start + s * kLanes).lanes = ready;
    const Lanes time = in_row(step.duration).lanes;
    const Lanes end = (Lanes)((UnsignedLanes)ready + (UnsignedLanes)time);
    bits |= end | time;
    in_row(out).lanes = end;
  }
}

/// False where a time is negative or reaches 2^62.
DISTSIM_ALWAYS_INLINE bool play_loop(const LoopRun& run) {
  std::uint64_t seen = 0;
  Lanes bits = {};
  for (std::uint32_t round = 0; round < run.rounds; ++round) {
    const bool is_last = round + 1 == run.rounds;
    if (run.stride == 1)
      seen |= play_scalar_round(run, round, is_last);
    else if (run.stride == kLanes)
      play_short_round(run, round, is_last, bits);
    else
      play_round(run, round, is_last, bits);
  }
  for (std::size_t lane = 0; lane < kLanes; ++lane) seen |= static_cast<std::uint64_t>(bits[lane]);
  return seen < (std::uint64_t{1} << 62);
}

}  // namespace distsim::engine
