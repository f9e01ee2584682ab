// embedding (one table, one index a sample, as for a vocabulary) and FBGEMM's table-batched embedding bags.
#include <algorithm>

#include "opmodels/csv/op_row_kinds.hpp"

namespace distsim::opmodels {
namespace {

/// "bwd+rowwise_adagrad" names the optimizer that the backward kernel carries.
Result<graph::EmbeddingOptimizer> optimizer_of(std::string_view pass_text) {
  const std::size_t plus = pass_text.find('+');
  if (plus == std::string_view::npos) return graph::EmbeddingOptimizer::none;
  const std::string_view name = pass_text.substr(plus + 1);
  if (name == "rowwise_adagrad") return graph::EmbeddingOptimizer::rowwise_adagrad;
  if (name == "adagrad") return graph::EmbeddingOptimizer::adagrad;
  if (name == "adam") return graph::EmbeddingOptimizer::adam;
  if (name == "sgd") return graph::EmbeddingOptimizer::sgd;
  return Error{
      "pass: found '" + std::string(pass_text) + "', expected bwd+sgd, bwd+adagrad, bwd+rowwise_adagrad or bwd+adam",
      "", ""};
}

/// Two names for one size. A column `a` beside a `b` in `extra` is what op_bench writes, and means the same twice.
Result<void> check_one_of(const OpFields& fields, OpColumns::Name a, OpColumns::Name b) {
  const bool op_bench = !fields.text(a).empty() && fields.text(b).empty();
  if (op_bench || fields.said(a).empty() || fields.said(b).empty()) return {};
  return Error{
      std::string(OpColumns::text(a)) + ", " + std::string(OpColumns::text(b)) + ": found both, expected one of them",
      "", ""};
}

struct Sizes {
  std::int64_t tables, batch, rows_total, dim;
  double nnz, alpha;
};

/// nnz, or pooling for every sample and table.
Result<double> lookups_of(const OpFields& fields, const Sizes& s) {
  if (!fields.said(OpColumns::nnz).empty() || fields.said(OpColumns::pooling).empty())
    return fields.number(OpColumns::nnz);
  TRY_ASSIGN(const double pooling, fields.number(OpColumns::pooling));
  return pooling * static_cast<double>(s.tables) * static_cast<double>(s.batch);
}

/// rows_total, or rows for every table.
Result<std::int64_t> rows_of(const OpFields& fields, const Sizes& s) {
  if (!fields.said(OpColumns::rows_total).empty() || fields.said(OpColumns::rows).empty())
    return fields.integer(OpColumns::rows_total);
  TRY_ASSIGN(const std::int64_t rows, fields.integer(OpColumns::rows));
  if (static_cast<double>(rows) * static_cast<double>(s.tables) <= 1e15) return rows * s.tables;
  return Error{"rows: found " + std::to_string(rows) + " in each of " + std::to_string(s.tables) +
                   " tables, expected at most 1e15 in total",
               "", ""};
}

/// A framework's plain embedding sorts and sums within its own kernels, without asking the host for the number of
/// distinct rows.
Result<graph::SparseUpdate> update_of(const OpFields& fields, bool generic) {
  const std::string_view text = fields.said(OpColumns::update);
  if (text.empty()) return generic ? graph::SparseUpdate::sort_dedup : graph::SparseUpdate::fused;
  if (text == "fused") return graph::SparseUpdate::fused;
  if (text == "sort_dedup") return graph::SparseUpdate::sort_dedup;
  if (text == "atomic") return graph::SparseUpdate::atomic;
  return Error{"update: found '" + std::string(text) + "', expected fused, sort_dedup or atomic", "", ""};
}

Result<Sizes> read_sizes(const OpFields& fields) {
  TRY(check_one_of(fields, OpColumns::nnz, OpColumns::pooling));
  TRY(check_one_of(fields, OpColumns::rows_total, OpColumns::rows));
  Sizes s{};
  TRY_ASSIGN(s.tables, fields.integer_or(OpColumns::tables, 1));
  TRY_ASSIGN(s.batch, fields.integer(OpColumns::batch));
  TRY_ASSIGN(s.nnz, lookups_of(fields, s));
  TRY_ASSIGN(s.rows_total, rows_of(fields, s));
  TRY_ASSIGN(s.alpha, fields.number_or(OpColumns::alpha, 0));
  TRY_ASSIGN(const double dim, fields.number(OpColumns::dim));
  s.dim = static_cast<std::int64_t>(std::clamp(dim, 0.0, 1e9) + 0.5);  // a mean over tables
  const bool fits = static_cast<double>(s.rows_total) * static_cast<double>(s.dim) < 1e18;
  if (s.tables >= 1 && s.tables <= 1'000'000 && s.batch >= 1 && s.dim >= 1 && s.rows_total >= s.tables && fits)
    return s;
  return Error{"tables, batch, rows_total, dim: found " + std::to_string(s.tables) + ", " + std::to_string(s.batch) +
                   ", " + std::to_string(s.rows_total) + ", " + std::to_string(s.dim) +
                   ", expected at least 1 of each and at least as many rows as tables",
               "", ""};
}

/// A framework's dense gradient of a table is zeroed before the rows are added.
graph::Elementwise zero_gradient(const Sizes& s, graph::DType dtype) { return {s.rows_total * s.dim, 0, 1, 0, dtype}; }

/// A weighted bag's backward besides: the gradient of the weights reads every row and its bag's gradient once more, as
/// a forward does, and the weights are sorted along with their indices (a histogram, then a pass for every 8 bits of
/// the row number; key and value in, key and value out).
void add_weight_gradient(const graph::EmbeddingBag& bag, const Sizes& s, std::vector<graph::Op>& ops) {
  graph::EmbeddingBag gather = bag;
  gather.pass = graph::Pass::forward;
  ops.push_back(gather);
  const auto lookups = static_cast<std::int64_t>(std::clamp(s.nnz, 1.0, 1e15));
  ops.push_back(graph::Elementwise{lookups, 2, 0, 1, graph::DType::fp32});
  for (std::int64_t rows = s.rows_total; rows > 0; rows /= 256)
    ops.push_back(graph::Elementwise{lookups, 3, 3, 1, graph::DType::fp32});
}

}  // namespace

Result<OpRow> embedding_row(const OpFields& fields, const RowContext& context) {
  TRY_ASSIGN(const Sizes s, read_sizes(fields));
  graph::EmbeddingBag bag;
  const double pooling = s.nnz / static_cast<double>(s.tables) / static_cast<double>(s.batch);
  bag.tables.assign(static_cast<std::size_t>(s.tables),
                    graph::EmbeddingTable{s.rows_total / s.tables, s.dim, pooling, s.alpha});
  bag.batch = s.batch;
  bag.table_batched = context.op != "embedding";
  bag.weights = bag.output = context.dtype;
  bag.pass = context.pass == RowPass::forward ? graph::Pass::forward : graph::Pass::backward;
  TRY_ASSIGN(bag.optimizer, optimizer_of(context.pass_text));
  const bool dense = bag.optimizer == graph::EmbeddingOptimizer::none;
  TRY_ASSIGN(bag.update, update_of(fields, dense && bag.table_batched));
  OpRow row{{bag}, HostCall::embedding};
  if (bag.pass == graph::Pass::backward && context.op == "fbgemm_tbe_weighted") add_weight_gradient(bag, s, row.ops);
  if (bag.pass == graph::Pass::backward && dense) row.ops.push_back(zero_gradient(s, context.dtype));
  return row;
}

}  // namespace distsim::opmodels
