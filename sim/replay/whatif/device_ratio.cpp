#include "sim/replay/whatif/device_ratio.hpp"

#include <cmath>

namespace distsim::replay {
namespace {

/// Peak rate at the sustained clock; that of fp32 where the device does not have the type.
double rate_of(const topology::DeviceSpec& device, graph::DType dtype) {
  auto it = device.peak.find(std::string(graph::name_of(dtype)));
  if (it == device.peak.end()) it = device.peak.find("fp32");
  const double clock =
      device.clock.boost.value() > 0 ? topology::clock_under_load(device).value() / device.clock.boost.value() : 1;
  return it == device.peak.end() ? 0 : it->second.value() * clock;
}

double ratio_or_one(double of, double to) { return of > 0 && to > 0 ? of / to : 1; }

std::int64_t times(std::int64_t ps, double factor) { return std::llround(static_cast<double>(ps) * factor); }

}  // namespace

double DeviceRatio::peak_ratio(graph::DType dtype) const {
  return ratio_or_one(rate_of(from_.device(), dtype), rate_of(to_.device(), dtype));
}

double DeviceRatio::shape_ratio(const graph::Op& op) {
  const auto [it, is_new] = known_.emplace(graph::describe(op), 0);
  if (!is_new) return it->second;
  const auto before = from_.price(op), after = to_.price(op);
  if (before && after && before->mean.ps() > 0)
    it->second = static_cast<double>(after->mean.ps()) / static_cast<double>(before->mean.ps());
  return it->second;
}

double DeviceRatio::matrix_ratio(const traces::TraceJob& job, const traces::TraceRank& rank,
                                 const traces::DeviceRecord& record) {
  const auto op = matrix_op(job, rank, record);
  const double ratio = op ? shape_ratio(*op) : 0;
  ++(ratio > 0 ? by_shape_ : by_peak_);
  return ratio > 0 ? ratio : peak_ratio(matrix_dtype(job.name(record.name)));
}

std::int64_t DeviceRatio::scaled(const traces::TraceJob& job, const traces::TraceRank& rank,
                                 const traces::DeviceRecord& record, std::int64_t ps) {
  const topology::DeviceSpec &from = from_.device(), &to = to_.device();
  const KernelKind kind = kernel_kind(record, job.name(record.name));
  if (kind == KernelKind::communication) return ps;
  if (kind == KernelKind::host_copy)
    return times(ps, ratio_or_one(from.pcie_bandwidth.value(), to.pcie_bandwidth.value()));
  const std::int64_t floor = from.launch.kernel_floor.ps(), new_floor = to.launch.kernel_floor.ps();
  if (ps <= floor) return times(ps, ratio_or_one(double(new_floor), double(floor)));
  if (kind == KernelKind::matrix) return times(ps, matrix_ratio(job, rank, record));
  ++by_memory_;
  return new_floor + times(ps - floor, ratio_or_one(from.hbm.bandwidth.value(), to.hbm.bandwidth.value()));
}

}  // namespace distsim::replay
