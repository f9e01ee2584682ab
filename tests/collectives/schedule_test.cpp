// Schedules one by one: what they leave where, their steps and bytes. Those of the algorithms that are priced are also
// replayed by registry_test.cpp.
#include <gtest/gtest.h>

#include <bit>
#include <map>

#include "replay.hpp"

namespace distsim::collectives {
namespace {

TEST(Schedule, RingAllReduceLeavesTheSumEverywhere) {
  for (std::uint32_t n = 2; n <= 64; ++n) {
    State state = everyone_has_all(n, n);
    const auto schedule = ring_all_reduce(n, 1000 * n);
    replay(schedule, state);
    expect_sum_everywhere(state, n, n);
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
    expect_sum_everywhere(state, n, 1);
    std::uint32_t levels = 0;
    while ((1u << levels) < n) ++levels;
    EXPECT_EQ(steps_of(schedule), 2 * levels);
    EXPECT_EQ(schedule.size(), 2 * (n - 1)) << "every rank but the root sends up once and receives once";
  }
}

TEST(Schedule, DoubleTreeLeavesTheSumEverywhereAndSharesTheWork) {
  for (std::uint32_t n = 2; n <= 64; ++n) {
    State state = everyone_has_all(n, 2);
    const auto schedule = double_tree_all_reduce(n, 4096);
    replay(schedule, state);
    expect_sum_everywhere(state, n, 2);
    EXPECT_LE(steps_of(schedule), 2u * static_cast<std::uint32_t>(std::bit_width(n))) << n;
    std::int64_t all = 0;
    for (std::int64_t bytes : sent_by(schedule, n)) all += bytes;
    EXPECT_EQ(all, 2 * (n - 1) * 4096) << "each half goes up and down n - 1 edges";
    // Inner nodes receive reductions; with even n no rank is inner in both trees.
    std::map<std::uint32_t, std::uint32_t> inner;  // rank -> chunks, a bit each
    for (const Transfer& t : schedule) {
      if (t.reduce) inner[t.to] |= 1u << t.chunk;
    }
    for (const auto& [rank, trees] : inner) EXPECT_TRUE(n % 2 == 1 || trees != 3) << n << " ranks, rank " << rank;
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

TEST(Schedule, HalvingDoublingLeavesTheSumEverywhere) {
  for (std::uint32_t n = 2; n <= 64; ++n) {
    const std::uint32_t p = std::bit_floor(n);
    State state = everyone_has_all(n, p);
    const auto schedule = halving_doubling_all_reduce(n, 1000 * p);
    replay(schedule, state);
    expect_sum_everywhere(state, n, p);
    const auto log2p = static_cast<std::uint32_t>(std::bit_width(p)) - 1;
    EXPECT_EQ(steps_of(schedule), 2 * log2p + (n > p ? 2 : 0));
    if (n > p) continue;
    for (std::int64_t bytes : sent_by(schedule, n)) EXPECT_EQ(bytes, 2 * (n - 1) * 1000) << "2 (n-1)/n of the buffer";
  }
}

TEST(Schedule, BruckDeliversInLogarithmicSteps) {
  for (std::uint32_t n = 2; n <= 64; ++n) {
    State state = chunks_for_all(n);
    const auto schedule = bruck_all_to_all(n, 1000 * n);
    replay(schedule, state);
    expect_delivered(state, n);
    EXPECT_EQ(steps_of(schedule), static_cast<std::uint32_t>(std::bit_width(n - 1)));
    std::int64_t hops = 0;  // a chunk that has o to go travels as often as o has bits
    for (std::uint32_t o = 1; o < n; ++o) hops += std::popcount(o);
    for (std::int64_t bytes : sent_by(schedule, n)) EXPECT_EQ(bytes, 1000 * hops);
  }
}

TEST(Schedule, HierarchicalAllReduceSendsWhatAFlatRingSends) {
  for (std::uint32_t nodes = 1; nodes <= 9; ++nodes) {
    for (std::uint32_t per_node = 1; per_node <= 7; ++per_node) {
      const std::uint32_t n = nodes * per_node;
      if (n < 2) continue;
      State state = everyone_has_all(n, n);
      const auto schedule = hierarchical_all_reduce(nodes, per_node, 1000 * n);
      replay(schedule, state);
      expect_sum_everywhere(state, n, n);
      EXPECT_EQ(steps_of(schedule), 2 * (per_node - 1) + 2 * (nodes - 1));
      // Inside: 2 (p-1)/p of the buffer; along the rail 2 (N-1)/N of its p-th part: together 2 (n-1)/n.
      for (std::int64_t bytes : sent_by(schedule, n)) EXPECT_EQ(bytes, 2 * (n - 1) * 1000);
    }
  }
}

TEST(Schedule, HierarchicalAllToAllHasOnePeerAStep) {
  for (std::uint32_t nodes = 1; nodes <= 8; ++nodes) {
    for (std::uint32_t per_node = 1; per_node <= 8; ++per_node) {
      const std::uint32_t n = nodes * per_node;
      if (n < 2) continue;
      State state = chunks_for_all(n);
      const auto schedule = hierarchical_all_to_all(nodes, per_node, 1000 * n);
      replay(schedule, state);
      expect_delivered(state, n);
      EXPECT_EQ(steps_of(schedule), per_node - 1 + nodes - 1);
      std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> peer;
      for (const Transfer& t : schedule) EXPECT_EQ(peer.try_emplace({t.step, t.from}, t.to).first->second, t.to);
      // (p-1)/p of the buffer over NVLink, (N-1)/N over the network: what the algorithm prices.
      for (std::int64_t bytes : sent_by(schedule, n))
        EXPECT_EQ(bytes, 1000 * ((per_node - 1) * nodes + (nodes - 1) * per_node));
    }
  }
}

}  // namespace
}  // namespace distsim::collectives
