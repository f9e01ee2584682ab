// Scaled dot-product attention of B x H heads, q_len x kv_len scores, head_dim D.
//
//   flash forward     2 products, 4 q kv D flops per head (causal: half), tiles of 128 queries; reads Q, K, V, writes O
//   flash backward    5 products (scores are computed again), reads Q, K, V, O, dO, writes dQ, dK, dV
//   unfused forward   product, scale and mask, softmax, [dropout,] product; the scores travel through memory between
//                     the kernels
//   unfused backward  two products for each, softmax and [dropout] gradients, scale
//
// Flash kernels reach a share of the sustained matrix rate (measured by their authors): 0.70 forward and 0.55 backward
// on Ampere and Ada (FlashAttention-2, arXiv 2307.08691), 0.65 and 0.50 from Hopper on (FlashAttention-3, arXiv
// 2407.08608), 0.45 and 0.35 before. Flash needs a 16-bit dtype (fp8 from Hopper on).
#include <algorithm>
#include <cmath>

#include "opmodels/analytic/kernels.hpp"
#include "opmodels/hardware/matrix_kernel.hpp"
#include "opmodels/registry.hpp"
#include "opmodels/shape_check.hpp"

namespace distsim::opmodels {
namespace {

constexpr double kQueryTile = 128;

struct Sizes {
  double heads, q, kv, dim, element;  // heads of all samples
  double scores() const { return heads * q * kv; }
  double vectors(double length) const { return heads * length * dim * element; }  // bytes of Q (q) or K (kv)
};

double flash_efficiency(const DeviceRates& device, bool forward) {
  const int capability = device.traits.compute_capability;
  if (capability >= 90 && capability < 120) return forward ? 0.65 : 0.50;
  if (capability >= 80) return forward ? 0.70 : 0.55;
  return forward ? 0.45 : 0.35;
}

/// Blocks of 128 queries on the SMs, in waves as those of products.
double wave_factor(const DeviceRates& device, const Sizes& s) {
  const double waves = s.heads * std::ceil(s.q / kQueryTile) / device.sms;
  return quantised_waves(waves) / waves;
}

double flash_seconds(const DeviceRates& device, const graph::Attention& op, const Sizes& s) {
  const bool forward = op.pass == graph::Pass::forward;
  const double products = forward ? 2 : 5;
  const double padded = std::max(s.dim, 32.0);
  const double flops = products * 2 * s.scores() * padded * (op.causal ? 0.5 : 1.0);
  const double rate = device.matrix[static_cast<std::size_t>(op.dtype)] * flash_efficiency(device, forward);
  const double bytes = forward ? 2 * s.vectors(s.q) + 2 * s.vectors(s.kv) : 4 * s.vectors(s.q) + 4 * s.vectors(s.kv);
  const double kernels = forward ? 1 : 2;  // backward: row sums of dO * O first
  return kernels * device.floor + overlap(memory_seconds(device, bytes), flops / rate * wave_factor(device, s));
}

/// A pointwise kernel over the scores: `tensors` reads and writes in all.
double over_scores(const DeviceRates& device, const Sizes& s, double tensors) {
  return streaming_seconds(device, tensors * s.scores() * s.element, 2 * s.scores());
}

double unfused_seconds(const DeviceRates& device, const graph::Attention& op, const Sizes& s) {
  const bool forward = op.pass == graph::Pass::forward;
  const double qk = gemm_seconds(device, s.heads, s.q, s.kv, s.dim, op.dtype);
  const double pv = gemm_seconds(device, s.heads, s.q, s.dim, s.kv, op.dtype);
  const double softmax = softmax_seconds(device, s.heads * s.q, s.kv, s.element, op.pass);
  const double mask = over_scores(device, s, forward && op.causal ? 4 : 2);
  const double dropout = op.dropout ? over_scores(device, s, 2.25) : 0;  // and a byte a score of mask
  const double products = forward ? qk + pv : 2 * (qk + pv);
  return products + softmax + mask + dropout;
}

Result<void> check(const DeviceRates& device, const graph::Attention& op) {
  TRY(check_product("attention", {op.batch, op.heads, op.q_len, op.kv_len, op.head_dim}));
  TRY(check_matrix_dtype(device, op.dtype));
  if (!op.flash || graph::size_of(op.dtype) <= 2) return {};
  return Error{"attention.dtype: found " + std::string(graph::name_of(op.dtype)) +
                   ", expected fp16, bf16 or fp8 for flash attention",
               "", ""};
}

Result<OpTime> price(const DeviceRates& device, const graph::Attention& op) {
  TRY(check(device, op));
  const Sizes sizes{graph::real(op.batch) * graph::real(op.heads), graph::real(op.q_len), graph::real(op.kv_len),
                    graph::real(op.head_dim), graph::real(graph::size_of(op.dtype))};
  const double seconds = op.flash ? flash_seconds(device, op, sizes) : unfused_seconds(device, op, sizes);
  return OpTime{seconds, op.flash ? Spread{0.3, 0.5} : Spread{0.3, 0.45}};
}

}  // namespace

OpModelEntry op_model(Of<graph::Attention>) {
  return {
      .sentence = "Flash kernel at its fraction of the matrix rate, or separate GEMMs, mask and softmax",
      .source = "attention roofline",
      .limits = "flash attention of 32-bit types; types without a matrix unit on the device",
      .passes = {graph::Pass::forward, graph::Pass::backward},
      .example = graph::Attention{8, 16, 2048, 2048, 64, true, true, false, graph::DType::fp16},
      .price = priced_as<graph::Attention, price>,
  };
}

}  // namespace distsim::opmodels
