// Symbolic replay: a chunk on a rank is the set of ranks whose contribution it holds (a bit each). A reduction must never add a contribution twice.
#include <gtest/gtest.h>

#include <map>

#include "collectives/schedule.hpp"

namespace distsim::test {
namespace {

using namespace collectives;
using State = std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t>;  // (rank, chunk) -> contributions

std::uint64_t bit(std::uint32_t rank) { return std::uint64_t{1} << rank; }
std::uint64_t all_of(std::uint32_t n) { return n == 64 ? ~std::uint64_t{0} : bit(n) - 1; }

void replay(const std::vector<Transfer>& schedule, State& state) {
  State before = state;
  std::uint32_t step = 0;
  for (const Transfer& t : schedule) {
    ASSERT_GE(t.step, step) << "steps must be in order";
    if (t.step != step) { before = state; step = t.step; }
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

State everyone_has_all(std::uint32_t n, std::uint32_t chunks) {
  State s;
  for (std::uint32_t r = 0; r < n; ++r) {
    for (std::uint32_t c = 0; c < chunks; ++c) s[{r, c}] = bit(r);
  }
  return s;
}

std::vector<std::int64_t> sent_by(const std::vector<Transfer>& schedule, std::uint32_t n) {
  std::vector<std::int64_t> out(n, 0);
  for (const Transfer& t : schedule) out[t.from] += t.bytes;
  return out;
}

std::uint32_t steps_of(const std::vector<Transfer>& s) { return s.empty() ? 0 : s.back().step + 1; }

TEST(Schedule, RingAllReduceLeavesTheSumEverywhere) {
  for (std::uint32_t n = 2; n <= 64; ++n) {
    State state = everyone_has_all(n, n);
    const auto schedule = ring_all_reduce(n, 1000 * n);
    replay(schedule, state);
    for (const auto& [key, held] : state) ASSERT_EQ(held, all_of(n)) << n << " ranks, rank " << key.first << " chunk " << key.second;
    EXPECT_EQ(steps_of(schedule), 2 * (n - 1));
    for (std::int64_t bytes : sent_by(schedule, n)) EXPECT_EQ(bytes, 2 * (n - 1) * 1000) << "2 (n-1)/n of the buffer";
  }
}

TEST(Schedule, RingReduceScatterLeavesChunkROnRankR) {
  for (std::uint32_t n = 2; n <= 64; ++n) {
    State state = everyone_has_all(n, n);
    replay(ring_reduce_scatter(n, 1000 * n), state);
    for (std::uint32_t r = 0; r < n; ++r) ASSERT_EQ((state[{r, r}]), all_of(n)) << n << " ranks, rank " << r;
  }
}

TEST(Schedule, RingAllGatherBringsEveryChunkToEveryRank) {
  for (std::uint32_t n = 2; n <= 64; ++n) {
    State state;
    for (std::uint32_t r = 0; r < n; ++r) state[{r, r}] = bit(r);
    replay(ring_all_gather(n, 7), state);  // fewer bytes than ranks: chunks of 0 and 1 byte
    for (std::uint32_t r = 0; r < n; ++r) {
      for (std::uint32_t c = 0; c < n; ++c) ASSERT_EQ((state[{r, c}]), bit(c)) << n << " ranks";
    }
  }
}

TEST(Schedule, TreeAllReduceTakesTwiceTheLogarithm) {
  for (std::uint32_t n = 2; n <= 64; ++n) {
    State state = everyone_has_all(n, 1);
    const auto schedule = tree_all_reduce(n, 4096);
    replay(schedule, state);
    for (const auto& [key, held] : state) ASSERT_EQ(held, all_of(n)) << n << " ranks, rank " << key.first;
    std::uint32_t levels = 0;
    while ((1u << levels) < n) ++levels;
    EXPECT_EQ(steps_of(schedule), 2 * levels);
    EXPECT_EQ(schedule.size(), 2 * (n - 1)) << "every rank but the root sends up once and receives once";
  }
}

TEST(Schedule, PairwiseAllToAllDeliversEveryChunk) {
  for (std::uint32_t n = 2; n <= 64; ++n) {
    State state;
    for (std::uint32_t r = 0; r < n; ++r) {
      for (std::uint32_t to = 0; to < n; ++to) state[{r, r * n + to}] = bit(r);
    }
    const auto schedule = pairwise_all_to_all(n, 1000 * n);
    replay(schedule, state);
    for (std::uint32_t r = 0; r < n; ++r) {
      for (std::uint32_t from = 0; from < n; ++from) ASSERT_EQ((state[{r, from * n + r}]), bit(from)) << n << " ranks";
    }
    for (std::int64_t bytes : sent_by(schedule, n)) EXPECT_EQ(bytes, (n - 1) * 1000) << "(n-1)/n of the buffer";
  }
}

}  // namespace
}  // namespace distsim::test
