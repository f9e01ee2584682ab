#include "sim/engine/timeline/fingerprint.hpp"

#include <gtest/gtest.h>

#include <set>

#include "programs.hpp"
#include "sim/engine/rows/row_evaluator.hpp"

namespace distsim::engine {
namespace {

TEST(Fingerprint, AUniformRowHashesLikeTheRowWrittenOut) {
  for (std::uint32_t ranks : {1u, 7u, 1023u, 1024u, 1025u, 5000u}) {
    const Fingerprint fingerprint(ranks);
    for (std::int64_t value :
         {std::int64_t{0}, std::int64_t{1}, std::int64_t{123'456'789'012}, (std::int64_t{1} << 62) - 1}) {
      EXPECT_EQ(fingerprint.of_row(Row(value)), fingerprint.of_row(Row(std::vector<std::int64_t>(ranks, value))))
          << ranks;
    }
  }
}

TEST(Fingerprint, TheOrderOfStepsDoesNotMatter) {
  Fingerprint forward(4), backward(4);
  for (std::uint32_t s = 0; s < 10; ++s) forward.add(StepId(s), s, s + 1, s + 2);
  for (std::uint32_t s = 10; s-- > 0;) backward.add(StepId(s), s, s + 1, s + 2);
  EXPECT_EQ(forward.digest(), backward.digest());
}

/// One change of one number of a timeline of 2,100 ranks and 2 steps, or of its shape.
TEST(Fingerprint, EveryChangeIsSeen) {
  constexpr std::uint32_t kRanks = 2100;
  const auto timeline = [](int part, std::uint32_t step, std::uint32_t rank, std::int64_t by) {
    Timeline t{kRanks};
    std::vector<std::int64_t> values[3];
    for (int p = 0; p < 3; ++p) values[p].assign(kRanks, 1'000'000);
    for (std::uint32_t s = 0; s < 2; ++s) {
      if (s == step) values[part][rank] += by;
      t.ready.push_back(Row(values[0]));
      t.start.push_back(Row(values[1]));
      t.end.push_back(Row(values[2]));
      if (s == step) values[part][rank] -= by;
    }
    return t;
  };
  std::set<std::uint64_t> seen{fingerprint_of(timeline(0, 0, 0, 0))};
  std::size_t count = 1;
  for (int part = 0; part < 3; ++part) {
    for (std::uint32_t step = 0; step < 2; ++step) {
      for (std::uint32_t rank : {0u, 1u, 1023u, 1024u, 2047u, 2099u}) {
        for (std::int64_t by : {std::int64_t{1}, std::int64_t{-1}, std::int64_t{1} << 40}) {
          seen.insert(fingerprint_of(timeline(part, step, rank, by)));
          ++count;
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), count);
}

TEST(Fingerprint, RegularSwapsAreSeen) {
  // Alternating, blockwise and second-difference shifts, which weights linear in the rank would not see.
  constexpr std::uint32_t kRanks = 4096;
  const Fingerprint fingerprint(kRanks);
  std::set<std::uint64_t> seen{0};
  const auto hash = [&](auto shift) {
    std::vector<std::int64_t> values(kRanks);
    for (std::uint32_t r = 0; r < kRanks; ++r) values[r] = 1'000 + shift(r);
    return fingerprint.of_row(Row(values)) - fingerprint.of_uniform(1'000);
  };
  for (std::uint32_t bit = 1; bit < kRanks; bit *= 2) {
    EXPECT_TRUE(seen.insert(hash([bit](std::uint32_t r) { return r & bit ? 1 : -1; })).second) << bit;
    EXPECT_TRUE(
        seen.insert(hash([bit](std::uint32_t r) { return r == 0         ? 1
                                                         : r == bit     ? -2
                                                         : r == 2 * bit ? 1
                                                                        : 0; })).second)
        << bit;
  }
  EXPECT_TRUE(seen.insert(hash([](std::uint32_t r) { return __builtin_popcount(r) % 2 ? 1 : -1; })).second);
}

TEST(Fingerprint, RanksAndStepsCount) {
  EXPECT_NE(Fingerprint(1).digest(), Fingerprint(2).digest());
  Fingerprint one(1);
  one.add(StepId(0), 0, 0, 0);
  EXPECT_NE(one.digest(), Fingerprint(1).digest());
}

TEST(Fingerprint, TheEvaluatorsDigestIsTheTimelines) {
  Random random(5);
  for (int i = 0; i < 500; ++i) {
    const auto timeline = evaluate_rows(random_program(random, {.ranks = i % 2 == 0 ? 24u : 2500u}));
    ASSERT_TRUE(timeline.ok());
    ASSERT_EQ(timeline->digest, fingerprint_of(*timeline)) << "program " << i;
  }
}

}  // namespace
}  // namespace distsim::engine
