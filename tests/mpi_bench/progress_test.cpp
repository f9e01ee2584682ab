#include "mpi_bench/common/progress.hpp"

#include <gtest/gtest.h>

namespace distsim::bench {
namespace {

TEST(Progress, TimeLeftIsInProportion) {
  EXPECT_EQ(bench::progress_text(0.25, 10, "x"), " 25%  0:30 left  x");  // 10 s for a quarter: 30 s for the rest
  EXPECT_EQ(bench::progress_text(0.5, 3723, "y"), " 50%  1:02:03 left  y");
  EXPECT_EQ(bench::progress_text(1, 10, "z"), "100%  0:00 left  z");
}

TEST(Progress, SaysNoTimeBeforeItCanKnow) {
  EXPECT_EQ(bench::progress_text(0, 5, "x"), "  0%  x");
  EXPECT_EQ(bench::progress_text(0.01, 5, "x"), "  1%  x");
}

TEST(Progress, StaysInItsBounds) { EXPECT_EQ(bench::progress_text(1.5, 10, "x"), "100%  0:00 left  x"); }

}  // namespace
}  // namespace distsim::bench
