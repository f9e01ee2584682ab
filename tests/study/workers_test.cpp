#include "sim/study/workers.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <set>
#include <stdexcept>

namespace distsim::study {
namespace {

using Indices = std::vector<std::size_t>;

TEST(Workers, EveryPieceIsDoneOnce) {
  for (const unsigned jobs : {1u, 2u, 16u}) {
    std::vector<std::atomic<int>> times(100);
    int reported = 0;
    EXPECT_EQ(for_each_index(
                  times.size(), jobs, [&](std::size_t i) { ++times[i]; }, [&] { ++reported; }),
              Indices{});
    for (const auto& t : times) EXPECT_EQ(t, 1);
    EXPECT_EQ(reported, 100);
  }
  EXPECT_EQ(for_each_index(
                0, 4, [](std::size_t) { FAIL(); }, [] {}),
            Indices{});
}

/// Memory that suffices for a piece alone, but not while another is at work.
TEST(Workers, WhatLacksMemoryIsDoneAgainAlone) {
  for (const unsigned jobs : {1u, 4u}) {
    std::vector<std::atomic<int>> done(20);
    std::atomic<unsigned> failures{0};
    const auto work = [&](std::size_t i) {
      if (failures++ < jobs) throw std::bad_alloc();
      ++done[i];
    };
    EXPECT_EQ(for_each_index(done.size(), jobs, work, [] {}), Indices{});
    for (const auto& d : done) EXPECT_EQ(d, 1);
  }
}

TEST(Workers, WhatLacksMemoryEvenAloneIsLeft) {
  const auto work = [](std::size_t i) {
    if (i == 3 || i == 7) throw std::bad_alloc();
  };
  for (const unsigned jobs : {1u, 4u}) EXPECT_EQ(for_each_index(10, jobs, work, [] {}), (Indices{3, 7}));
}

TEST(Workers, OtherExceptionsLeave) {
  const auto work = [](std::size_t i) {
    if (i == 5) throw std::runtime_error("five");
  };
  for (const unsigned jobs : {1u, 4u}) EXPECT_THROW((void)for_each_index(10, jobs, work, [] {}), std::runtime_error);
}

}  // namespace
}  // namespace distsim::study
