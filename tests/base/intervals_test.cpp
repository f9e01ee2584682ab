#include "base/intervals.hpp"

#include <gtest/gtest.h>

#include <set>

#include "base/random.hpp"

namespace distsim {
namespace {

using Moments = std::set<std::int64_t>;

constexpr std::int64_t kSmallest = -5, kLargest = 40;  // of random bounds: small, so that intervals touch and coincide

TEST(Intervals, ByHand) {
  const IntervalSet a = IntervalSet::union_of({{5, 9}, {0, 4}, {3, 6}, {20, 30}, {7, 7}, {12, 10}});
  EXPECT_EQ(a.parts(), (std::vector<Interval>{{0, 9}, {20, 30}}));
  EXPECT_EQ(a.clipped(8, 21).parts(), (std::vector<Interval>{{8, 9}, {20, 21}}));
  EXPECT_EQ(a.minus(IntervalSet::union_of({{2, 3}, {8, 22}, {25, 26}, {40, 50}})).parts(),
            (std::vector<Interval>{{0, 2}, {3, 8}, {22, 25}, {26, 30}}));
  EXPECT_EQ(a.plus(IntervalSet::union_of({{9, 10}, {19, 21}})).parts(), (std::vector<Interval>{{0, 10}, {19, 30}}));
  EXPECT_EQ(a.total(), 19);
  EXPECT_EQ(a.covered(8, 21), 2);
  EXPECT_EQ(a.covered(21, 8), 0);
  EXPECT_EQ(a.first(), 0);
  EXPECT_EQ(a.last(), 30);
  EXPECT_TRUE(IntervalSet::union_of({{3, 3}, {4, 2}}).empty());
}

std::vector<Interval> random_parts(Random& random) {
  std::vector<Interval> out(random.below(8));
  const auto bound = [&] { return kSmallest + static_cast<std::int64_t>(random.below(kLargest - kSmallest)); };
  for (Interval& i : out) i = {bound(), bound()};
  return out;
}

/// The oracle: every moment by itself.
Moments moments(const std::vector<Interval>& parts) {
  Moments out;
  for (const Interval& i : parts) {
    for (std::int64_t t = i.begin; t < i.end; ++t) out.insert(t);
  }
  return out;
}

bool is_canonical(const IntervalSet& set) {
  for (std::size_t i = 0; i < set.parts().size(); ++i) {
    if (set.parts()[i].begin >= set.parts()[i].end) return false;
    if (i > 0 && set.parts()[i - 1].end >= set.parts()[i].begin) return false;  // touching ones are one
  }
  return true;
}

void expect_equal(const IntervalSet& set, const Moments& expected) {
  EXPECT_TRUE(is_canonical(set));
  EXPECT_EQ(moments(set.parts()), expected);
  EXPECT_EQ(set.total(), static_cast<std::int64_t>(expected.size()));
}

Moments within(const Moments& all, std::int64_t begin, std::int64_t end) {
  Moments out;
  for (const std::int64_t t : all) {
    if (t >= begin && t < end) out.insert(t);
  }
  return out;
}

TEST(Intervals, OperationsEqualThoseOnMoments) {
  Random random(11);
  for (int round = 0; round < 3000; ++round) {
    const std::vector<Interval> parts = random_parts(random), others = random_parts(random);
    const IntervalSet a = IntervalSet::union_of(parts), b = IntervalSet::union_of(others);
    const Moments in_a = moments(parts), in_b = moments(others);
    Moments both = in_a, rest;
    both.insert(in_b.begin(), in_b.end());
    for (const std::int64_t t : in_a) {
      if (!in_b.contains(t)) rest.insert(t);
    }
    expect_equal(a, in_a);
    expect_equal(a.plus(b), both);
    expect_equal(a.minus(b), rest);
  }
}

TEST(Intervals, WindowsEqualThoseOnMoments) {
  Random random(12);
  for (int round = 0; round < 200; ++round) {
    const std::vector<Interval> parts = random_parts(random);
    const IntervalSet set = IntervalSet::union_of(parts);
    const Moments all = moments(parts);
    for (std::int64_t begin = kSmallest - 1; begin <= kLargest; begin += 3) {
      for (std::int64_t end = kSmallest - 1; end <= kLargest; end += 2) {
        const Moments expected = within(all, begin, end);
        expect_equal(set.clipped(begin, end), expected);
        EXPECT_EQ(set.covered(begin, end), static_cast<std::int64_t>(expected.size()));
      }
    }
  }
}

TEST(Intervals, FarTimes) {
  constexpr std::int64_t kFar = std::int64_t{1} << 61;
  const IntervalSet set = IntervalSet::union_of({{-kFar, -kFar + 10}, {kFar, kFar + 5}});
  EXPECT_EQ(set.total(), 15);
  EXPECT_EQ(set.covered(-kFar + 4, kFar + 1), 7);
}

}  // namespace
}  // namespace distsim
