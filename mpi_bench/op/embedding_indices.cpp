#include "mpi_bench/op/embedding_indices.hpp"

#include <algorithm>
#include <cmath>

#include "base/random.hpp"

namespace distsim::bench {
namespace {

/// A prime above any table's rows: rank -> rank * prime mod rows is a permutation.
constexpr std::uint64_t kPrime = 2654435761;

std::int64_t spread(std::int64_t rank, std::int64_t rows) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(rank) % rows * (kPrime % rows) % rows);
}

}  // namespace

std::int64_t skewed_rank(double u, std::int64_t rows, double alpha) {
  const double end = static_cast<double>(rows) + 1, power = 1 - alpha;
  const double x = std::abs(power) < 1e-9 ? std::pow(end, u) : std::pow(1 + u * (std::pow(end, power) - 1), 1 / power);
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(x) - 1, 0, rows - 1);
}

std::vector<std::int64_t> embedding_indices(const EmbeddingShape& s, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::int64_t> indices;
  indices.reserve(static_cast<std::size_t>(s.tables * s.batch * s.pooling));
  for (std::int64_t table = 0; table < s.tables; ++table)
    for (std::int64_t i = 0; i < s.batch * s.pooling; ++i)
      indices.push_back(table * s.rows_per_table +
                        spread(skewed_rank(random.uniform(), s.rows_per_table, s.alpha), s.rows_per_table));
  return indices;
}

}  // namespace distsim::bench
