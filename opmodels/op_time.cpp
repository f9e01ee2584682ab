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

namespace {

double bytes_from_memory(const DeviceRates& device, double bytes) {
  const double beyond = (bytes - 0.5 * device.l2_bytes) / (1.5 * device.l2_bytes);
  return bytes * std::clamp(beyond, 0.0, 1.0);
}

}  // namespace

double memory_seconds(const DeviceRates& device, double bytes) {
  // L2 and memory work at the same time, but every byte passes L2.
  return std::max(bytes_from_memory(device, bytes) / device.streaming_hbm(), bytes / device.streaming_l2());
}

double least_memory_seconds(const DeviceRates& device, double bytes) {
  return bytes_from_memory(device, bytes) / device.hbm;
}

OpTime at_least(OpTime time, double least) {
  if (least <= 0) return time;
  time.seconds = std::max(time.seconds, least);
  if (time.seconds > 0) time.spread.low = std::min(time.spread.low, 1 - least / time.seconds);
  return time;
}

double streaming_seconds(const DeviceRates& device, double bytes, double flops) {
  return device.floor + overlap(memory_seconds(device, bytes), flops / device.vector_fp32);
}

}  // namespace distsim::opmodels
