#include "opmodels/op_time.hpp"

#include <algorithm>

namespace distsim::opmodels {

OpTime sum_of(const OpTime& a, const OpTime& b) {
  const bool both = a.basis && b.basis;
  const OpTime& lead = both && *b.basis > *a.basis ? b : a;
  OpTime sum{a.seconds + b.seconds, {std::max(a.spread.low, b.spread.low), std::max(a.spread.high, b.spread.high)}};
  if (both) {
    sum.basis = lead.basis;
    sum.source = lead.source;
  }
  return sum;
}

double memory_seconds(const DeviceRates& device, double bytes) {
  const double beyond = (bytes - 0.5 * device.l2_bytes) / (1.5 * device.l2_bytes);
  const double from_memory = std::clamp(beyond, 0.0, 1.0);
  // L2 and memory work at the same time, but every byte passes L2.
  return std::max(bytes * from_memory / device.streaming_hbm(), bytes / device.streaming_l2());
}

double streaming_seconds(const DeviceRates& device, double bytes, double flops) {
  return device.floor + overlap(memory_seconds(device, bytes), flops / device.vector_fp32);
}

}  // namespace distsim::opmodels
