// Normalisation. Tensor passes (reads plus writes of rows x cols):
//
//   layer, rms forward   x for the statistics, x again, y; the second read misses where the rows in flight, 8 per SM,
//                        crowd each other out of L2
//   layer, rms backward  dx kernel: x, dy, dx; weight-gradient kernel: x, dy again
//   fused                layer and rms written by hand: forward x and y, of rows that stay in registers; backward x, dy and
//                        dx; the sums of the weights' gradients are small
//   batch forward        x for the statistics, x again, y (a reduction over the tensor lies between: nothing is still
//   in
//                        cache)
//   batch backward       x and dy for the two sums, x and dy again, dx
//
// An SM normalises so many elements per clock as its threads have loads under way: 2048 threads, each with one load per
// pass, over two dependent passes of about 700 clocks to memory and back are 1.5 elements per clock where a load is one
// element, as in the rms norms that Vidur timed (1.15 to 1.8 on A100 and on H100, whose memories differ; MIT), and four
// times that with the vector loads of layer norms in frameworks (PyTorch's vectorized_layer_norm_kernel), which memory
// and L2 then bound: 2.5 and more on H100. Batch norm adds up along columns instead: each thread keeps its channels'
// sums, without a reduction per row. A fused activation saves the separate kernel, not a pass here.
//
// The shipped forest was trained on ratios to a time with 1.5 elements per clock for both; it multiplies that one.
#include <algorithm>
#include <cmath>
#include <functional>

#include "opmodels/learned/references.hpp"
#include "opmodels/learned/row_times.hpp"
#include "opmodels/registry.hpp"
#include "opmodels/shape_check.hpp"

