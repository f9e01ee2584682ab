// Symbolic replay of schedules: a chunk on a rank is the set of ranks whose contribution it holds (a bit each). A
// reduction must never add a contribution twice.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "collectives/schedules/schedule.hpp"

namespace distsim::collectives {

using State = std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t>;  // (rank, chunk) -> contributions

inline std::uint64_t bit(std::uint32_t rank) { return std::uint64_t{1} << rank; }
inline std::uint64_t all_of(std::uint32_t n) { return n == 64 ? ~std::uint64_t{0} : bit(n) - 1; }

inline void replay(const std::vector<Transfer>& schedule, State& state) {
  State before = state;
  std::uint32_t step = 0;
  for (const Transfer& t : schedule) {
    ASSERT_GE(t.step, step) << "steps must be in order";
    if (t.step != step) {
      before = state;
      step = t.step;
    }
    ASSERT_NE(t.from, t.to);
    const auto sent = before.find({t.from, t.chunk});
    ASSERT_NE(sent, before.end()) << "rank " << t.from << " sends chunk " << t.chunk << " which it does not hold";
    std::uint64_t& held = state[{t.to, t.chunk}];
    if (t.reduce) {
      ASSERT_EQ(held & sent->second, 0u) << "added twice in step " << t.step;
      held |= sent->second;
    } else {
      held = sent->second;
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
