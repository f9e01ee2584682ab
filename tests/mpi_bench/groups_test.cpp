#include "mpi_bench/collective/ranks/groups.hpp"

#include <gtest/gtest.h>

#include <set>

namespace distsim::bench {
namespace {

using Groups = std::vector<std::vector<int>>;

/// `nodes` nodes of `per_node` ranks, placed node by node, as mpirun does by default.
std::vector<int> blocks(int nodes, int per_node) {
  std::vector<int> node_of;
  for (int r = 0; r < nodes * per_node; ++r) node_of.push_back(r / per_node);
  return node_of;
}

Groups members(const char* shape, const std::vector<int>& node_of) {
  const auto request = bench::parse_group(shape);
  EXPECT_TRUE(request.ok()) << shape;
  const auto grouping = bench::groups_of(*request, node_of);
  EXPECT_TRUE(grouping.ok()) << shape << ": " << (grouping.ok() ? "" : grouping.error().text());
  return grouping.ok() ? grouping->members : Groups{};
}

std::string refusal(const char* shape, const std::vector<int>& node_of) {
  const auto request = bench::parse_group(shape);
  if (!request.ok()) return request.error().text();
  const auto grouping = bench::groups_of(*request, node_of);
  return grouping.ok() ? "accepted" : grouping.error().text();
}

TEST(Groups, NamedShapesOfTwoNodesWithFourRanks) {
  const auto machine = blocks(2, 4);
  EXPECT_EQ(members("all", machine), (Groups{{0, 1, 2, 3, 4, 5, 6, 7}}));
  EXPECT_EQ(members("nodes", machine), (Groups{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  EXPECT_EQ(members("one_per_node", machine), (Groups{{0, 4}}));
  EXPECT_EQ(members("rails", machine), (Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  EXPECT_EQ(members("halves", machine), (Groups{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  EXPECT_EQ(members("pairs", machine), (Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
  EXPECT_EQ(members("far_pairs", machine), (Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
}

TEST(Groups, FiguresTileTheMachine) {
  EXPECT_EQ(members("4x2", blocks(2, 4)), (Groups{{0, 1, 4, 5}, {2, 3, 6, 7}}));
  EXPECT_EQ(members("4x2.alone", blocks(2, 4)), (Groups{{0, 1, 4, 5}}));
  EXPECT_EQ(members("3x1", blocks(1, 8)), (Groups{{0, 1, 2}, {3, 4, 5}}));  // two ranks are left over
  EXPECT_EQ(members("halves", blocks(1, 4)), (Groups{{0, 1}, {2, 3}}));
}

TEST(Groups, RanksThatAreDealtOutInTurnStayWithTheirNode) {
  EXPECT_EQ(members("nodes", {0, 1, 0, 1}), (Groups{{0, 2}, {1, 3}}));
  EXPECT_EQ(members("rails", {0, 1, 0, 1}), (Groups{{0, 1}, {2, 3}}));
}

TEST(Groups, GroupsOfAShapeAreDisjointAndOfItsSize) {
  for (int nodes : {1, 2, 3, 5}) {
    for (int per_node : {2, 3, 8}) {
      for (const char* shape : {"nodes", "rails", "halves", "pairs", "far_pairs", "2x1", "4x2", "6x3"}) {
        const auto grouping = bench::groups_of(*bench::parse_group(shape), blocks(nodes, per_node));
        if (!grouping.ok()) continue;
        std::set<int> seen;
        for (const auto& group : grouping->members) {
          EXPECT_EQ(static_cast<int>(group.size()), grouping->ranks) << shape;
          std::set<int> on;
          for (const int r : group) {
            EXPECT_TRUE(seen.insert(r).second) << shape << ": rank " << r << " twice";
            on.insert(r / per_node);
          }
          EXPECT_EQ(static_cast<int>(on.size()), grouping->nodes) << shape;
        }
        EXPECT_FALSE(grouping->members.empty()) << shape;
      }
    }
  }
}

TEST(Groups, RefusalsSayWhatThereIs) {
  EXPECT_NE(refusal("rials", blocks(2, 4)).find("did you mean 'rails'"), std::string::npos);
  EXPECT_NE(refusal("rails", blocks(1, 4)).find("1 node with 4 ranks"), std::string::npos);
  EXPECT_NE(refusal("16x2", blocks(2, 4)).find("fits 2 nodes with 4 ranks each"), std::string::npos);
  EXPECT_NE(refusal("3x2", blocks(2, 4)).find("multiple of 2"), std::string::npos);
  EXPECT_NE(refusal("nodes", {0, 0, 1}).find("1 to 2 ranks"), std::string::npos);
  for (const char* bad : {"", "8x", "x2", "8x2x1", "0x1", "-2x1", "8x0", "2x1.alon", "99999999999999999999x1"})
    EXPECT_FALSE(bench::parse_group(bad).ok()) << bad;
}

}  // namespace
}  // namespace distsim::bench
