// Ring search against closed forms for complete graphs and figures worked out by hand.
#include "topology/shapes/mesh.hpp"

#include <gtest/gtest.h>

namespace distsim::topology {
namespace {

LinkMatrix complete(std::uint32_t n, std::uint32_t links) {
  LinkMatrix m(n);
  for (std::uint32_t i = 0; i < n; ++i) {
    for (std::uint32_t j = i + 1; j < n; ++j) m.set(i, j, links);
  }
  return m;
}

TEST(Rings, CompleteGraphsSplitIntoCycles) {
  // Walecki: K_n holds floor((n - 1) / 2) edge-disjoint Hamiltonian cycles; each is two directed rings.
  for (std::uint32_t n = 3; n <= 7; ++n) EXPECT_EQ(ring_count(complete(n, 1)), 2 * ((n - 1) / 2)) << n;
  // With two links a pair every link direction is used: n - 1 cycles.
  for (std::uint32_t n = 3; n <= 6; ++n) EXPECT_EQ(ring_count(complete(n, 2)), 2 * (n - 1)) << n;
}

TEST(Rings, TwoGpusHaveOneRingALink) {
  EXPECT_EQ(ring_count(complete(2, 1)), 1u);
  EXPECT_EQ(ring_count(complete(2, 6)), 6u);
}

TEST(Rings, AThinVertexBoundsThemAll) {
  LinkMatrix m = complete(5, 2);
  m.set(0, 1, 1);
  m.set(0, 2, 1);
  m.set(0, 3, 0);
  m.set(0, 4, 0);  // vertex 0 is left with two links: one cycle
  EXPECT_EQ(ring_count(m), 2u);
}

TEST(Rings, AChainHasNoCycleButAWalk) {
  LinkMatrix chain(3);
  chain.set(0, 1, 2);
  chain.set(1, 2, 3);
  EXPECT_EQ(ring_count(chain), 0u);
  EXPECT_EQ(tree_walk_width(chain), 2u);  // the thinner of the two edges
}

TEST(Rings, TheWalkTakesTheThickestTree) {
  LinkMatrix triangle(3);
  triangle.set(0, 1, 1);
  triangle.set(1, 2, 4);
  triangle.set(0, 2, 3);
  EXPECT_EQ(tree_walk_width(triangle), 3u);  // 0-2-1, not 0-1-2
  EXPECT_EQ(tree_walk_width(LinkMatrix(2)), 0u);
}

}  // namespace
}  // namespace distsim::topology