namespace distsim::opmodels {
namespace {

struct Passes {
  double tensors;  ///< of rows x cols elements, in all kernels
  double kernels;
};

constexpr double kNormalizedRowsPerSm = 8;
constexpr double kElementsPerClock = 1.5;  // of one SM, where a thread loads one at a time
constexpr double kVectorLoad = 4;          // elements, by layer norms and fused ones

constexpr Spread kAnalytic{0.25, 0.5};

Passes forward_passes(const DeviceRates& device, const graph::Normalization& op) {
  if (op.kind == graph::NormKind::batch) return {3, 2};
  const double crowding = kNormalizedRowsPerSm * device.traits.sms() * graph::real(op.cols) *
                          graph::real(graph::size_of(op.dtype)) / device.l2_bytes;
  return {2 + std::min(1.0, crowding), 1};
}

RowKernel kernel_of(graph::NormKind kind) {
  if (kind == graph::NormKind::batch) return RowKernel::batch_norm;
  return kind == graph::NormKind::rms ? RowKernel::rms_norm : RowKernel::layer_norm;
}

bool is_fused(const graph::Normalization& op) { return op.fused && op.kind != graph::NormKind::batch; }

Passes passes_of(const DeviceRates& device, const graph::Normalization& op) {
  if (is_fused(op)) return op.pass == graph::Pass::forward ? Passes{2, 1} : Passes{3, 1};
  return op.pass == graph::Pass::forward ? forward_passes(device, op) : Passes{5, 2};
}

/// `per_clock`: elements of an SM.
double seconds_at(const DeviceRates& device, const graph::Normalization& op, double per_clock) {
  const Passes passes = passes_of(device, op);
  const double elements = graph::real(op.rows) * graph::real(op.cols);
  const double bytes = elements * passes.tensors * graph::real(graph::size_of(op.dtype)) / passes.kernels;
  const bool by_rows = op.kind != graph::NormKind::batch;
  const double loads = by_rows ? elements / (device.sms * device.clock * per_clock) : 0;
  return passes.kernels * (device.floor + overlap(memory_seconds(device, bytes), loads));
}

double analytic_norm(const DeviceRates& device, const graph::Normalization& op) {
  return seconds_at(device, op, kElementsPerClock * (op.kind == graph::NormKind::layer || op.fused ? kVectorLoad : 1));
}

KernelSample normalization_sample(const DeviceRates& device, const graph::Normalization& op) {
  const Passes passes = passes_of(device, op);
  const double rows = graph::real(op.rows), cols = graph::real(op.cols),
               element = graph::real(graph::size_of(op.dtype));
  const double elements = rows * cols;
  const double bytes = elements * passes.tensors * element / passes.kernels;
  const double seconds = seconds_at(device, op, kElementsPerClock);
  const RowFacts facts{kernel_of(op.kind), op.pass != graph::Pass::forward, rows, cols, element, bytes, seconds};
  return {LearnedKernel::rowwise, features_of(device, facts), seconds};
}

/// Outside of what the forest was trained on, from the time that it multiplies to the analytic one.
double faded(const LearnedModel& model, const KernelSample& sample, double analytic, double seconds) {
  return seconds * std::pow(analytic / sample.seconds, 1 - model.trust(sample.features));
}

OpTime learned_norm(const DeviceRates& device, const graph::Normalization& op) {
  const LearnedModel* model = device.learned ? device.learned->find(LearnedKernel::rowwise) : nullptr;
  if (model == nullptr) return {analytic_norm(device, op), kAnalytic};
  const KernelSample sample = normalization_sample(device, op);
  OpTime time = learned_time(device, sample, kAnalytic);
  time.seconds = faded(*model, sample, analytic_norm(device, op), time.seconds);
  return time;
}

KernelFacts facts_of(const graph::Normalization& op) {
  return {static_cast<double>(kernel_of(op.kind)), graph::real(op.rows),         graph::real(op.cols),
          static_cast<double>(op.dtype),           static_cast<double>(op.pass), op.fused ? 1.0 : 0.0};
}

OpTime norm_time(const DeviceRates& device, const graph::Normalization& op) {
  return by_references(
      device, LearnedKernel::rowwise, graph::real(graph::size_of(op.dtype)), kAnalytic, facts_of(op),
      [&](const DeviceRates& d) { return learned_norm(d, op); },
      [&](const DeviceRates& d) { return analytic_norm(d, op); });
}

OpTime grown_norm(const DeviceRates& device, const graph::Normalization& op) {
  OpTime time = norm_time(device, op);
  if (!device.row_tables) return time;
  const auto of_size = [&](double rows, double cols) {
    graph::Normalization other = op;
    other.rows = static_cast<std::int64_t>(rows);
    other.cols = static_cast<std::int64_t>(cols);
    return other;
  };
  RowTimes& times = device.row_tables->of(
      {kernel_of(op.kind), op.pass != graph::Pass::forward, device.warm, graph::real(graph::size_of(op.dtype))});
  const auto learned = [&](double rows, double cols) { return norm_time(device, of_size(rows, cols)).seconds; };
  const auto analytic = [&](double rows, double cols) { return analytic_norm(device, of_size(rows, cols)); };
  time.seconds = times.kept_growing(graph::real(op.rows), graph::real(op.cols), time.seconds,
                                    {std::cref(learned), std::cref(analytic)});
  return time;
}

Result<OpTime> price_normalization(const DeviceRates& device, const graph::Normalization& op) {
  TRY(check_product("normalization", {op.rows, op.cols}));
  if (is_fused(op)) return OpTime{analytic_norm(device, op), kAnalytic};  // no forest has seen them
  return grown_norm(device, op);
}

std::optional<KernelSample> sample_normalization(const DeviceRates& device, const graph::Normalization& op) {
  return normalization_sample(device, op);
}

}  // namespace

OpModelEntry op_model(Of<graph::Normalization>) {
  return {
      .sentence = "Layer, RMS or batch norm: passes over the tensor",
      .source = "norm traffic",
      .passes = {graph::Pass::forward, graph::Pass::backward},
      .example = graph::Normalization{graph::NormKind::layer, 8192, 1024, graph::DType::fp16},
      .price = priced_as<graph::Normalization, price_normalization>,
      .sample = sampled_as<graph::Normalization, sample_normalization>,
  };
}

}  // namespace distsim::opmodels
