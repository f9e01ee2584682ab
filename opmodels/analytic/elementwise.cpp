// Elementwise kernels. time = floor + overlap(bytes / bandwidth, flops / plain-lane rate).
// Special functions (exp, tanh, erf) should be given as about 20 to 200 flops per element; they matter only where
// memory is fast.
#include <algorithm>

#include "opmodels/learned/references.hpp"
#include "opmodels/registry.hpp"

namespace distsim::opmodels {
namespace {

constexpr int kDoublings = 3;        // the trees' steps are that wide
constexpr double kLeastRatio = 0.5;  // of learned over analytic time, as good as never below: no need to look further

double elementwise_seconds(const DeviceRates& device, const graph::Elementwise& op) {
  const double elements = graph::real(op.elements), element_bytes = graph::real(graph::size_of(op.dtype));
  return streaming_seconds(device, elements * (op.reads + op.writes) * element_bytes, elements * op.flops);
}

KernelSample elementwise_sample(const DeviceRates& device, const graph::Elementwise& op) {
  const double seconds = elementwise_seconds(device, op);
  return {LearnedKernel::streaming, features_of(device, StreamingFacts{op, seconds}), seconds};
}

/// The learned time, at most a tenth above what a few times as many elements take.
OpTime bounded_time(const DeviceRates& device, graph::Elementwise op, Spread analytic) {
  OpTime time = learned_time(device, elementwise_sample(device, op), analytic);
  if (!device.learned) return time;
  for (int i = 0; i < kDoublings && op.elements < (std::int64_t{1} << 60); ++i) {
    op.elements *= 2;
    const KernelSample larger = elementwise_sample(device, op);
    if (kLeastRatio * larger.seconds > time.seconds) break;
    time.seconds = std::min(time.seconds, kLargestFall * learned_seconds(device, larger));
  }
  return time;
}

Result<OpTime> price_elementwise(const DeviceRates& device, const graph::Elementwise& op) {
  constexpr Spread kAnalytic{0.2, 0.25};
  return by_references(
      device, LearnedKernel::streaming, graph::real(graph::size_of(op.dtype)), kAnalytic,
      {graph::real(op.elements), op.reads, op.writes, op.flops, static_cast<double>(op.dtype)},
      [&](const DeviceRates& d) { return bounded_time(d, op, kAnalytic); },
      [&](const DeviceRates& d) { return elementwise_seconds(d, op); });
}

std::optional<KernelSample> sample_elementwise(const DeviceRates& device, const graph::Elementwise& op) {
  return elementwise_sample(device, op);
}

}  // namespace

OpModelEntry op_model(Of<graph::Elementwise>) {
  return {
      .sentence = "One kernel: bytes over bandwidth, flops over the vector rate",
      .source = "elementwise traffic",
      .example = graph::Elementwise{100'000'000, 2, 1, 1, graph::DType::fp16},
      .price = priced_as<graph::Elementwise, price_elementwise>,
      .sample = sampled_as<graph::Elementwise, sample_elementwise>,
  };
}

}  // namespace distsim::opmodels
