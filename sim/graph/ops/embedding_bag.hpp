// Pooled lookups in embedding tables.
#pragma once

#include <string>
#include <vector>

#include "sim/graph/ops/dtype.hpp"

namespace distsim::graph {

/// One embedding table, or the slice of it that a rank holds.
struct EmbeddingTable {
  std::int64_t rows = 0;
  std::int64_t dim = 0;
  double pooling_factor = 1;  ///< mean indices per sample that fall into this slice (below 1 for a row-wise slice)
  double alpha = 0;           ///< exponent of the power law of index popularity; 0 is uniform

  template <class Visit, class... Self>
  static constexpr void fields(Visit&& visit, Self&... table) {
    visit(field::size("rows").within(1, 1e15), table.rows...);
    visit(field::size("dim"), table.dim...);
    visit(field::size("pooling_factor").within(0, 1e6), table.pooling_factor...);
    visit(field::setting("alpha").within(0, 4), table.alpha...);
  }
  bool operator==(const EmbeddingTable&) const = default;
};

enum class EmbeddingOptimizer : std::uint8_t { none, sgd, rowwise_adagrad, adagrad, adam };
template <>
inline constexpr std::array<std::string_view, 5> kNames<EmbeddingOptimizer>{"none", "sgd", "rowwise_adagrad", "adagrad",
                                                                            "adam"};

/// How gradients reach the rows, and with it which kernels look rows up:
///   fused          sorted by row, then one kernel for all tables sums and updates (FBGEMM)
///   atomic         every gradient is added to its row where it is (one-hot HugeCTR; TensorFlow's scatter for plain SGD)
///   block_per_row  sorted by row, then a thread block for each distinct row sums its gradients in turn and updates it
///                  (HugeCTR's hash tables)
///   sort_dedup     TensorFlow: rows of several ids are gathered and then summed; backward every id gets a gradient row
///                  of its own, `unique` numbers the distinct rows (a sort of whole keys), `unsorted_segment_sum` adds
///                  theirs up with atomics, a sparse optimizer updates
enum class SparseUpdate : std::uint8_t { fused, sort_dedup, atomic, block_per_row };
template <>
inline constexpr std::array<std::string_view, 4> kNames<SparseUpdate>{"fused", "sort_dedup", "atomic", "block_per_row"};

/// Passes of a radix sort, 8 bits of the key each, that tell `keys` keys apart.
std::int64_t radix_passes(double keys);

/// Pooled lookups of `batch` samples in every table, in one (table-batched) or several kernels.
struct EmbeddingBag {
  static constexpr std::string_view kKind = "embedding_bag";
  static constexpr Work kWork = Work::kernel;
  std::vector<EmbeddingTable> tables;
  std::int64_t batch = 0;
  DType weights = DType::fp32;
  DType output = DType::fp32;
  DType index = DType::int64;
  Pass pass = Pass::forward;  ///< forward, or backward (which includes the optimizer's update)
  EmbeddingOptimizer optimizer = EmbeddingOptimizer::sgd;
  SparseUpdate update = SparseUpdate::fused;
  bool table_batched = true;  ///< one kernel for all tables; else one per table

  template <class Visit, class... Self>
  static constexpr void fields(Visit&& visit, Self&... op) {
    visit(field::size("tables"), op.tables...);
    visit(field::size("batch"), op.batch...);
    visit(field::setting("weights"), op.weights...);
    visit(field::setting("output"), op.output...);
    visit(field::note("index"), op.index...);
    visit(field::setting("pass"), op.pass...);
    visit(field::setting("optimizer"), op.optimizer...);
    visit(field::setting("update"), op.update...);
    visit(field::setting("table_batched"), op.table_batched...);
  }
  /// Ids of all samples in a table.
  double lookups_of(const EmbeddingTable& table) const { return real(batch) * table.pooling_factor; }
  bool several_ids(const EmbeddingTable& table) const { return table.pooling_factor > 1; }
  /// Kernels of a launch over `lookups` ids in tables of `rows` rows together.
  std::int64_t kernels_of_launch(double rows, double lookups, bool several_ids) const;
  /// Of the whole op.
  std::int64_t kernels() const;

  std::string text() const;  ///< "26 tables batch 512 indices/sample 40 fp32": the fields alone are too many
  /// One addition for each element of each looked-up row.
  double useful_flops() const {
    double sum = 0;
    for (const EmbeddingTable& t : tables) sum += real(batch) * t.pooling_factor * real(t.dim);
    return sum;
  }
};

}  // namespace distsim::graph
