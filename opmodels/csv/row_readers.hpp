// How rows of a shapes file become ops. An op whose columns have the names of its fields is read by read_fields and
// needs nothing here; the readers below are for the names, units and habits of the public data sets and of op_bench.
#pragma once

#include <algorithm>
#include <optional>
#include <span>

#include "opmodels/csv/op_row.hpp"

namespace distsim::opmodels {

/// The direction a row's `pass` column names. `backward` of a product is both gradients.
enum class RowPass { forward, backward, backward_data, backward_weight };

/// What all rows have.
struct RowContext {
  graph::DType dtype;
  RowPass pass;
  std::optional<graph::EmbeddingOptimizer> optimizer;  ///< in the backward kernel: "bwd+adam"
};

/// Of an op whose gradients are one kernel or one sum of kernels.
graph::Pass pass_of(RowPass pass);

enum class Gradient : std::uint8_t {
  none,  ///< it updates or copies
  plain,
  with_optimizer,  ///< its backward kernel may carry an optimizer
};

struct RowReader {
  std::string_view op;  ///< in the `op` column
  Result<OpRow> (*read)(const OpFields& fields, const RowContext& context);
  Gradient gradient = Gradient::plain;
};
std::span<const RowReader> product_readers();    ///< linear, gemm, conv2d, ...; attention, interaction, cross layer
std::span<const RowReader> pointwise_readers();  ///< add, mul, relu, ...; norms, softmax, loss
std::span<const RowReader> movement_readers();   ///< elementwise by its tensors, concat, transpose, copies, optimizers
std::span<const RowReader> embedding_readers();

/// rows x cols as one number of elements. Errors: either missing or below 1, a product over 2^62.
struct RowsCols {
  std::int64_t rows, cols;
};
Result<RowsCols> rows_cols(const OpFields& fields);

/// Reads one field of a shape from the column of its name; element types and passes are the row's. What is not there
/// keeps its value; a value out of the field's bounds must be given. Errors: as OpFields', an unknown name of a choice.
class FieldReader {
 public:
  FieldReader(const OpFields& fields, const RowContext& context) : fields_(fields), context_(context) {}

  void operator()(const graph::Field& field, std::int64_t& value);
  void operator()(const graph::Field& field, double& value);
  void operator()(const graph::Field& field, bool& value);
  void operator()(const graph::Field&, graph::DType& value) { value = context_.dtype; }
  void operator()(const graph::Field& field, graph::Pass& value);
  template <graph::Named Enum>
  void operator()(const graph::Field& field, Enum& value) {
    if (wants(field)) choose(field, graph::kNames<Enum>, [&](std::size_t i) { value = static_cast<Enum>(i); });
  }
  template <class Item>
  void operator()(const graph::Field&, std::vector<Item>&) {}

  Result<void> take() && { return std::move(result_); }

 private:
  /// Given, and nothing has gone wrong before.
  bool wants(const graph::Field& field) const;
  template <class Value>
  void keep(Result<Value> found, Value& value);
  template <class Set>
  void choose(const graph::Field& field, std::span<const std::string_view> names, Set set) {
    const auto found = std::find(names.begin(), names.end(), fields_.said(field.column));
    if (found == names.end())
      result_ = graph::unknown_name(field.column, fields_.said(field.column), names);
    else
      set(static_cast<std::size_t>(found - names.begin()));
  }

  const OpFields& fields_;
  const RowContext& context_;
  Result<void> result_;
};

template <class Shape>
Result<void> read_fields(const OpFields& fields, const RowContext& context, Shape& shape) {
  FieldReader reader(fields, context);
  graph::for_each_field(reader, shape);
  return std::move(reader).take();
}

}  // namespace distsim::opmodels
