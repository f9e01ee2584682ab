#include "mpi_bench/collective/verify/pattern.hpp"

#include <gtest/gtest.h>

#include <set>

namespace distsim::bench {
namespace {

TEST(Pattern, ReductionsOverAnyNumberOfRanksStayExact) {
  for (const bench::DataTypeInfo& info : bench::data_types())
    for (bench::RedOp op : bench::kAllRedOps)
      for (int ranks : {1, 2, 7, 64, 300, 5000})
        for (std::uint64_t index : {0, 1, 97, 16380}) {
          const bench::PatternSpec spec{.type = info.type, .op = op, .ranks = ranks};
          EXPECT_LE(bench::reduced_value(spec, index), info.exact_limit)
              << info.name << ' ' << bench::name_of(op) << ' ' << ranks;
        }
}

TEST(Pattern, SumIsTheSumAndMaxTheMax) {
  const bench::PatternSpec sum{.type = bench::DataType::float32, .op = bench::RedOp::sum, .ranks = 3};
  EXPECT_EQ(bench::reduced_value(sum, 5),
            bench::pattern_value(sum, 0, 5) + bench::pattern_value(sum, 1, 5) + bench::pattern_value(sum, 2, 5));
  const bench::PatternSpec max{.type = bench::DataType::int32, .op = bench::RedOp::max, .ranks = 2};
  EXPECT_EQ(bench::reduced_value(max, 5), std::max(bench::pattern_value(max, 0, 5), bench::pattern_value(max, 1, 5)));
}

// A check that could not tell ranks or positions apart would pass a broken collective.
TEST(Pattern, RanksAndPositionsDiffer) {
  const bench::PatternSpec spec{.type = bench::DataType::float32, .ranks = 4};
  int equal_ranks = 0, equal_neighbours = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    equal_ranks += bench::pattern_value(spec, 0, i) == bench::pattern_value(spec, 1, i);
    equal_neighbours += bench::pattern_value(spec, 0, i) == bench::pattern_value(spec, 0, i + 1);
  }
  EXPECT_LE(equal_ranks, 1);
  EXPECT_LE(equal_neighbours, 1);
}

TEST(Pattern, ProductsTakeManyValues) {
  const bench::PatternSpec spec{.type = bench::DataType::int8, .op = bench::RedOp::prod, .ranks = 8};
  std::set<std::uint64_t> values;
  for (std::uint64_t i = 0; i < 500; ++i) values.insert(bench::reduced_value(spec, i));
  EXPECT_EQ(values, (std::set<std::uint64_t>{1, 2, 4, 8, 16, 32, 64}));
}

TEST(Pattern, BytesAgreeWithValuesAcrossThePeriod) {
  const bench::PatternSpec spec{.type = bench::DataType::int32, .op = bench::RedOp::sum, .ranks = 3};
  const std::uint64_t first = 1000, count = 2 * bench::kPeriod + 5;
  for (int source : {1, bench::Segment::kReduced}) {
    const bench::PatternBytes bytes(spec, source, first, count);
    for (std::uint64_t offset : {std::uint64_t{0}, bench::kPeriod - 2, 2 * bench::kPeriod - 1}) {
      std::byte out[4 * 4];
      bytes.copy(offset, out);
      for (std::uint64_t i = 0; i < 4; ++i) {
        const std::uint64_t index = first + offset + i;
        const std::uint64_t value =
            source < 0 ? bench::reduced_value(spec, index) : bench::pattern_value(spec, source, index);
        EXPECT_EQ(bench::element_text(bench::DataType::int32, out + 4 * i), std::to_string(value))
            << offset << ' ' << i;
      }
    }
  }
}

}  // namespace
}  // namespace distsim::bench
