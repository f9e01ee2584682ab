// Pointwise ops, norms, softmax, loss: rows x cols.
#include <algorithm>
#include <array>

#include "opmodels/csv/row_readers.hpp"
#include "sim/graph/ops/flops_per_element.hpp"

namespace distsim::opmodels {
namespace {

using graph::kErfFlops, graph::kErfGradFlops, graph::kLogisticGradFlops, graph::kRandomFlops, graph::kSpecialFlops;

/// Tensors an eager framework's kernel reads and writes, forward and in the gradient (reads 0 and writes 0: no kernel).
struct PointwiseFacts {
  std::string_view name;
  double reads, writes, flops;
  double back_reads, back_writes;
  bool wrapped = false;  ///< called by a module, or with a number (HostCall::pointwise_wrapped)
};

// The suffix u marks a tensor with a scalar. Gradients: add passes its gradient on; mul and div have one kernel an
// operand.
constexpr std::array<PointwiseFacts, 34> kPointwise{{
    {"add", 2, 1, 1, 0, 0},
    {"sub", 2, 1, 1, 0, 0},
    {"mul", 2, 1, 1, 4, 2},
    {"div", 2, 1, 4, 5, 2},
    {"pow", 2, 1, kSpecialFlops, 6, 2},
    {"addu", 1, 1, 1, 0, 0, true},
    {"subu", 1, 1, 1, 0, 0, true},
    {"mulu", 1, 1, 1, 1, 1, true},
    {"divu", 1, 1, 4, 1, 1, true},
    {"powu", 1, 1, kSpecialFlops, 5, 3, true},
    {"relu", 1, 1, 1, 2, 1, true},
    {"gelu", 1, 1, kErfFlops, 2, 1, true},
    {"tanh", 1, 1, kSpecialFlops, 2, 1},
    {"sigmoid", 1, 1, kSpecialFlops, 2, 1},
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
    {"dropout", 1, 1.25, kRandomFlops, 1.25, 1},
    {"silu", 1, 1, kSpecialFlops, 2, 1},
    {"sigmoid_backward", 2, 1, kLogisticGradFlops, 2, 1},
    {"tanh_backward", 2, 1, kLogisticGradFlops, 2, 1},
    {"threshold_backward", 2, 1, 1, 2, 1},
    {"gelu_backward", 2, 1, kErfGradFlops, 2, 1},
    {"exp", 1, 1, kSpecialFlops, 2, 1},
    {"sqrt", 1, 1, 10, 2, 1},
}};

graph::Elementwise kernel(const RowsCols& sizes, graph::DType dtype, double reads, double writes, double flops) {
  return {sizes.rows * sizes.cols, reads, writes, flops, dtype};
}

template <std::size_t place>
Result<OpRow> streamed(const OpFields& fields, const RowContext& context) {
  const PointwiseFacts& facts = kPointwise[place];
  TRY_ASSIGN(const RowsCols sizes, rows_cols(fields));
  const bool forward = context.pass == RowPass::forward || facts.name.ends_with("_backward");
  const double reads = forward ? facts.reads : facts.back_reads;
  const double writes = forward ? facts.writes : facts.back_writes;
  return OpRow{{kernel(sizes, context.dtype, reads, writes, facts.flops)},
               facts.wrapped ? HostCall::pointwise_wrapped : HostCall::pointwise};
}

/// Gated activations run as two eager kernels, act(gate) and the product with the other half; `cols` counts the
/// output's.
Result<OpRow> gated(const OpFields& fields, const RowContext& context) {
  TRY_ASSIGN(const RowsCols sizes, rows_cols(fields));
  OpRow row{{kernel(sizes, context.dtype, 1, 1, 30)}, HostCall::pointwise};
  if (fields.text("extra").find("gated=True") != std::string_view::npos)
    row.ops.push_back(kernel(sizes, context.dtype, 2, 1, 1));
  return row;
}

/// A row op has one backward kernel, whichever gradient is named.
graph::Pass one_backward(RowPass pass) {
  return pass == RowPass::forward ? graph::Pass::forward : graph::Pass::backward;
}

template <graph::NormKind kind>
Result<OpRow> normalised(const OpFields& fields, const RowContext& context) {
  graph::Normalization op;
  TRY(read_fields(fields, context, op));
  op.kind = kind;
  op.pass = one_backward(context.pass);
  // One data set counts all elements in `rows`, with this remark.
  if (op.cols > 0 && fields.text("extra").find("activation elems (rows)") != std::string_view::npos)
    op.rows = std::max<std::int64_t>(1, op.rows / op.cols);
  return OpRow{{op}, HostCall::normalization};
}

Result<OpRow> softmax(const OpFields& fields, const RowContext& context) {
  graph::Softmax op;
  TRY(read_fields(fields, context, op));
  op.pass = one_backward(context.pass);
  return OpRow{{op}, HostCall::softmax};
}

Result<OpRow> softmax_backward(const OpFields& fields, const RowContext& context) {
  RowContext backward = context;
  backward.pass = RowPass::backward;
  return softmax(fields, backward);
}

Result<OpRow> loss(const OpFields& fields, const RowContext& context) {
  graph::Loss op{graph::LossKind::binary_cross_entropy, 0, 0};
  TRY(read_fields(fields, context, op));
  op.pass = one_backward(context.pass);
  return OpRow{{op}, HostCall::pointwise};
}

constexpr std::array<RowReader, 9> kRowOps{{{"softmax", softmax},
                                            {"softmax_scaled_causal", softmax},
                                            {"softmax_backward_data", softmax_backward},
                                            {"layernorm", normalised<graph::NormKind::layer>},
                                            {"rmsnorm", normalised<graph::NormKind::rms>},
                                            {"rmsnorm_or_layernorm", normalised<graph::NormKind::rms>},
                                            {"batchnorm", normalised<graph::NormKind::batch>},
                                            {"binary_cross_entropy_with_logits", loss},
                                            {"act_silu_mul_or_gelu", gated}}};

constexpr auto kPointwiseReaders = []<std::size_t... I>(std::index_sequence<I...>) {
  std::array<RowReader, kRowOps.size() + sizeof...(I)> all{RowReader{kPointwise[I].name, streamed<I>}...};
  std::copy(kRowOps.begin(), kRowOps.end(), all.begin() + sizeof...(I));
  return all;
}
(std::make_index_sequence<kPointwise.size()>());

}  // namespace

std::span<const RowReader> pointwise_readers() { return kPointwiseReaders; }

Result<RowsCols> rows_cols(const OpFields& fields) {
  TRY_ASSIGN(const std::int64_t rows, fields.integer("rows"));
  TRY_ASSIGN(const std::int64_t cols, fields.integer("cols"));
  const bool fits = static_cast<double>(rows) * static_cast<double>(cols) <= 4611686018427387904.0;
  if (rows < 1 || cols < 1 || !fits) {
    return Error{"rows, cols: found " + std::to_string(rows) + " x " + std::to_string(cols) +
                     ", expected at least 1 and a product up to 2^62",
                 "", ""};
  }
  return RowsCols{rows, cols};
}

}  // namespace distsim::opmodels
