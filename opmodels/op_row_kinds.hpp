// The parsers behind op_from_row, one per group of columns. Each fills the ops, the host call and the number of calls.
#pragma once

#include "opmodels/op_row.hpp"

namespace distsim {

/// The direction a row's `pass` column names.
enum class RowPass { forward, backward, backward_data, backward_weight };

struct RowContext {
  DType dtype;
  RowPass pass;
  std::string_view op;
  std::string_view pass_text;
};

Result<OpRow> product_row(const OpFields& fields, const RowContext& context);
Result<OpRow> conv_row(const OpFields& fields, const RowContext& context);
Result<OpRow> embedding_row(const OpFields& fields, const RowContext& context);
/// Nothing where the op is not one of the pointwise group.
std::optional<Result<OpRow>> pointwise_row(const OpFields& fields, const RowContext& context);
/// Names of the pointwise ops, for hints.
std::vector<std::string> pointwise_names();

}  // namespace distsim
