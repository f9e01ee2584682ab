// Scaled dot-product attention of B x H heads, q_len x kv_len scores, head_dim D.
//
//   flash             one kernel: flash_attention.hpp. 16-bit types, fp8 from Hopper on
//   unfused forward   product, scale and mask, softmax, [dropout,] product; the scores travel through memory between
//                     the kernels
//   unfused backward  two products for each, softmax and [dropout] gradients, scale
//
// Unfused, queries of heads that share their keys are products of their own, and a window saves nothing. Head sizes whose
// rows do not start on 16 bytes (150) slow the products as they slow any (gemm.cpp).
#include <algorithm>
#include <cmath>

#include "opmodels/analytic/flash_attention.hpp"
#include "opmodels/analytic/kernels.hpp"
#include "opmodels/registry.hpp"
#include "opmodels/shape_check.hpp"

namespace distsim::opmodels {
namespace {

constexpr double kMostValues = 1 << 30;

struct AttentionSizes {
  double heads, q, kv, dim, values, element;  // heads of all samples
  double scores() const { return heads * q * kv; }
};

/// A pointwise kernel over the scores: `tensors` reads and writes in all.
double over_scores(const DeviceRates& device, const AttentionSizes& s, double tensors) {
  return streaming_seconds(device, tensors * s.scores() * s.element, 2 * s.scores());
}

double unfused_seconds(const DeviceRates& device, const graph::Attention& op, const AttentionSizes& s) {
  const bool forward = op.pass == graph::Pass::forward;
  const double qk = head_product_seconds(device, s.heads, s.q, s.kv, s.dim, op.dtype);
  const double pv = head_product_seconds(device, s.heads, s.q, s.values, s.kv, op.dtype);
  const double softmax = softmax_seconds(device, s.heads * s.q, s.kv, s.element, op.pass);
  const double mask = over_scores(device, s, forward && op.causal ? 4 : 2);
  const double dropout = op.dropout ? over_scores(device, s, 2.25) : 0;  // and a byte a score of mask
  const double products = forward ? qk + pv : 2 * (qk + pv);
  return products + softmax + mask + dropout;
}

Result<void> check(const DeviceRates& device, const graph::Attention& op) {
  TRY(check_product("attention", {op.batch, op.heads, op.q_len, op.kv_len, op.head_dim}));
  TRY(check_number("attention", "kv_heads", graph::real(op.kv_heads), 0, graph::real(op.heads)));
  if (op.kv_heads > 0 && op.heads % op.kv_heads != 0)
    return Error{"attention.kv_heads: found " + std::to_string(op.kv_heads) + ", expected a divisor of heads (" +
                     std::to_string(op.heads) + "), which share them evenly",
                 "", ""};
  TRY(check_number("attention", "value_dim", graph::real(op.value_dim), 0, kMostValues));
  TRY(check_number("attention", "window", graph::real(op.window), 0, kMostValues));
  TRY(check_matrix_dtype(device, op.dtype));
  if (!op.flash || graph::size_of(op.dtype) <= 2) return {};
  return Error{"attention.dtype: found " + std::string(graph::name_of(op.dtype)) +
                   ", expected fp16, bf16 or fp8 for flash attention",
               "", ""};
}

/// Where another library takes the place of the one that was asked for it is named; else that of the registry.
std::string_view source_of(const DeviceRates& device, const graph::Attention& op) {
  const auto other = library_in_place(device, op);
  if (!other) return {};
  return *other == graph::AttentionLibrary::flash1 ? "attention roofline of flash1, which the GPU runs instead"
                                                   : "attention roofline of flash2, which the GPU runs instead";
}

Result<OpTime> price_attention(const DeviceRates& device, const graph::Attention& op) {
  TRY(check(device, op));
  if (op.flash) return OpTime{flash_seconds(device, op), {0.2, 0.3}, {}, source_of(device, op)};
  const AttentionSizes sizes{graph::real(op.batch) * graph::real(op.heads),
                             graph::real(op.q_len),
                             graph::real(op.kv_len),
                             graph::real(op.head_dim),
                             op.values(),
                             graph::real(graph::size_of(op.dtype))};
  return OpTime{unfused_seconds(device, op, sizes), {0.3, 0.45}};
}

}  // namespace

OpModelEntry op_model(Of<graph::Attention>) {
  return {
      .sentence =
          "Flash kernel: products at its library's share of the matrix rate and softmax; or separate GEMMs, mask, softmax",
      .source = "attention roofline",
      .limits = "flash attention of 32-bit types; types without a matrix unit on the device",
      .passes = {graph::Pass::forward, graph::Pass::backward},
      .example = graph::Attention{8, 16, 2048, 2048, 64, true, true, false, graph::DType::fp16},
      .price = priced_as<graph::Attention, price_attention>,
  };
}

}  // namespace distsim::opmodels
