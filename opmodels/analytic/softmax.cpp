// Softmax over the last dimension. Tensor passes (reads plus writes):
//
//   cols <= 1024  the row stays in registers: forward reads x, writes y; backward reads y and dy, writes dx, and runs
//   at
//                 two thirds of the rate
//   cols >  1024  a block sweeps the row for the maximum and the sum first: 2 more reads (backward 1 more of both
//                 tensors), of which those miss that the rows in flight, 2 per SM, crowd out of L2; 10 per compute unit
//                 of AMD's GPUs, whose rows of 2048 take 3.3 (MI100) and 4.6 passes (MI210; NeuSight, MIT)
//
// Source of the split at 1024: PyTorch's persistent softmax (aten/src/ATen/native/cuda/PersistentSoftmax).
#include <algorithm>
#include <functional>

#include "opmodels/analytic/kernels.hpp"
#include "opmodels/learned/references.hpp"
#include "opmodels/learned/row_times.hpp"
#include "opmodels/registry.hpp"
#include "opmodels/shape_check.hpp"

namespace distsim::opmodels {
namespace {

constexpr double kPersistentCols = 1024;

constexpr double kRowsPerSm = 2;
constexpr double kRowsPerComputeUnit = 10;  // of AMD: least error on rows of 2048 in fp32 on MI100 and MI210 (NeuSight)

double softmax_rows_in_flight(const DeviceRates& device) {
  const bool amd = device.capability > 90 && device.capability < 100;
  return (amd ? kRowsPerComputeUnit : kRowsPerSm) * device.traits.sms();
}

double passes_of(const DeviceRates& device, double cols, double element_bytes, graph::Pass pass) {
  const bool forward = pass == graph::Pass::forward;
  const double once = forward ? 2.0 : 4.5;
  if (cols <= kPersistentCols) return once;
  const double crowding = softmax_rows_in_flight(device) * cols * element_bytes / device.l2_bytes;
  return once + 2 * std::min(1.0, crowding);
}

KernelSample softmax_sample(const DeviceRates& device, double rows, double cols, double element_bytes,
                            graph::Pass pass) {
  const double elements = rows * cols;
  const double bytes = elements * passes_of(device, cols, element_bytes, pass) * element_bytes;
  const double seconds = streaming_seconds(device, bytes, elements * 20);
  const RowFacts facts{RowKernel::softmax, pass != graph::Pass::forward, rows, cols, element_bytes, bytes, seconds};
  return {LearnedKernel::rowwise, features_of(device, facts), seconds};
}

OpTime learned_softmax(const DeviceRates& device, double rows, double cols, double element_bytes, graph::Pass pass,
                       Spread analytic) {
  return by_references(
      device, LearnedKernel::rowwise, element_bytes, analytic,
      {static_cast<double>(RowKernel::softmax), rows, cols, element_bytes, static_cast<double>(pass), analytic.low,
       analytic.high},
      [&](const DeviceRates& d) {
        return learned_time(d, softmax_sample(d, rows, cols, element_bytes, pass), analytic);
      },
      [&](const DeviceRates& d) { return softmax_sample(d, rows, cols, element_bytes, pass).seconds; });
}

OpTime softmax_time(const DeviceRates& device, double rows, double cols, double element_bytes, graph::Pass pass,
                    Spread band) {
  OpTime time = learned_softmax(device, rows, cols, element_bytes, pass, band);
  if (!device.row_tables) return time;
  RowTimes& times =
      device.row_tables->of({RowKernel::softmax, pass != graph::Pass::forward, device.warm, element_bytes});
  const auto learned = [&](double r, double c) {
    return learned_softmax(device, r, c, element_bytes, pass, band).seconds;
  };
  const auto analytic = [&](double r, double c) { return softmax_sample(device, r, c, element_bytes, pass).seconds; };
  time.seconds = times.kept_growing(rows, cols, time.seconds, {std::cref(learned), std::cref(analytic)});
  return time;
}

Result<OpTime> price_softmax(const DeviceRates& device, const graph::Softmax& op) {
  TRY(check_product("softmax", {op.rows, op.cols}));
  const Spread analytic = op.pass == graph::Pass::forward ? Spread{0.15, 0.45} : Spread{0.45, 0.45};
  return softmax_time(device, graph::real(op.rows), graph::real(op.cols), graph::real(graph::size_of(op.dtype)),
                      op.pass, analytic);
}

std::optional<KernelSample> sample_softmax(const DeviceRates& device, const graph::Softmax& op) {
  return softmax_sample(device, graph::real(op.rows), graph::real(op.cols), graph::real(graph::size_of(op.dtype)),
                        op.pass);
}

}  // namespace

double softmax_seconds(const DeviceRates& device, double rows, double cols, double element_bytes, graph::Pass pass) {
  // Beside the other kernels of its op, whose scores pass memory between them.
  const double tensors = pass == graph::Pass::forward ? 2 : 3;
  return std::max(softmax_time(device, rows, cols, element_bytes, pass, {}).seconds,
                  least_memory_seconds(device, rows * cols * element_bytes * tensors));
}

OpModelEntry op_model(Of<graph::Softmax>) {
  return {
      .sentence = "Softmax: passes over the tensor, more of them beyond 1024 columns",
      .source = "softmax traffic",
      .passes = {graph::Pass::forward, graph::Pass::backward},
      .example = graph::Softmax{131072, 512, graph::DType::fp16},
      .price = priced_as<graph::Softmax, price_softmax>,
      .sample = sampled_as<graph::Softmax, sample_softmax>,
  };
}

}  // namespace distsim::opmodels
