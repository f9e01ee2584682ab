// embedding (one table, one index a sample, as for a vocabulary) and FBGEMM's table-batched embedding bags.
#include <algorithm>

#include "opmodels/op_row_kinds.hpp"

namespace distsim {
namespace {

/// "bwd+rowwise_adagrad" names the optimizer that the backward kernel carries.
EmbeddingOptimizer optimizer_of(std::string_view pass_text) {
  if (pass_text.ends_with("+rowwise_adagrad")) return EmbeddingOptimizer::rowwise_adagrad;
  if (pass_text.ends_with("+adagrad")) return EmbeddingOptimizer::adagrad;
  if (pass_text.ends_with("+adam")) return EmbeddingOptimizer::adam;
  return pass_text.ends_with("+sgd") ? EmbeddingOptimizer::sgd : EmbeddingOptimizer::none;
}

struct Sizes {
  std::int64_t tables, batch, rows_total, dim;
  double nnz;
};

Result<Sizes> read_sizes(const OpFields& fields) {
  Sizes s{};
  TRY_ASSIGN(s.tables, fields.integer_or(OpColumns::tables, 1));
  TRY_ASSIGN(s.batch, fields.integer(OpColumns::batch));
  TRY_ASSIGN(s.nnz, fields.number(OpColumns::nnz));
  TRY_ASSIGN(s.rows_total, fields.integer(OpColumns::rows_total));
  TRY_ASSIGN(const double dim, fields.number(OpColumns::dim));
  s.dim = static_cast<std::int64_t>(std::clamp(dim, 0.0, 1e9) + 0.5);  // a mean over tables
  const bool fits = static_cast<double>(s.rows_total) * static_cast<double>(s.dim) < 1e18;
  if (s.tables >= 1 && s.tables <= 1'000'000 && s.batch >= 1 && s.dim >= 1 && s.rows_total >= s.tables && fits) return s;
  return Error{"tables, batch, rows_total, dim: found " + std::to_string(s.tables) + ", " + std::to_string(s.batch) + ", " + std::to_string(s.rows_total) +
                   ", " + std::to_string(s.dim) + ", expected each at least 1 and no fewer rows than tables", "", ""};
}

/// A framework's dense gradient of a table is zeroed before the rows are added.
Elementwise zero_gradient(const Sizes& s, DType dtype) { return {s.rows_total * s.dim, 0, 1, 0, dtype}; }

}  // namespace

Result<OpRow> embedding_row(const OpFields& fields, const RowContext& context) {
  TRY_ASSIGN(const Sizes s, read_sizes(fields));
  EmbeddingBag bag;
  const double pooling = s.nnz / static_cast<double>(s.tables) / static_cast<double>(s.batch);
  bag.tables.assign(static_cast<std::size_t>(s.tables), EmbeddingTable{s.rows_total / s.tables, s.dim, pooling, 0});
  bag.batch = s.batch;
  bag.table_batched = context.op != "embedding";
  bag.weights = bag.output = context.dtype;
  bag.pass = context.pass == RowPass::forward ? Pass::forward : Pass::backward;
  bag.optimizer = optimizer_of(context.pass_text);
  const bool dense = bag.optimizer == EmbeddingOptimizer::none;
  bag.update = dense ? SparseUpdate::sort_dedup : SparseUpdate::fused;
  OpRow row{{bag}, HostCall::embedding};
  if (bag.pass == Pass::backward && dense) row.ops.push_back(zero_gradient(s, context.dtype));
  return row;
}

}  // namespace distsim
