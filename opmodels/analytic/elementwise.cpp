// Elementwise kernels. time = floor + overlap(bytes / bandwidth, flops / plain-lane rate).
// Special functions (exp, tanh, erf) should be given as about 20 to 200 flops per element; they matter only where
// memory is fast.
#include <algorithm>
#include <limits>

#include "opmodels/learned/references.hpp"
#include "opmodels/learned/size_envelope.hpp"
#include "opmodels/registry.hpp"

namespace distsim::opmodels {
namespace {

constexpr double kLeastRatio = 0.5;  // of learned over analytic time, as good as never below: no need to look further
constexpr int kLastPoint = 120;      // 2^60 elements
constexpr double kMostReads = 4;     // that are compared: those of the kernels in traces

double elementwise_seconds(const DeviceRates& device, const graph::Elementwise& op) {
  const double elements = graph::real(op.elements), element_bytes = graph::real(graph::size_of(op.dtype));
  return streaming_seconds(device, elements * (op.reads + op.writes) * element_bytes, elements * op.flops);
}

KernelSample elementwise_sample(const DeviceRates& device, const graph::Elementwise& op) {
  const double seconds = elementwise_seconds(device, op);
  return {LearnedKernel::streaming, features_of(device, StreamingFacts{op, seconds}), seconds};
}

OpTime learned_elementwise(const DeviceRates& device, const graph::Elementwise& op) {
  constexpr Spread kAnalytic{0.2, 0.25};
  return by_references(
      device, LearnedKernel::streaming, graph::real(graph::size_of(op.dtype)), kAnalytic,
      {graph::real(op.elements), op.reads, op.writes, op.flops, static_cast<double>(op.dtype)},
      [&](const DeviceRates& d) { return learned_time(d, elementwise_sample(d, op), kAnalytic); },
      [&](const DeviceRates& d) { return elementwise_seconds(d, op); });
}

/// The least that so many elements or more cost, with as many inputs or more.
double least_from(const DeviceRates& device, graph::Elementwise op, int point) {
  double least = std::numeric_limits<double>::infinity();
  const double reads = op.reads;
  for (; point <= kLastPoint; ++point) {
    op.elements = static_cast<std::int64_t>(half_octave(point));
    op.reads = reads;
    if (kLeastRatio * elementwise_seconds(device, op) > least) return least;
    do {
      least = std::min(least, learned_elementwise(device, op).seconds);
      op.reads += 1;
    } while (op.reads <= kMostReads && kLeastRatio * elementwise_seconds(device, op) <= least);
  }
  return least;
}

/// Trees know sizes by heart and step between them. So the time is that of the half octaves around, each kept to what
/// larger tensors take, and between two of them grows with the elements: a larger tensor is never cheaper.
Result<OpTime> price_elementwise(const DeviceRates& device, const graph::Elementwise& op) {
  OpTime time = learned_elementwise(device, op);
  const double elements = graph::real(op.elements);
  if (!device.learned || elements < 1) return time;
  const int below = half_octave_below(elements);
  if (below >= kLastPoint) return time;
  time.seconds = least_from(device, op, below);
  const double size = half_octave(below);
  if (elements == size) return time;
  const double next = half_octave(below + 1);
  time.seconds += (elements - size) / (next - size) * (least_from(device, op, below + 1) - time.seconds);
  return time;
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
