// Normalisation. Tensor passes (reads plus writes of rows x cols):
//   layer, rms forward   x for the statistics, x again, y; the second read misses where the rows in flight, 8 a SM,
//   crowd each other out of L2 layer, rms backward  dx kernel: x, dy, dx; weight-gradient kernel: x, dy again batch
//   forward    x for the statistics, x again, y      (a whole-tensor reduction lies between: nothing is still in cache)
//   batch backward   x and dy for the two sums, x and dy again, dx
// An SM normalises about 1.5 elements a clock (reductions, casts, narrow loads): 16-bit norms on GPUs with fast memory
// are bound by that, as Vidur's fp16 norms on A100 and H100 show (MIT). Batch norm adds up along columns instead: each
// thread keeps its channels' sums, no reduction a row. A fused activation saves the separate kernel, not a pass here.
#include <algorithm>

#include "opmodels/analytic/streaming_analytic.hpp"
#include "opmodels/learned/learned_models.hpp"
#include "opmodels/learned/size_envelope.hpp"
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
      kRowsPerSm * device.sms * as_double(op.cols) * as_double(graph::size_of(op.dtype)) / device.l2_bytes;
  return {2 + std::min(1.0, crowding), 1};
}

double kind_code(graph::NormKind kind) {
  if (kind == graph::NormKind::batch) return 2;
  return kind == graph::NormKind::rms ? 1 : 0;
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
  const SizeEnvelope& envelope =
      device.envelopes->of(static_cast<int>(kind_code(op.kind)), op.pass != graph::Pass::forward,
                           as_double(graph::size_of(op.dtype)), seconds);
  time.seconds = envelope.bound(as_double(op.rows), as_double(op.cols), time.seconds);
  return time;
}

}  // namespace

KernelSample normalization_sample(const DeviceRates& device, const graph::Normalization& op) {
  const Passes passes = op.pass == graph::Pass::forward ? forward_passes(device, op) : Passes{5, 2};
  const double rows = as_double(op.rows), cols = as_double(op.cols), element = as_double(graph::size_of(op.dtype));
  const double elements = rows * cols;
  const double bytes = elements * passes.tensors * element / passes.kernels;
  const bool by_rows = op.kind != graph::NormKind::batch;
  const double instructions = by_rows ? elements / (device.sms * device.clock * kElementsPerClock) : 0;
  const double seconds = passes.kernels * (device.floor + overlap(memory_seconds(device, bytes), instructions));
  const RowFacts facts{
      kind_code(op.kind), op.pass == graph::Pass::forward ? 0.0 : 1.0, rows, cols, element, bytes, seconds};
  return {LearnedKernel::rowwise, row_features(device, facts), seconds};
}

Result<OpTime> price_normalization(const DeviceRates& device, const graph::Normalization& op) {
  TRY(check_dims("normalization", {{"rows", op.rows}, {"cols", op.cols}}));
  TRY(check_pass("normalization", op.pass, {graph::Pass::forward, graph::Pass::backward}));
  return bounded_time(device, op);
}

}  // namespace distsim::opmodels
