// What the allocator of a GPU has reserved, as a range.
#include <gtest/gtest.h>

#include "sim/report/text/split_model.hpp"

namespace distsim::report {
namespace {

ReservedMemory reserved(std::vector<std::int64_t> used, std::int64_t capacity) {
  ReportContext c;
  c.memory_per_rank = std::move(used);
  c.memory_capacity = capacity;
  return reserved_memory(c);
}

TEST(ReservedMemory, ReachesFromWhatIsInUseToWhatFragmentationLeaves) {
  const ReservedMemory free = reserved({50'000, 67'000, 10'000}, 200'000);
  EXPECT_EQ(free.low, 67'000);
  EXPECT_EQ(free.high, 100'000) << "a third is not in use";
  EXPECT_EQ(reserved({67'000}, 0).high, 100'000) << "of a GPU of any size";
}

TEST(ReservedMemory, IsNoMoreThanTheGpuHas) {
  EXPECT_EQ(reserved({67'000}, 90'000).high, 90'000);
  EXPECT_EQ(reserved({95'000}, 90'000).high, 95'000) << "an estimate that does not fit is still one";
  EXPECT_EQ(reserved({}, 90'000).high, 0);
}

}  // namespace
}  // namespace distsim::report
