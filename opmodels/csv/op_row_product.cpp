// linear, gemm, mm, addmm, bmm, matmul: C[b,m,n] = A[b,m,k] B[b,k,n].
#include "opmodels/csv/op_row_kinds.hpp"

namespace distsim::opmodels {
namespace {

graph::Gemm data_gradient(const graph::Gemm& g) {  // dA = dC B^T
  graph::Gemm out = g;
  out.n = g.k;
  out.k = g.n;
  out.pass = graph::Pass::backward_data;
  return out;
}

graph::Gemm weight_gradient(const graph::Gemm& g) {  // dB = A^T dC
  graph::Gemm out = g;
  out.m = g.k;
  out.k = g.m;
  out.pass = graph::Pass::backward_weight;
  return out;
}

/// A framework's fp8 linear takes 16-bit activations: one kernel finds their scale, one writes them as fp8.
void add_quantisation(const graph::Gemm& g, std::vector<graph::Op>& ops) {
  const std::int64_t elements = g.batch * g.m * g.k;
  ops.push_back(graph::Elementwise{elements, 1, 0, 2, graph::DType::bf16});
  ops.push_back(graph::Elementwise{elements, 1, 0.5, 4, graph::DType::bf16});
}

/// batch m k and its like fit 64 bits (the model checks the whole product again).
Result<void> check_sizes(const graph::Gemm& g) {
  const double largest = static_cast<double>(g.batch) * static_cast<double>(g.m) * static_cast<double>(g.k);
  if (largest <= 4e18) return {};
  return Error{"b, m, k: found a product over 4e18, expected less", "", ""};
}

}  // namespace

Result<OpRow> product_row(const OpFields& fields, const RowContext& context) {
  graph::Gemm gemm;
  TRY_ASSIGN(gemm.batch, fields.integer_or(OpColumns::b, 1));
  TRY_ASSIGN(gemm.m, fields.integer(OpColumns::m));
  TRY_ASSIGN(gemm.n, fields.integer(OpColumns::n));
  TRY_ASSIGN(gemm.k, fields.integer(OpColumns::k));
  gemm.dtype = context.dtype;
  gemm.fused_epilogue = fields.text(OpColumns::layout).find("bias") != std::string_view::npos;
  TRY(check_sizes(gemm));
  OpRow row;
  row.call = context.op == "bmm" || context.op == "mm" || context.op == "gemm" || context.op == "matmul"
                 ? HostCall::bmm
                 : HostCall::linear;
  switch (context.pass) {
    case RowPass::forward:
      row.ops = {gemm};
      if (gemm.dtype == graph::DType::fp8 && context.op == "linear") add_quantisation(gemm, row.ops);
      break;
    case RowPass::backward_data:
      row.ops = {data_gradient(gemm)};
      break;
    case RowPass::backward_weight:
      row.ops = {weight_gradient(gemm)};
      break;
    case RowPass::backward:
      row.ops = {data_gradient(gemm), weight_gradient(gemm)};
      break;
  }
  return row;
}

}  // namespace distsim::opmodels
