#include "base/units.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace distsim {
namespace {

TEST(Duration, CountsPicoseconds) {
  EXPECT_EQ(Duration::nanoseconds(3).ps(), 3'000);
  EXPECT_EQ(Duration::microseconds(3).ps(), 3'000'000);
  EXPECT_EQ(Duration::milliseconds(3).ps(), 3'000'000'000);
  EXPECT_DOUBLE_EQ(Duration::microseconds(1500).ms(), 1.5);
  EXPECT_DOUBLE_EQ(Duration::nanoseconds(1500).us(), 1.5);
  EXPECT_DOUBLE_EQ(Duration::milliseconds(1500).seconds(), 1.5);
}

TEST(Duration, AddsComparesAndScales) {
  const Duration a = Duration::picoseconds(5), b = Duration::picoseconds(7);
  EXPECT_EQ((a + b).ps(), 12);
  EXPECT_EQ((a - b).ps(), -2);
  EXPECT_EQ((a * 3).ps(), 15);
  EXPECT_LT(a, b);
  Duration sum;
  sum += a;
  EXPECT_EQ(sum, a);
}

TEST(Duration, FromSecondsRoundsOnceToNearest) {
  EXPECT_EQ(Duration::from_seconds(1.9e-6)->ps(), 1'900'000);
  EXPECT_EQ(Duration::from_seconds(0.4e-12)->ps(), 0);
  EXPECT_EQ(Duration::from_seconds(0.6e-12)->ps(), 1);
  EXPECT_EQ(Duration::from_seconds(0)->ps(), 0);
  EXPECT_EQ(Duration::from_seconds(1e6)->ps(), 1'000'000'000'000'000'000);  // 10^6 s = 10^18 ps
}

TEST(Duration, FromSecondsRefusesWhatIsNoDuration) {
  for (const double bad : {-1e-12, 1.000001e6, std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_FALSE(Duration::from_seconds(bad).ok()) << bad;
  }
}

TEST(Quantity, KeepsItsUnit) {
  EXPECT_EQ((Bytes(3) + Bytes(4)).value(), 7);
  EXPECT_EQ((Bytes(3) * 4).value(), 12);
  EXPECT_DOUBLE_EQ((BytesPerSecond(25e9) - BytesPerSecond(5e9)).value(), 20e9);
  EXPECT_LT(FlopsPerSecond(1), FlopsPerSecond(2));
  EXPECT_EQ(Bytes().value(), 0);
  static_assert(!std::is_convertible_v<std::int64_t, Bytes>, "a bare number is no size");
  static_assert(!std::is_constructible_v<Bytes, BytesPerSecond>, "a rate is no size");
}

}  // namespace
}  // namespace distsim
