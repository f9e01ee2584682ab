// RankGrid: every rank has one place, groups are those of the places, and both orders are Megatron's.
#include "sim/workload/graph/rank_grid.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/random.hpp"

namespace distsim::workload {
namespace {

using Groups = std::set<std::vector<std::uint32_t>>;

Groups groups_of(const graph::Partition& partition, std::uint32_t ranks) {
  const graph::Partition p = graph::listed_by_rank(partition);
  Groups out;
  for (std::size_t g = 0; g + 1 < p.listed_offsets.size(); ++g)
    out.emplace(p.listed_members.begin() + p.listed_offsets[g], p.listed_members.begin() + p.listed_offsets[g + 1]);
  for (std::uint32_t r = 0; p.listed_offsets.empty() && r < ranks; ++r) {
    if (r / p.stride % p.size != 0) continue;
    std::vector<std::uint32_t> members;
    for (std::uint32_t i = 0; i < p.size; ++i) members.push_back(r + i * p.stride);
    out.insert(members);
  }
  return out;
}

std::uint32_t drawn(Random& random, std::uint32_t most) { return 1 + static_cast<std::uint32_t>(random.below(most)); }

/// The groups that initialize_model_parallel of Megatron Core makes of 16 GPUs, tensor 2, pipeline 4, data 2:
/// rank = tensor + 2 x (data + 2 x stage), or tensor + 2 x (stage + 4 x data).
TEST(RankGrid, OrdersAreMegatrons) {
  const RankGrid usual(2, 4, 2, RankOrder::tp_cp_ep_dp_pp), mapped(2, 4, 2, RankOrder::tp_cp_ep_pp_dp);
  EXPECT_EQ(groups_of(usual.groups(2, 2), 16),
            (Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}, {8, 10}, {9, 11}, {12, 14}, {13, 15}}));
  EXPECT_EQ(groups_of(mapped.groups(2, 2), 16),
            (Groups{{0, 8}, {1, 9}, {2, 10}, {3, 11}, {4, 12}, {5, 13}, {6, 14}, {7, 15}}));
  EXPECT_EQ(groups_of(usual.groups(2, 1), 16), groups_of(mapped.groups(2, 1), 16)) << "tensor-parallel neighbours";
  for (std::uint32_t stage = 0; stage < 4; ++stage) {
    EXPECT_EQ(usual.rank(stage, 0), 4 * stage);
    EXPECT_EQ(mapped.rank(stage, 0), 2 * stage);
    EXPECT_EQ(mapped.rank(stage, 3), 8 + 2 * stage + 1) << "second replica, second tensor-parallel GPU";
  }
}

TEST(RankGrid, AnOrderOfOneReplicaOrOneStageIsTheUsualOne) {
  for (const RankGrid& grid :
       {RankGrid(4, 8, 1, RankOrder::tp_cp_ep_pp_dp), RankGrid(4, 1, 8, RankOrder::tp_cp_ep_pp_dp)})
    EXPECT_EQ(grid.order(), RankOrder::tp_cp_ep_dp_pp);
  EXPECT_EQ(RankGrid(4, 2, 2, RankOrder::tp_cp_ep_pp_dp).order(), RankOrder::tp_cp_ep_pp_dp);
}

/// Of random grids, sizes and strides, whether or not they nest: a group is its places' ranks.
TEST(RankGrid, GroupsAreThoseOfThePlaces) {
  Random random(15);
  for (int i = 0; i < 400; ++i) {
    const std::uint32_t block = drawn(random, 8), stages = drawn(random, 4), size = drawn(random, 6),
                        stride = drawn(random, 6), replicas = size * stride * drawn(random, 2);
    const auto order = random.below(2) == 0 ? RankOrder::tp_cp_ep_dp_pp : RankOrder::tp_cp_ep_pp_dp;
    const RankGrid grid(block, stages, replicas, order);
    SCOPED_TRACE(std::to_string(block) + " " + std::to_string(stages) + " " + std::to_string(replicas) + ": " +
                 std::to_string(size) + " x " + std::to_string(stride));
    Groups expected;
    std::set<std::uint32_t> seen;
    for (std::uint32_t s = 0; s < stages; ++s) {
      EXPECT_EQ(grid.rank(s, 0), s * grid.alike());
      for (std::uint32_t p = 0; p < block * replicas; ++p) {
        const std::uint32_t rank = grid.rank(s, p);
        EXPECT_LT(rank, grid.ranks());
        EXPECT_TRUE(seen.insert(rank).second) << "two places of rank " << rank;
        EXPECT_EQ(rank / grid.alike() % stages, s);
        if (p / stride % size != 0) continue;
        std::vector<std::uint32_t> members;
        for (std::uint32_t m = 0; m < size; ++m) members.push_back(grid.rank(s, p + m * stride));
        EXPECT_TRUE(std::ranges::is_sorted(members));
        expected.insert(members);
      }
    }
    EXPECT_EQ(groups_of(grid.groups(size, stride), grid.ranks()), expected);
    EXPECT_EQ(grid.groups(size, stride).size, size);
    const RankGroup first = grid.first_group(size, stride);
    std::vector<std::uint32_t> members;
    for (std::uint32_t m = 0; m < first.size; ++m) members.push_back(first.member(m));
    EXPECT_TRUE(expected.contains(members));
    EXPECT_EQ(members.front(), 0u);
  }
}

TEST(RankGrid, NeighboursKeepTogetherWithinABlock) {
  const RankGrid usual(4, 2, 2, RankOrder::tp_cp_ep_dp_pp), mapped(4, 2, 2, RankOrder::tp_cp_ep_pp_dp);
  for (const std::uint32_t size : {1, 2, 4}) EXPECT_TRUE(mapped.keeps_together(size)) << size;
  EXPECT_FALSE(mapped.keeps_together(8));
  EXPECT_TRUE(usual.keeps_together(8));
}

}  // namespace
}  // namespace distsim::workload
