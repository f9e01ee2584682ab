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

/// How the sparse backward is carried out: `fused` (table-batched kernel with the optimizer in it), `sort_dedup` (sort
/// the indices, sum duplicates, scatter; the TensorFlow way), `atomic` (scatter-add with atomics, the one-hot HugeCTR
/// way).
enum class SparseUpdate : std::uint8_t { fused, sort_dedup, atomic };
template <>
inline constexpr std::array<std::string_view, 3> kNames<SparseUpdate>{"fused", "sort_dedup", "atomic"};

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
  std::string text() const;  ///< "26 tables batch 512 indices/sample 40 fp32": the fields alone are too many
  /// One addition for each element of each looked-up row.
  double useful_flops() const {
    double sum = 0;
    for (const EmbeddingTable& t : tables) sum += real(batch) * t.pooling_factor * real(t.dim);
    return sum;
  }
};

}  // namespace distsim::graph
