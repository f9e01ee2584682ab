// Symbolic replay of schedules: a chunk on a rank is the set of ranks whose contribution it holds (a bit each). A
// reduction must never add a contribution twice.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "collectives/schedules/schedule.hpp"

namespace distsim::collectives {

/// Contributions by rank and chunk; none where a rank does not hold the chunk.
class State {
 public:
  std::uint64_t& operator[](std::pair<std::uint32_t, std::uint32_t> place) {
    const auto [rank, chunk] = place;
    if (rank >= ranks_.size()) ranks_.resize(rank + 1);
    if (chunk >= ranks_[rank].size()) ranks_[rank].resize(chunk + 1);
    return ranks_[rank][chunk];
  }
  /// 0 where there are none.
  std::uint64_t at(std::uint32_t rank, std::uint32_t chunk) const {
    return rank < ranks_.size() && chunk < ranks_[rank].size() ? ranks_[rank][chunk] : 0;
  }

 private:
  std::vector<std::vector<std::uint64_t>> ranks_;
};

inline std::uint64_t bit(std::uint32_t rank) { return std::uint64_t{1} << rank; }
inline std::uint64_t all_of(std::uint32_t n) { return n == 64 ? ~std::uint64_t{0} : bit(n) - 1; }

/// Steps are simultaneous: what is sent in a step is what was held before it.
inline void replay(const std::vector<Transfer>& schedule, State& state) {
  std::vector<std::uint64_t> sent;
  for (std::size_t first = 0, end = 0; first < schedule.size(); first = end) {
    sent.clear();
    for (; end < schedule.size() && schedule[end].step == schedule[first].step; ++end) {
      const Transfer& t = schedule[end];
      ASSERT_NE(t.from, t.to);
      sent.push_back(state.at(t.from, t.chunk));
      ASSERT_NE(sent.back(), 0u) << "rank " << t.from << " sends chunk " << t.chunk << " which it does not hold";
    }
    ASSERT_TRUE(end == schedule.size() || schedule[end].step > schedule[first].step) << "steps must be in order";
    for (std::size_t i = first; i < end; ++i) {
      const Transfer& t = schedule[i];
      std::uint64_t& held = state[{t.to, t.chunk}];
      if (t.reduce) {
        ASSERT_EQ(held & sent[i - first], 0u) << "added twice in step " << t.step;
        held |= sent[i - first];
      } else {
        held = sent[i - first];
      }
    }
  }
}

inline State everyone_has_all(std::uint32_t n, std::uint32_t chunks) {
  State s;
  for (std::uint32_t r = 0; r < n; ++r) {
    for (std::uint32_t c = 0; c < chunks; ++c) s[{r, c}] = bit(r);
  }
  return s;
}

/// After an all-reduce.
inline void expect_sum_everywhere(const State& state, std::uint32_t n, std::uint32_t chunks) {
  for (std::uint32_t r = 0; r < n; ++r) {
    for (std::uint32_t c = 0; c < chunks; ++c)
      ASSERT_EQ(state.at(r, c), all_of(n)) << n << " ranks, rank " << r << " chunk " << c;
  }
}

inline std::vector<std::int64_t> sent_by(const std::vector<Transfer>& schedule, std::uint32_t n) {
  std::vector<std::int64_t> out(n, 0);
  for (const Transfer& t : schedule) out[t.from] += t.bytes;
  return out;
}

inline std::uint32_t steps_of(const std::vector<Transfer>& s) { return s.empty() ? 0 : s.back().step + 1; }

inline State chunks_for_all(std::uint32_t n) {
  State state;
  for (std::uint32_t r = 0; r < n; ++r) {
    for (std::uint32_t to = 0; to < n; ++to) state[{r, r * n + to}] = bit(r);
  }
  return state;
}

inline void expect_delivered(State& state, std::uint32_t n) {
  for (std::uint32_t r = 0; r < n; ++r) {
    for (std::uint32_t from = 0; from < n; ++from)
      ASSERT_EQ((state[{r, from * n + r}]), bit(from)) << n << " ranks, to " << r << " from " << from;
  }
}

}  // namespace distsim::collectives
