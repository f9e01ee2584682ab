// Indices of embedding lookups with a stated skew.
#pragma once

#include <cstdint>
#include <vector>

#include "mpi_bench/op/op_case.hpp"

namespace distsim::bench {

/// nnz row numbers in [0, tables * rows_per_table), bag by bag, tables outermost. Within a table the row of popularity
/// rank i (0 the most popular) is drawn with a probability proportional to (i + 1)^-alpha, by inverting the continuous
/// distribution over [1, rows + 1), whose error against the discrete one is in the first few rows; ranks are then
/// spread over the table, so that popular rows are not neighbours. Same seed, same indices.
std::vector<std::int64_t> embedding_indices(const EmbeddingShape& shape, std::uint64_t seed);

/// The popularity rank for a uniform u in [0, 1).
std::int64_t skewed_rank(double u, std::int64_t rows, double alpha);

}  // namespace distsim::bench
