// The parsers behind op_from_row, one per group of columns. Each fills the ops, the host call and the number of calls.
#pragma once

#include "opmodels/csv/op_row.hpp"

namespace distsim::opmodels {

/// The direction a row's `pass` column names.
enum class RowPass { forward, backward, backward_data, backward_weight };

struct RowContext {
  graph::DType dtype;
  RowPass pass;
  std::string_view op;
  std::string_view pass_text;
};

/// Of an op whose gradients are one kernel or one sum of kernels.
inline graph::Pass pass_of(RowPass pass) {
  switch (pass) {
    case RowPass::forward:
      return graph::Pass::forward;
    case RowPass::backward_data:
      return graph::Pass::backward_data;
    case RowPass::backward_weight:
      return graph::Pass::backward_weight;
    case RowPass::backward:
      return graph::Pass::backward;
  }
  return graph::Pass::forward;
}

/// rows x cols as one number of elements. Errors: either missing or below 1, a product over 2^62.
struct RowsCols {
  std::int64_t rows, cols;
};
Result<RowsCols> rows_cols(const OpFields& fields);

Result<OpRow> product_row(const OpFields& fields, const RowContext& context);
Result<OpRow> conv_row(const OpFields& fields, const RowContext& context);
Result<OpRow> embedding_row(const OpFields& fields, const RowContext& context);

// Nothing where the op is not one of the group; and the group's names, for hints.
std::optional<Result<OpRow>> pointwise_row(const OpFields& fields, const RowContext& context);
std::vector<std::string> pointwise_names();
/// Elementwise by its tensors, concat and split, transposes, copies.
std::optional<Result<OpRow>> movement_row(const OpFields& fields, const RowContext& context);
std::vector<std::string> movement_names();
/// Interaction, cross layer, attention, dense optimizers.
std::optional<Result<OpRow>> layer_row(const OpFields& fields, const RowContext& context);
std::vector<std::string> layer_names();
/// sgd, adam, ...
bool is_optimizer(std::string_view op);

}  // namespace distsim::opmodels
