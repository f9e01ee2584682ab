#include "mpi_bench/collective/pattern.hpp"

#include <gtest/gtest.h>

#include <set>

namespace distsim::bench {
namespace {

TEST(Pattern, ReductionsOverAnyNumberOfRanksStayExact) {
  for (const DataTypeInfo& info : data_types())
    for (RedOp op : kAllRedOps)
      for (int ranks : {1, 2, 7, 64, 300, 5000})
        for (std::uint64_t index : {0, 1, 97, 16380}) {
          const PatternSpec spec{.type = info.type, .op = op, .ranks = ranks};
          EXPECT_LE(reduced_value(spec, index), info.exact_limit) << info.name << ' ' << name_of(op) << ' ' << ranks;
        }
}

TEST(Pattern, SumIsTheSumAndMaxTheMax) {
  const PatternSpec sum{.type = DataType::float32, .op = RedOp::sum, .ranks = 3};
  EXPECT_EQ(reduced_value(sum, 5), pattern_value(sum, 0, 5) + pattern_value(sum, 1, 5) + pattern_value(sum, 2, 5));
  const PatternSpec max{.type = DataType::int32, .op = RedOp::max, .ranks = 2};
  EXPECT_EQ(reduced_value(max, 5), std::max(pattern_value(max, 0, 5), pattern_value(max, 1, 5)));
}

// A check that could not tell ranks or positions apart would pass a broken collective.
TEST(Pattern, RanksAndPositionsDiffer) {
  const PatternSpec spec{.type = DataType::float32, .ranks = 4};
  int equal_ranks = 0, equal_neighbours = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    equal_ranks += pattern_value(spec, 0, i) == pattern_value(spec, 1, i);
    equal_neighbours += pattern_value(spec, 0, i) == pattern_value(spec, 0, i + 1);
  }
  EXPECT_LE(equal_ranks, 1);
  EXPECT_LE(equal_neighbours, 1);
}

TEST(Pattern, ProductsTakeManyValues) {
  const PatternSpec spec{.type = DataType::int8, .op = RedOp::prod, .ranks = 8};
  std::set<std::uint64_t> values;
  for (std::uint64_t i = 0; i < 500; ++i) values.insert(reduced_value(spec, i));
  EXPECT_EQ(values, (std::set<std::uint64_t>{1, 2, 4, 8, 16, 32, 64}));
}

TEST(Pattern, BytesAgreeWithValuesAcrossThePeriod) {
  const PatternSpec spec{.type = DataType::int32, .op = RedOp::sum, .ranks = 3};
  const std::uint64_t first = 1000, count = 2 * kPeriod + 5;
  for (int source : {1, Segment::kReduced}) {
    const PatternBytes bytes(spec, source, first, count);
    for (std::uint64_t offset : {std::uint64_t{0}, kPeriod - 2, 2 * kPeriod - 1}) {
      std::byte out[4 * 4];
      bytes.copy(offset, out);
      for (std::uint64_t i = 0; i < 4; ++i) {
        const std::uint64_t index = first + offset + i;
        const std::uint64_t value = source < 0 ? reduced_value(spec, index) : pattern_value(spec, source, index);
        EXPECT_EQ(element_text(DataType::int32, out + 4 * i), std::to_string(value)) << offset << ' ' << i;
      }
    }
  }
}

}  // namespace
}  // namespace distsim::bench
