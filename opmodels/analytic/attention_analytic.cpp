#include "opmodels/analytic/attention_analytic.hpp"

#include <algorithm>
#include <cmath>

#include "opmodels/analytic/gemm_analytic.hpp"
#include "opmodels/analytic/streaming_analytic.hpp"
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

/// Blocks of 128 queries on the SMs: the last wave is as long as a full one.
double wave_factor(const DeviceRates& device, const Sizes& s) {
  const double waves = s.heads * std::ceil(s.q / kQueryTile) / device.sms;
  return waves <= 1 ? 1 / waves : 0.5 * (std::ceil(waves) / waves + 1);
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
  TRY(check_dims("attention", {{"batch", op.batch},
                               {"heads", op.heads},
                               {"q_len", op.q_len},
                               {"kv_len", op.kv_len},
                               {"head_dim", op.head_dim}}));
  TRY(check_pass("attention", op.pass, {graph::Pass::forward, graph::Pass::backward}));
  TRY(check_matrix_dtype(device, op.dtype));
  if (!op.flash || graph::size_of(op.dtype) <= 2) return {};
  return Error{"attention.dtype: found " + std::string(graph::name_of(op.dtype)) +
                   ", expected fp16, bf16 or fp8 for flash attention",
               "", ""};
}

}  // namespace

Result<OpTime> price_attention(const DeviceRates& device, const graph::Attention& op) {
  TRY(check(device, op));
  const Sizes sizes{as_double(op.batch) * as_double(op.heads), as_double(op.q_len), as_double(op.kv_len),
                    as_double(op.head_dim), as_double(graph::size_of(op.dtype))};
  const double seconds = op.flash ? flash_seconds(device, op, sizes) : unfused_seconds(device, op, sizes);
  return OpTime{seconds, op.flash ? Spread{0.3, 0.5} : Spread{0.3, 0.45}};
}

}  // namespace distsim::opmodels
