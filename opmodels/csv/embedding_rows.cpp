// embedding (one table, one index per sample, as for a vocabulary) and FBGEMM's table-batched embedding bags.
#include <algorithm>
#include <array>

#include "base/text/quantity_text.hpp"
#include "opmodels/csv/row_readers.hpp"

namespace distsim::opmodels {
namespace {

/// Two names for one size. op_bench writes a column `a` and a `b` in `extra`, which mean the same.
Result<void> check_one_of(const OpFields& fields, std::string_view a, std::string_view b) {
  const bool op_bench = !fields.text(a).empty() && fields.text(b).empty();
  if (op_bench || fields.said(a).empty() || fields.said(b).empty()) return {};
  return Error{std::string(a) + ", " + std::string(b) + ": found both, expected one of them", "", ""};
}

struct Sizes {
  std::int64_t tables, batch, rows_total, dim;
  double nnz, alpha;
};

/// nnz, or pooling for every sample and table.
Result<double> lookups_of(const OpFields& fields, const Sizes& s) {
  if (fields.has("nnz") || !fields.has("pooling")) return fields.number("nnz");
  TRY_ASSIGN(const double pooling, fields.number("pooling"));
  return pooling * static_cast<double>(s.tables) * static_cast<double>(s.batch);
}

/// rows_total, or rows for every table.
Result<std::int64_t> rows_of(const OpFields& fields, const Sizes& s) {
  if (fields.has("rows_total") || !fields.has("rows")) return fields.integer("rows_total");
  TRY_ASSIGN(const std::int64_t rows, fields.integer("rows"));
  if (static_cast<double>(rows) * static_cast<double>(s.tables) <= 1e15) return rows * s.tables;
  return Error{"rows: found " + std::to_string(rows) + " in each of " + std::to_string(s.tables) +
                   " tables, expected at most 1e15 in total",
               "", ""};
}

/// How the columns of an embedding op are meant.
struct Flavour {
  bool table_batched = true;
  bool weighted = false;  ///< with a weight per index, whose gradient is found as well
};

Result<Sizes> read_sizes(const OpFields& fields) {
  TRY(check_one_of(fields, "nnz", "pooling"));
  TRY(check_one_of(fields, "rows_total", "rows"));
  Sizes s{};
  TRY_ASSIGN(s.tables, fields.integer_or("tables", 1));
  TRY_ASSIGN(s.batch, fields.integer("batch"));
  TRY_ASSIGN(s.nnz, lookups_of(fields, s));
  TRY_ASSIGN(s.rows_total, rows_of(fields, s));
  TRY_ASSIGN(s.alpha, fields.number_or("alpha", 0));
  TRY_ASSIGN(const double dim, fields.number("dim"));
  if (dim > 1e9)
    return Error{"dim: found " + format_quantity_beside(dim, 1e9, Dimension::none) + ", expected at most 1e9", "", ""};
  s.dim = static_cast<std::int64_t>(std::max(dim, 0.0) + 0.5);  // a mean over tables
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

/// What a weighted bag's backward pass adds: the gradient of the weights reads every row and its bag's gradient once
/// more, as a forward does, and the weights are sorted along with their indices (a histogram, then a pass for every 8
/// bits of the row number; key and value in, key and value out).
void add_weight_gradient(const graph::EmbeddingBag& bag, const Sizes& s, std::vector<graph::Op>& ops) {
  graph::EmbeddingBag gather = bag;
  gather.pass = graph::Pass::forward;
  ops.push_back(gather);
  const auto lookups = static_cast<std::int64_t>(std::clamp(s.nnz, 1.0, 1e15));
  ops.push_back(graph::Elementwise{lookups, 2, 0, 1, graph::DType::fp32});
  for (std::int64_t rows = s.rows_total; rows > 0; rows /= 256)
    ops.push_back(graph::Elementwise{lookups, 3, 3, 1, graph::DType::fp32});
}

Result<OpRow> read(const OpFields& fields, const RowContext& context, Flavour flavour) {
  TRY_ASSIGN(const Sizes s, read_sizes(fields));
  graph::EmbeddingBag bag;
  bag.table_batched = flavour.table_batched;
  bag.optimizer = context.optimizer.value_or(graph::EmbeddingOptimizer::none);
  TRY(read_fields(fields, context, bag));
  const double pooling = s.nnz / static_cast<double>(s.tables) / static_cast<double>(s.batch);
  bag.tables.assign(static_cast<std::size_t>(s.tables),
                    graph::EmbeddingTable{s.rows_total / s.tables, s.dim, pooling, s.alpha});
  bag.index = graph::DType::int64;
  if (bag.pass != graph::Pass::forward) bag.pass = graph::Pass::backward;
  const bool backward = bag.pass == graph::Pass::backward;
  OpRow row{{bag}, HostCall::embedding};
  if (backward && flavour.weighted) add_weight_gradient(bag, s, row.ops);
  if (backward && !context.optimizer) row.ops.push_back(zero_gradient(s, context.dtype));
  return row;
}

constexpr std::array<RowReader, 4> kEmbeddingReaders{
    {{"embedding", [](const OpFields& f, const RowContext& c) { return read(f, c, {.table_batched = false}); },
      Gradient::with_optimizer},
     {"embedding_bag", [](const OpFields& f, const RowContext& c) { return read(f, c, {}); }, Gradient::with_optimizer},
     {"fbgemm_tbe_weighted", [](const OpFields& f, const RowContext& c) { return read(f, c, {.weighted = true}); },
      Gradient::with_optimizer},
     {"fbgemm_tbe_unweighted", [](const OpFields& f, const RowContext& c) { return read(f, c, {}); },
      Gradient::with_optimizer}}};

}  // namespace

std::span<const RowReader> embedding_readers() { return kEmbeddingReaders; }

}  // namespace distsim::opmodels
