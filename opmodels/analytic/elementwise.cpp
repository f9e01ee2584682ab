// Elementwise kernels. time = floor + overlap(bytes / bandwidth, flops / plain-lane rate).
// Special functions (exp, tanh, erf) should be given as about 20 to 200 flops per element; they matter only where
// memory is fast.
#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "opmodels/learned/references.hpp"
#include "opmodels/registry.hpp"

namespace distsim::opmodels {
namespace {

constexpr Spread kPointwiseBand{0.2, 0.25};
constexpr double kLeastRatio = 0.5;  // of learned over analytic time, as good as never below: no need to look further
constexpr double kMostReads = 4;     // that are compared: those of the kernels in traces

double elementwise_bytes(const graph::Elementwise& op) {
  return graph::real(op.elements) * (op.reads + op.writes) * graph::real(graph::size_of(op.dtype));
}

double elementwise_seconds(const DeviceRates& device, const graph::Elementwise& op) {
  return streaming_seconds(device, elementwise_bytes(op), graph::real(op.elements) * op.flops);
}

KernelSample elementwise_sample(const DeviceRates& device, const graph::Elementwise& op) {
  const double seconds = elementwise_seconds(device, op);
  return {LearnedKernel::streaming, features_of(device, StreamingFacts{op, seconds}), seconds};
}

OpTime learned_elementwise(const DeviceRates& device, const graph::Elementwise& op) {
  return by_references(
      device, LearnedKernel::streaming, graph::real(graph::size_of(op.dtype)), kPointwiseBand,
      {graph::real(op.elements), op.reads, op.writes, op.flops, static_cast<double>(op.dtype)},
      [&](const DeviceRates& d) { return learned_time(d, elementwise_sample(d, op), kPointwiseBand); },
      [&](const DeviceRates& d) { return elementwise_seconds(d, op); });
}

/// Kernels that differ from `op` in their elements alone, at half octaves of these.
class AtHalfOctaves {
 public:
  AtHalfOctaves(const DeviceRates& device, const graph::Elementwise& op)
      : device_(device),
        known_(references_of(device, LearnedKernel::streaming, graph::real(graph::size_of(op.dtype)))) {
    op_ = op;
  }

  /// By the analytic model.
  double analytic(int point) { return elementwise_seconds(device_, at(point)); }

  double learned(int point) {
    at(point);
    if (known_ == nullptr) return learned_seconds(device_, elementwise_sample(device_, op_));
    return carried(*known_, There{*this, point}, elementwise_seconds(device_, op_), kPointwiseBand).seconds;
  }

 private:
  struct There {
    AtHalfOctaves& sizes;
    int point;
    OpTime learned(const Reference& r) const {
      return {sizes.on(r).learned(point,
                                  [&] {
                                    const DeviceRates& d = r.gpu->rates(sizes.device_.warm);
                                    return learned_seconds(d, elementwise_sample(d, sizes.op_));
                                  }),
              {}};
    }
    double analytic(const Reference& r) const {
      return sizes.on(r).analytic(point,
                                  [&] { return elementwise_seconds(r.gpu->rates(sizes.device_.warm), sizes.op_); });
    }
  };

  const graph::Elementwise& at(int point) {
    op_.elements = static_cast<std::int64_t>(half_octave(point));
    return op_;
  }

  SizeTimes& on(const Reference& r) {
    if (r.index >= times_.size()) times_.resize(r.index + 1);
    std::shared_ptr<SizeTimes>& out = times_[r.index];
    if (!out)
      out = device_.references->gpus()->times().at_sizes(
          {LearnedKernel::streaming,
           r.index,
           device_.warm,
           ReferenceTimes::Kind::learned,
           {op_.reads, op_.writes, op_.flops, static_cast<double>(op_.dtype)}});
    return *out;
  }

  const DeviceRates& device_;
  const KernelReferences* known_;
  graph::Elementwise op_;
  std::vector<std::shared_ptr<SizeTimes>> times_;  ///< by Reference::index
};

/// The least that so many elements or more cost.
double least_from(AtHalfOctaves& sizes, int point, double least) {
  for (; point <= SizeTimes::kLastPoint && kLeastRatio * sizes.analytic(point) <= least; ++point)
    least = std::min(least, sizes.learned(point));
  return least;
}

/// Trees know sizes by heart and step between them. So the time is that of the half octaves around, each kept to what
/// larger tensors and more inputs take, and between two of them grows with the elements: neither is ever cheaper.
Result<OpTime> price_elementwise(const DeviceRates& device, const graph::Elementwise& op) {
  OpTime time = learned_elementwise(device, op);
  const double elements = graph::real(op.elements);
  if (!device.learned || elements < 1) return time;
  const int below = half_octave_below(elements);
  if (below >= SizeTimes::kLastPoint) return time;
  double low = std::numeric_limits<double>::infinity(), high = low;
  graph::Elementwise other = op;
  do {
    AtHalfOctaves sizes(device, other);
    high = least_from(sizes, below + 1, high);
    low = std::min({low, high, sizes.learned(below)});
    other.reads += 1;
  } while (other.reads <= kMostReads);
  const double size = half_octave(below), next = half_octave(below + 1);
  time.seconds = elements == size ? low : low + (elements - size) / (next - size) * (high - low);
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
