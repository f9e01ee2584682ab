// Pointwise ops, norms, softmax: rows x cols.
#include <algorithm>
#include <array>

#include "opmodels/csv/op_row_kinds.hpp"

namespace distsim::opmodels {
namespace {

/// Tensors an eager framework's kernel reads and writes, forward and in the gradient (reads 0 and writes 0: no kernel).
struct PointwiseFacts {
  std::string_view name;
  double reads, writes, flops;
  double back_reads, back_writes;
};

// The suffix u marks a tensor with a scalar. Gradients: add passes its gradient on; mul and div have one kernel an
// operand.
constexpr std::array<PointwiseFacts, 34> kPointwise{{
    {"add", 2, 1, 1, 0, 0},
    {"sub", 2, 1, 1, 0, 0},
    {"mul", 2, 1, 1, 4, 2},
    {"div", 2, 1, 4, 5, 2},
    {"pow", 2, 1, 20, 6, 2},
    {"addu", 1, 1, 1, 0, 0},
    {"subu", 1, 1, 1, 0, 0},
    {"mulu", 1, 1, 1, 1, 1},
    {"divu", 1, 1, 4, 1, 1},
    {"powu", 1, 1, 20, 5, 3},
    {"relu", 1, 1, 1, 2, 1},
    {"gelu", 1, 1, 30, 2, 1},
    {"tanh", 1, 1, 20, 2, 1},
    {"sigmoid", 1, 1, 20, 2, 1},
    {"add_", 2, 1, 1, 0, 0},
    {"sub_", 2, 1, 1, 0, 0},
    {"mul_", 1, 1, 1, 2, 1},
    {"div_", 1, 1, 4, 2, 1},
    {"relu_", 1, 1, 1, 2, 1},
    {"copy_", 1, 1, 0, 1, 1},
    {"fill_", 0, 1, 0, 0, 0},
    {"zero_", 0, 1, 0, 0, 0},
    {"sum", 1, 0, 1, 0, 1},
    {"mean", 1, 0, 1, 0, 1},
    {"cat", 1, 1, 0, 1, 1},
    {"index", 1, 1, 0, 1, 1},
    {"dropout", 1, 1.25, 10, 1.25, 1},
    {"silu", 1, 1, 20, 2, 1},
    {"sigmoid_backward", 2, 1, 3, 2, 1},
    {"tanh_backward", 2, 1, 3, 2, 1},
    {"threshold_backward", 2, 1, 1, 2, 1},
    {"gelu_backward", 2, 1, 60, 2, 1},
    {"exp", 1, 1, 20, 2, 1},
    {"sqrt", 1, 1, 10, 2, 1},
}};

const PointwiseFacts* find_pointwise(std::string_view op) {
  for (const PointwiseFacts& facts : kPointwise) {
    if (facts.name == op) return &facts;
  }
  return nullptr;
}

using Sizes = RowsCols;

graph::Elementwise kernel(const Sizes& sizes, graph::DType dtype, double reads, double writes, double flops) {
  return {sizes.rows * sizes.cols, reads, writes, flops, dtype};
}

Result<OpRow> streamed(const OpFields& fields, const RowContext& context, const PointwiseFacts& facts) {
  TRY_ASSIGN(const Sizes sizes, rows_cols(fields));
  const bool forward = context.pass == RowPass::forward || context.op.ends_with("_backward");
  const double reads = forward ? facts.reads : facts.back_reads;
  const double writes = forward ? facts.writes : facts.back_writes;
  return OpRow{{kernel(sizes, context.dtype, reads, writes, facts.flops)}, HostCall::pointwise};
}

/// Gated activations run as two eager kernels, act(gate) and the product with the other half; `cols` counts the
/// output's.
Result<OpRow> gated(const OpFields& fields, const RowContext& context) {
  TRY_ASSIGN(const Sizes sizes, rows_cols(fields));
  OpRow row{{kernel(sizes, context.dtype, 1, 1, 30)}, HostCall::pointwise};
  if (fields.text(OpColumns::extra).find("gated=True") != std::string_view::npos)
    row.ops.push_back(kernel(sizes, context.dtype, 2, 1, 1));
  return row;
}

Result<OpRow> normalised(const OpFields& fields, const RowContext& context, graph::NormKind kind) {
  TRY_ASSIGN(Sizes sizes, rows_cols(fields));
  // One data set counts all elements in `rows` and says so.
  if (fields.text(OpColumns::extra).find("activation elems (rows)") != std::string_view::npos)
    sizes.rows = std::max<std::int64_t>(1, sizes.rows / sizes.cols);
  graph::Normalization op{kind,
                          sizes.rows,
                          sizes.cols,
                          context.dtype,
                          context.pass == RowPass::forward ? graph::Pass::forward : graph::Pass::backward,
                          false};
  return OpRow{{op}, HostCall::normalization};
}

Result<OpRow> softmaxed(const OpFields& fields, const RowContext& context) {
  TRY_ASSIGN(const Sizes sizes, rows_cols(fields));
  const bool forward = context.pass == RowPass::forward && !context.op.ends_with("_backward_data");
  return OpRow{
      {graph::Softmax{sizes.rows, sizes.cols, context.dtype, forward ? graph::Pass::forward : graph::Pass::backward}},
      HostCall::softmax};
}

Result<OpRow> loss(const OpFields& fields, const RowContext& context) {
  TRY_ASSIGN(const Sizes sizes, rows_cols(fields));
  const graph::Pass pass = context.pass == RowPass::forward ? graph::Pass::forward : graph::Pass::backward;
  return OpRow{{graph::Loss{graph::LossKind::binary_cross_entropy, sizes.rows, sizes.cols, context.dtype, pass}},
               HostCall::pointwise};
}

}  // namespace

Result<RowsCols> rows_cols(const OpFields& fields) {
  TRY_ASSIGN(const std::int64_t rows, fields.integer(OpColumns::rows));
  TRY_ASSIGN(const std::int64_t cols, fields.integer(OpColumns::cols));
  const bool fits = static_cast<double>(rows) * static_cast<double>(cols) <= 4611686018427387904.0;
  if (rows < 1 || cols < 1 || !fits) {
    return Error{"rows, cols: found " + std::to_string(rows) + " x " + std::to_string(cols) +
                     ", expected at least 1 and a product up to 2^62",
                 "", ""};
  }
  return RowsCols{rows, cols};
}

std::optional<Result<OpRow>> pointwise_row(const OpFields& fields, const RowContext& context) {
  if (const PointwiseFacts* facts = find_pointwise(context.op)) return streamed(fields, context, *facts);
  if (context.op == "act_silu_mul_or_gelu") return gated(fields, context);
  if (context.op == "layernorm") return normalised(fields, context, graph::NormKind::layer);
  if (context.op == "rmsnorm_or_layernorm" || context.op == "rmsnorm")
    return normalised(fields, context, graph::NormKind::rms);
  if (context.op == "batchnorm") return normalised(fields, context, graph::NormKind::batch);
  if (context.op.starts_with("softmax") || context.op.starts_with("_softmax")) return softmaxed(fields, context);
  if (context.op == "binary_cross_entropy_with_logits") return loss(fields, context);
  return std::nullopt;
}

std::vector<std::string> pointwise_names() {
  std::vector<std::string> names{"softmax", "layernorm", "rmsnorm", "batchnorm", "binary_cross_entropy_with_logits"};
  for (const PointwiseFacts& facts : kPointwise) names.emplace_back(facts.name);
  return names;
}

}  // namespace distsim::opmodels
