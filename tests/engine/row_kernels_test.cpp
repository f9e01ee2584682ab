// Every instruction set computes the same bits as the plain loop.
#include "sim/engine/rows/row_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.hpp"

namespace distsim::engine {
namespace {

std::vector<std::int64_t> random_row(Random& random, std::size_t n) {
  std::vector<std::int64_t> row(n);
  for (auto& v : row) v = static_cast<std::int64_t>(random.next() >> random.below(64));
  return row;
}

struct Case {
  std::vector<std::int64_t> a, b;
  std::int64_t scalar_a, scalar_b;
  Operand operand_a(bool as_row) const { return as_row ? Operand{a.data(), 0} : Operand{nullptr, scalar_a}; }
  Operand operand_b(bool as_row) const { return as_row ? Operand{b.data(), 0} : Operand{nullptr, scalar_b}; }
  std::int64_t at(bool as_row, bool first, std::size_t i) const {
    return first ? (as_row ? a[i] : scalar_a) : (as_row ? b[i] : scalar_b);
  }
};

template <class Check>
void for_each_case(Check check) {
  Random random(3);
  for (std::size_t n = 1; n <= 70; ++n) {
    const Case c{random_row(random, n), random_row(random, n), random_row(random, 1)[0], random_row(random, 1)[0]};
    for (const RowKernels& kernels : all_row_kernels()) {
      for (const auto& [row_a, row_b] : {std::pair{true, true}, {true, false}, {false, true}, {false, false}}) {
        SCOPED_TRACE(std::string(kernels.name) + ", " + std::to_string(n) + " ranks");
        check(kernels, c, n, row_a, row_b);
      }
    }
  }
}

TEST(RowKernels, TheFirstVariantRunsEverywhere) {
  ASSERT_FALSE(all_row_kernels().empty());
  EXPECT_STREQ(all_row_kernels().front().name, "portable");
  EXPECT_STREQ(row_kernels().name, all_row_kernels().back().name);
}

TEST(RowKernels, Max) {
  for_each_case([](const RowKernels& kernels, const Case& c, std::size_t n, bool row_a, bool row_b) {
    std::vector<std::int64_t> out(n);
    kernels.max(out.data(), c.operand_a(row_a), c.operand_b(row_b), n);
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(out[i], std::max(c.at(row_a, true, i), c.at(row_b, false, i)));
  });
}

TEST(RowKernels, AddWithBounds) {
  for_each_case([](const RowKernels& kernels, const Case& c, std::size_t n, bool row_a, bool row_b) {
    std::vector<std::int64_t> out(n);
    const Bounds bounds = kernels.add(out.data(), c.operand_a(row_a), c.operand_b(row_b), n);
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const auto a = static_cast<std::uint64_t>(c.at(row_a, true, i)),
                 b = static_cast<std::uint64_t>(c.at(row_b, false, i));
      ASSERT_EQ(static_cast<std::uint64_t>(out[i]), a + b);
      bits |= a | b | (a + b);
    }
    EXPECT_EQ(bounds.low, *std::min_element(out.begin(), out.end()));
    EXPECT_EQ(bounds.high, *std::max_element(out.begin(), out.end()));
    EXPECT_EQ(bounds.bits, bits);
  });
}

TEST(RowKernels, AddAndMaxInPlace) {
  for (const RowKernels& kernels : all_row_kernels()) {
    std::vector<std::int64_t> row = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    kernels.add(row.data(), {row.data(), 0}, {nullptr, 10}, row.size());
    kernels.max(row.data(), {row.data(), 0}, {nullptr, 15}, row.size());
    EXPECT_EQ(row, (std::vector<std::int64_t>{15, 15, 15, 15, 15, 16, 17, 18, 19}));
  }
}

TEST(RowKernels, WeightedSum) {
  Random random(4);
  for (std::size_t n = 0; n <= 70; ++n) {
    const auto values = random_row(random, n);
    std::vector<std::uint64_t> weights(n);
    std::uint64_t expected = 0;
    for (std::size_t i = 0; i < n; ++i)
      expected += static_cast<std::uint64_t>(values[i]) * (weights[i] = random.next());
    for (const RowKernels& kernels : all_row_kernels()) {
      EXPECT_EQ(kernels.weighted_sum(values.data(), weights.data(), n), expected)
          << kernels.name << ", " << n << " ranks";
    }
  }
}

}  // namespace
}  // namespace distsim::engine
