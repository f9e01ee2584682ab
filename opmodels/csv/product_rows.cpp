// Matrix products and what is made of them: linear, gemm, bmm, ... C[b,m,n] = A[b,m,k] B[b,k,n]; conv2d; attention,
// interaction, cross layer; LSTM and GRU layers.
#include <array>

#include "base/text/lower_case.hpp"
#include "base/text/printable.hpp"
#include "opmodels/csv/row_readers.hpp"

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

/// Of images and filters in memory; not said: the one that tensor cores take.
Result<bool> is_channels_last(const OpFields& fields) {
  const std::string layout = lower_case(fields.text("layout"));
  if (layout.empty() || layout == "nhwc" || layout == "channels_last") return true;
  if (layout == "nchw") return false;
  return Error{"layout: found " + in_quotes(fields.text("layout"), 40) + ", expected NCHW or NHWC", "", ""};
}

/// Which operands are transposed, as BLAS says it, and whether a bias is added in the product: "NT+bias".
Result<bool> adds_bias(const OpFields& fields) {
  const std::string layout = lower_case(fields.text("layout"));
  const std::string_view operands = std::string_view(layout).substr(0, layout.find('+'));
  const std::string_view rest = std::string_view(layout).substr(operands.size());
  const bool known = operands.empty() || (operands.size() == 2 && operands.find_first_not_of("nt") == operands.npos);
  if (known && (rest.empty() || rest == "+bias")) return !rest.empty();
  return Error{"layout: found " + in_quotes(fields.text("layout"), 40) + ", expected NN, NT, TN or TT, also with +bias",
               "", ""};
}

/// batch m k and similar products fit 64 bits (the model checks the product of all sizes).
Result<void> check_sizes(const graph::Gemm& g) {
  const double largest = static_cast<double>(g.batch) * static_cast<double>(g.m) * static_cast<double>(g.k);
  if (largest <= 4e18) return {};
  return Error{"b, m, k: found a product over 4e18, expected less", "", ""};
}

/// `casts`: the framework's fp8 form quantises its activations first.
Result<OpRow> product(const OpFields& fields, const RowContext& context, HostCall call, bool casts) {
  graph::Gemm gemm;
  TRY(read_fields(fields, context, gemm));
  TRY_ASSIGN(gemm.fused_epilogue, adds_bias(fields));
  TRY(check_sizes(gemm));
  if (!gemm.grouped) gemm.imbalance = 0;  // of nothing: the same op as without it
  OpRow row;
  row.call = call;
  switch (context.pass) {
    case RowPass::forward:
      row.ops = {gemm};
      if (gemm.dtype == graph::DType::fp8 && casts) add_quantisation(gemm, row.ops);
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

Result<OpRow> linear(const OpFields& f, const RowContext& c) { return product(f, c, HostCall::linear, true); }
Result<OpRow> addmm(const OpFields& f, const RowContext& c) { return product(f, c, HostCall::linear, false); }
Result<OpRow> bmm(const OpFields& f, const RowContext& c) { return product(f, c, HostCall::bmm, false); }

/// Unequal padding is folded into the input size (same outputs, same taps); unequal strides have no Conv2d.
Result<void> read_second_side(const OpFields& fields, graph::Conv2d& conv) {
  TRY_ASSIGN(const std::int64_t stride_w, fields.integer_or("stride_w", conv.stride));
  if (stride_w != conv.stride) {
    return Error{"stride_w: found " + std::to_string(stride_w) + ", expected stride_h = " + std::to_string(conv.stride),
                 "", ""};
  }
  TRY_ASSIGN(const std::int64_t pad_w, fields.integer_or("pad_w", conv.pad));
  if (pad_w == conv.pad) return {};
  conv.h += 2 * conv.pad;
  conv.w += 2 * pad_w;
  conv.pad = 0;
  return {};
}

Result<OpRow> convolution(const OpFields& fields, const RowContext& context, std::int64_t groups) {
  graph::Conv2d conv;
  conv.r = conv.s = 0;  // to be given
  conv.groups = groups;
  TRY(read_fields(fields, context, conv));
  TRY(read_second_side(fields, conv));
  TRY_ASSIGN(conv.channels_last, is_channels_last(fields));
  return OpRow{{conv}, HostCall::conv};
}

Result<OpRow> conv2d(const OpFields& fields, const RowContext& context) { return convolution(fields, context, 1); }
Result<OpRow> depthwise(const OpFields& fields, const RowContext& context) {
  TRY_ASSIGN(const std::int64_t channels, fields.integer("c"));
  return convolution(fields, context, channels);
}

/// op_bench gives the samples of its one-kernel interaction as rows.
Result<OpRow> interaction_of(const OpFields& fields, const RowContext& context, bool fused) {
  graph::Interaction op;
  const bool by_rows = !fields.has("batch") && !fields.text("rows").empty();
  if (by_rows) {
    TRY_ASSIGN(op.batch, fields.integer("rows"));
  }
  TRY(read_fields(fields, context, op));
  op.fused = by_rows || fused;
  return OpRow{{op}, HostCall::bmm};
}

Result<OpRow> interaction(const OpFields& f, const RowContext& c) { return interaction_of(f, c, false); }
Result<OpRow> fused_interaction(const OpFields& f, const RowContext& c) { return interaction_of(f, c, true); }

Result<OpRow> cross_layer(const OpFields& fields, const RowContext& context) {
  graph::CrossLayer op;
  TRY(read_fields(fields, context, op));
  return OpRow{{op}, HostCall::linear};
}

/// op_bench counts the heads of all samples and gives the length as columns.
Result<OpRow> attention_of(const OpFields& fields, const RowContext& context, bool flash) {
  graph::Attention op;
  const bool by_rows = !fields.has("q_len") && !fields.text("cols").empty();
  TRY_ASSIGN(op.q_len, fields.integer(by_rows ? "cols" : "q_len"));
  op.kv_len = op.q_len;
  if (by_rows) {
    op.batch = 1;
    TRY_ASSIGN(op.head_dim, fields.integer("dim"));
  }
  TRY(read_fields(fields, context, op));
  op.flash = flash;
  return OpRow{{op}, HostCall::bmm};
}

Result<OpRow> attention(const OpFields& f, const RowContext& c) { return attention_of(f, c, false); }
Result<OpRow> flash_attention(const OpFields& f, const RowContext& c) { return attention_of(f, c, true); }

Result<OpRow> recurrent(const OpFields& fields, const RowContext& context, graph::Cell cell) {
  graph::Recurrent op;
  TRY(read_fields(fields, context, op));
  op.cell = cell;
  return OpRow{{op}, HostCall::linear};
}

Result<OpRow> lstm(const OpFields& f, const RowContext& c) { return recurrent(f, c, graph::Cell::lstm); }
Result<OpRow> gru(const OpFields& f, const RowContext& c) { return recurrent(f, c, graph::Cell::gru); }

constexpr std::array<RowReader, 15> kProductReaders{{{"linear", linear},
                                                     {"gemm", bmm},
                                                     {"mm", bmm},
                                                     {"addmm", addmm},
                                                     {"bmm", bmm},
                                                     {"matmul", bmm},
                                                     {"conv2d", conv2d},
                                                     {"depthwise_conv2d", depthwise},
                                                     {"interaction", interaction},
                                                     {"fused_interaction", fused_interaction},
                                                     {"cross_layer", cross_layer},
                                                     {"attention", attention},
                                                     {"flash_attention", flash_attention},
                                                     {"lstm", lstm},
                                                     {"gru", gru}}};

}  // namespace

std::span<const RowReader> product_readers() { return kProductReaders; }

}  // namespace distsim::opmodels
