// Normalisation. Tensor passes (reads plus writes of rows x cols):
//
//   layer, rms forward   x for the statistics, x again, y; the second read misses where the rows in flight, 8 per SM,
//                        crowd each other out of L2
//   layer, rms backward  dx kernel: x, dy, dx; weight-gradient kernel: x, dy again
//   batch forward        x for the statistics, x again, y (a reduction over the tensor lies between: nothing is still
//   in
//                        cache)
//   batch backward       x and dy for the two sums, x and dy again, dx
//
// An SM normalises about 1.5 elements per clock (reductions, casts, narrow loads): 16-bit norms on GPUs with fast
// memory are bound by that, as Vidur's fp16 norms on A100 and H100 show (MIT). Batch norm adds up along columns
// instead: each thread keeps its channels' sums, without a reduction per row. A fused activation saves the separate
// kernel, not a pass here.
#include <algorithm>

#include "opmodels/learned/learned_models.hpp"
#include "opmodels/learned/size_envelope.hpp"
#include "opmodels/registry.hpp"
#include "opmodels/shape_check.hpp"

namespace distsim::opmodels {
namespace {

struct Passes {
  double tensors;  ///< of rows x cols elements, in all kernels
  double kernels;
};

constexpr double kRowsPerSm = 8;
constexpr double kElementsPerClock = 1.5;  // of one SM

Passes forward_passes(const DeviceRates& device, const graph::Normalization& op) {
  if (op.kind == graph::NormKind::batch) return {3, 2};
  const double crowding =
      kRowsPerSm * device.sms * graph::real(op.cols) * graph::real(graph::size_of(op.dtype)) / device.l2_bytes;
  return {2 + std::min(1.0, crowding), 1};
}

RowKernel kernel_of(graph::NormKind kind) {
  if (kind == graph::NormKind::batch) return RowKernel::batch_norm;
  return kind == graph::NormKind::rms ? RowKernel::rms_norm : RowKernel::layer_norm;
}

KernelSample normalization_sample(const DeviceRates& device, const graph::Normalization& op) {
  const Passes passes = op.pass == graph::Pass::forward ? forward_passes(device, op) : Passes{5, 2};
  const double rows = graph::real(op.rows), cols = graph::real(op.cols),
               element = graph::real(graph::size_of(op.dtype));
  const double elements = rows * cols;
  const double bytes = elements * passes.tensors * element / passes.kernels;
  const bool by_rows = op.kind != graph::NormKind::batch;
  const double instructions = by_rows ? elements / (device.sms * device.clock * kElementsPerClock) : 0;
  const double seconds = passes.kernels * (device.floor + overlap(memory_seconds(device, bytes), instructions));
  const RowFacts facts{kernel_of(op.kind), op.pass != graph::Pass::forward, rows, cols, element, bytes, seconds};
  return {LearnedKernel::rowwise, features_of(device, facts), seconds};
}

/// The learned time, not above what larger tensors take.
OpTime bounded_time(const DeviceRates& device, const graph::Normalization& op) {
  const KernelSample sample = normalization_sample(device, op);
  OpTime time = learned_time(device, sample, {0.25, 0.5});
  if (!device.envelopes || time.seconds <= SizeEnvelope::kSuspect * sample.seconds) return time;
  const auto seconds = [&](double rows, double cols) {
    graph::Normalization other = op;
    other.rows = static_cast<std::int64_t>(rows);
    other.cols = static_cast<std::int64_t>(cols);
    return learned_seconds(device, normalization_sample(device, other));
  };
  const SizeEnvelope& envelope = device.envelopes->of(kernel_of(op.kind), op.pass != graph::Pass::forward,
                                                      graph::real(graph::size_of(op.dtype)), seconds);
  time.seconds = envelope.bound(graph::real(op.rows), graph::real(op.cols), time.seconds);
  return time;
}

Result<OpTime> price(const DeviceRates& device, const graph::Normalization& op) {
  TRY(check_product("normalization", {op.rows, op.cols}));
  return bounded_time(device, op);
}

std::optional<KernelSample> sample(const DeviceRates& device, const graph::Normalization& op) {
  return normalization_sample(device, op);
}

}  // namespace

OpModelEntry op_model(Of<graph::Normalization>) {
  return {
      .sentence = "Layer, RMS or batch norm: passes over the tensor",
      .source = "norm traffic",
      .passes = {graph::Pass::forward, graph::Pass::backward},
      .example = graph::Normalization{graph::NormKind::layer, 8192, 1024, graph::DType::fp16},
      .price = priced_as<graph::Normalization, price>,
      .sample = sampled_as<graph::Normalization, sample>,
  };
}

}  // namespace distsim::opmodels
