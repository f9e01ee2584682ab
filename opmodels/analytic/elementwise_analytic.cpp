// Elementwise kernels. time = floor + overlap(bytes / bandwidth, flops / plain-lane rate).
// Special functions (exp, tanh, erf) should be given as about 20 to 200 flops an element; they matter only where memory
// is fast.
#include <algorithm>

#include "opmodels/analytic/streaming_analytic.hpp"
#include "opmodels/learned/learned_models.hpp"
#include "opmodels/shape_check.hpp"

namespace distsim::opmodels {
namespace {

constexpr double kLargestFall = 1.1;
constexpr int kDoublings = 3;        // the trees' steps are that wide
constexpr double kLeastRatio = 0.5;  // of learned over analytic time, as good as never below: no need to look further

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

}  // namespace

KernelSample elementwise_sample(const DeviceRates& device, const graph::Elementwise& op) {
  const double elements = as_double(op.elements), element_bytes = as_double(graph::size_of(op.dtype));
  const double seconds =
      streaming_seconds(device, elements * (op.reads + op.writes) * element_bytes, elements * op.flops);
  const StreamingFacts facts{elements, op.reads, op.writes, op.flops, element_bytes, seconds};
  return {LearnedKernel::streaming, streaming_features(device, facts), seconds};
}

Result<OpTime> price_elementwise(const DeviceRates& device, const graph::Elementwise& op) {
  TRY(check_dims("elementwise", {{"elements", op.elements}}));
  TRY(check_number("elementwise", "reads", op.reads, 0, 1e3));
  TRY(check_number("elementwise", "writes", op.writes, 0, 1e3));
  TRY(check_number("elementwise", "flops", op.flops, 0, 1e6));
  return bounded_time(device, op, {0.2, 0.25});
}

}  // namespace distsim::opmodels
