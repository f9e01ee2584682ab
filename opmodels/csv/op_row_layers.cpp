// Interaction, DCN-v2 cross layer, attention, dense optimizers: ops of several kernels that have a model as a whole.
#include <algorithm>
#include <array>

#include "opmodels/csv/op_row_kinds.hpp"

namespace distsim::opmodels {
namespace {

struct OptimizerName {
  std::string_view name;
  graph::OptimizerKind kind;
};
constexpr std::array<OptimizerName, 6> kOptimizers{{{"sgd", graph::OptimizerKind::sgd},
                                                    {"momentum", graph::OptimizerKind::momentum},
                                                    {"adagrad", graph::OptimizerKind::adagrad},
                                                    {"adam", graph::OptimizerKind::adam},
                                                    {"lamb", graph::OptimizerKind::lamb},
                                                    {"lars", graph::OptimizerKind::lars}}};

/// op_bench gives the samples of its one-kernel interaction as rows.
Result<OpRow> interaction(const OpFields& fields, const RowContext& context) {
  graph::Interaction op;
  const bool by_rows = fields.said(OpColumns::batch).empty() && !fields.text(OpColumns::rows).empty();
  TRY_ASSIGN(op.batch, fields.integer(by_rows ? OpColumns::rows : OpColumns::batch));
  TRY_ASSIGN(op.features, fields.integer(OpColumns::features));
  TRY_ASSIGN(op.dim, fields.integer(OpColumns::dim));
  op.dtype = context.dtype;
  op.fused = by_rows || context.op == "fused_interaction";
  op.pass = pass_of(context.pass);
  return OpRow{{op}, HostCall::bmm};
}

Result<OpRow> cross_layer(const OpFields& fields, const RowContext& context) {
  graph::CrossLayer op;
  TRY_ASSIGN(op.batch, fields.integer(OpColumns::batch));
  TRY_ASSIGN(op.width, fields.integer(OpColumns::width));
  TRY_ASSIGN(op.rank, fields.integer_or(OpColumns::rank, 0));
  op.dtype = context.dtype;
  op.pass = pass_of(context.pass);
  return OpRow{{op}, HostCall::linear};
}

/// op_bench counts the heads of all samples and gives the length as columns.
Result<OpRow> attention(const OpFields& fields, const RowContext& context) {
  graph::Attention op;
  const bool by_rows = fields.said(OpColumns::q_len).empty() && !fields.text(OpColumns::cols).empty();
  TRY_ASSIGN(op.batch, by_rows ? fields.integer_or(OpColumns::batch, 1) : fields.integer(OpColumns::batch));
  TRY_ASSIGN(op.heads, fields.integer(OpColumns::heads));
  TRY_ASSIGN(op.q_len, fields.integer(by_rows ? OpColumns::cols : OpColumns::q_len));
  TRY_ASSIGN(op.kv_len, fields.integer_or(OpColumns::kv_len, op.q_len));
  TRY_ASSIGN(op.head_dim, fields.integer(by_rows ? OpColumns::dim : OpColumns::head_dim));
  TRY_ASSIGN(op.causal, fields.flag(OpColumns::causal));
  op.flash = context.op == "flash_attention";
  op.dtype = context.dtype;
  op.pass = pass_of(context.pass);
  return OpRow{{op}, HostCall::bmm};
}

/// op_bench gives the parameters of each tensor as columns.
Result<OpRow> optimizer(const OpFields& fields, const RowContext& context, graph::OptimizerKind kind) {
  graph::Optimizer op;
  op.kind = kind;
  if (fields.said(OpColumns::parameters).empty() && !fields.text(OpColumns::cols).empty()) {
    TRY_ASSIGN(const RowsCols sizes, rows_cols(fields));
    op.parameters = sizes.rows * sizes.cols;
    op.tensors = sizes.rows;
  } else {
    TRY_ASSIGN(op.parameters, fields.integer(OpColumns::parameters));
    TRY_ASSIGN(op.tensors, fields.integer_or(OpColumns::tensors, 1));
  }
  TRY_ASSIGN(op.master_weights, fields.flag(OpColumns::master_weights));
  op.gradient = context.dtype;
  return OpRow{{op}, HostCall::pointwise};
}

}  // namespace

std::optional<Result<OpRow>> layer_row(const OpFields& fields, const RowContext& context) {
  if (context.op == "interaction" || context.op == "fused_interaction") return interaction(fields, context);
  if (context.op == "cross_layer") return cross_layer(fields, context);
  if (context.op == "attention" || context.op == "flash_attention") return attention(fields, context);
  for (const OptimizerName& one : kOptimizers) {
    if (one.name == context.op) return optimizer(fields, context, one.kind);
  }
  return std::nullopt;
}

bool is_optimizer(std::string_view op) {
  return std::any_of(kOptimizers.begin(), kOptimizers.end(), [&](const OptimizerName& one) { return one.name == op; });
}

std::vector<std::string> layer_names() {
  std::vector<std::string> names{"interaction", "fused_interaction", "cross_layer", "attention", "flash_attention"};
  for (const OptimizerName& one : kOptimizers) names.emplace_back(one.name);
  return names;
}

}  // namespace distsim::opmodels
