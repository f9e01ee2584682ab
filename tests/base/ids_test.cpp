#include "base/ids.hpp"

#include <gtest/gtest.h>

#include <string>

namespace distsim {
namespace {

TEST(Id, IsInvalidUntilGiven) {
  EXPECT_FALSE(RankId().valid());
  EXPECT_TRUE(RankId(0).valid());
  EXPECT_LT(RankId(1), RankId(2));
  EXPECT_EQ(RankId(5).value(), 5u);
  static_assert(!std::is_convertible_v<std::uint32_t, RankId>);
  static_assert(!std::is_constructible_v<RankId, LinkId>, "ids of different things do not mix");
}

TEST(IdVector, HandsOutDenseIds) {
  IdVector<LinkId, std::string> names;
  EXPECT_TRUE(names.empty());
  const LinkId a = names.push_back("a");
  const LinkId b = names.push_back("b");
  EXPECT_EQ(a.value(), 0u);
  EXPECT_EQ(b.value(), 1u);
  EXPECT_EQ(names[b], "b");
  names[a] = "c";
  EXPECT_EQ(names.raw(), (std::vector<std::string>{"c", "b"}));
  EXPECT_EQ(names.end_id(), LinkId(2));
  EXPECT_EQ((IdVector<LinkId, int>(3, 7)[LinkId(2)]), 7);
}

TEST(IdVectorDeathTest, RefusesAnIndexBeyondItsEnd) {
  IdVector<RankId, int> v(2);
  EXPECT_DEATH(v[RankId(2)], "internal error.*ids.hpp");
  EXPECT_DEATH(v[RankId()], "internal error.*ids.hpp");
}

}  // namespace
}  // namespace distsim
