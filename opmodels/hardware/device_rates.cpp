#include "opmodels/hardware/device_rates.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace distsim::opmodels {
namespace {

Error bad_rate(const topology::DeviceSpec& device, std::string_view key, double found) {
  return {std::string(key) + ": found " + std::to_string(found) + ", expected a positive number", device.name, ""};
}

Result<void> check_positive(const topology::DeviceSpec& device, std::string_view key, double value) {
  if (value > 0 && std::isfinite(value)) return {};
  return bad_rate(device, key, value);
}

double peak_or_zero(const topology::DeviceSpec& device, std::string_view key) {
  const auto found = device.peak.find(std::string(key));
  return found == device.peak.end() ? 0.0 : found->second.value();
}

Result<void> check_spec(const topology::DeviceSpec& device) {
  TRY(check_positive(device, "sm_count", static_cast<double>(device.sm_count)));
  TRY(check_positive(device, "clock.boost", device.clock.boost.value()));
  TRY(check_positive(device, "clock.sustained", device.clock.sustained.value()));
  if (device.clock.locked.value() != 0) TRY(check_positive(device, "clock.locked", device.clock.locked.value()));
  TRY(check_positive(device, "hbm.bandwidth", device.hbm.bandwidth.value()));
  TRY(check_positive(device, "l2.bandwidth", device.l2.bandwidth.value()));
  TRY(check_positive(device, "l2.capacity", static_cast<double>(device.l2.capacity.value())));
  TRY(check_positive(device, "pcie_bandwidth", device.pcie_bandwidth.value()));
  for (const auto& [key, rate] : device.peak) TRY(check_positive(device, "peak." + key, rate.value()));
  return {};
}

/// At the clock the device holds before its power limiter acts, or is locked to. Tensor and plain rates both scale with
/// the clock.
void fill_rates(const topology::DeviceSpec& device, DeviceRates& rates) {
  const double hold = std::min(1.0, topology::clock_of_prices(device).value() / device.clock.boost.value());
  const double margin = topology::kPeakTolerance * (device.clock.locked.value() > 0 ? hold : 1);
  for (const graph::DType dtype : {graph::DType::fp64, graph::DType::fp32, graph::DType::tf32, graph::DType::fp16,
                                   graph::DType::bf16, graph::DType::fp8, graph::DType::fp4, graph::DType::int8}) {
    rates.matrix[static_cast<std::size_t>(dtype)] = peak_or_zero(device, graph::name_of(dtype)) * hold;
    rates.most[static_cast<std::size_t>(dtype)] = topology::product_peak(device, graph::name_of(dtype)).rate * margin;
  }
  const double lanes = peak_or_zero(device, "vector_fp32");
  double& fp32 = rates.matrix[static_cast<std::size_t>(graph::DType::fp32)];
  if (fp32 == 0) fp32 = lanes * hold;
  double& most_fp32 = rates.most[static_cast<std::size_t>(graph::DType::fp32)];
  most_fp32 = std::max(most_fp32, lanes * margin);
  rates.vector_fp32 = lanes > 0 ? lanes * hold : fp32;
  const double half_lanes = peak_or_zero(device, "vector_fp16");
  rates.vector_fp16 = half_lanes > 0 ? half_lanes * hold : rates.vector_fp32;
}

/// All matrix cores of AMD multiply fp32, and none of NVIDIA's tensor cores (tf32 is a type of its own); those for fp64 are
/// seen by their rate. Rates that are changed for a what-if take no unit away, and add none.
void fill_units(const topology::DeviceSpec& device, DeviceRates& rates) {
  constexpr double kHalfRate = 0.51;
  rates.fp32_on_lanes = !device.is_amd();
  rates.fp64_on_lanes = rates.matrix[static_cast<std::size_t>(graph::DType::fp64)] <= rates.vector_fp32 * kHalfRate;
}

}  // namespace

Result<DeviceRates> device_rates(const topology::DeviceSpec& device) {
  TRY(check_spec(device));
  DeviceRates rates;
  rates.name = device.name;
  fill_rates(device, rates);
  TRY(check_positive(device, "peak.fp32", rates.vector_fp32));
  rates.hbm = device.hbm.bandwidth.value();
  rates.l2 = device.l2.bandwidth.value() * device.clock.light_share();
  rates.l2_bytes = static_cast<double>(device.l2.capacity.value());
  rates.pcie = device.pcie_bandwidth.value();
  rates.sms = static_cast<double>(device.sm_count);
  rates.clock = topology::clock_of_prices(device).value();
  rates.l2_clock = device.clock.boost.value() * device.clock.light_share();
  rates.floor = device.launch.kernel_floor.seconds();
  rates.gap = device.launch.kernel_gap.seconds();
  rates.capability = static_cast<double>(device.compute_capability);
  fill_units(device, rates);
  rates.traits = arch_traits(device.compute_capability);
  // A lock slows L2, but not below what memory delivers through it: at 1095 of 1410 MHz an A100 still streams 89 % of its
  // data sheet's bandwidth (gpuroofperf, owensgroup/ml_perf_model).
  const double delivered = rates.streaming_hbm() / rates.traits.l2_efficiency;
  if (rates.l2 < delivered) rates.l2 = std::min(delivered, device.l2.bandwidth.value());
  if (!device.described.empty()) {
    TRY_ASSIGN(DeviceRates described, device_rates(device.described.front()));
    rates.fp32_on_lanes = described.fp32_on_lanes, rates.fp64_on_lanes = described.fp64_on_lanes;
    rates.described = std::make_shared<const DeviceRates>(std::move(described));
  }
  return rates;
}

bool same_rates(const DeviceRates& a, const DeviceRates& b) {
  const auto figures = [](const DeviceRates& d) {
    return std::tie(d.name, d.matrix, d.most, d.vector_fp32, d.vector_fp16, d.hbm, d.l2, d.l2_bytes, d.pcie, d.sms,
                    d.clock, d.l2_clock, d.floor, d.gap, d.capability, d.traits.compute_capability, d.learned, d.warm);
  };
  if (figures(a) != figures(b) || (a.described == nullptr) != (b.described == nullptr)) return false;
  return a.described == nullptr || same_rates(*a.described, *b.described);
}

Result<void> check_matrix_dtype(const DeviceRates& device, graph::DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  CHECK(index < device.matrix.size()) << "dtype " << index;
  if (device.matrix[index] > 0) return {};
  std::string known;
  for (std::size_t i = 0; i < device.matrix.size(); ++i) {
    if (device.matrix[i] > 0)
      known += (known.empty() ? "" : ", ") + std::string(graph::name_of(static_cast<graph::DType>(i)));
  }
  return Error{"dtype: found " + std::string(graph::name_of(dtype)) + " on " + device.name +
                   ", expected a matrix type of that device (" + known + ")",
               "", ""};
}

double operand_bytes(graph::DType dtype) {
  constexpr double kFp4 = 0.5 + 1.0 / 16;
  return dtype == graph::DType::fp4 ? kFp4 : graph::real(graph::size_of(dtype));
}

bool uses_vector_lanes(const DeviceRates& device, graph::DType dtype) {
  if (dtype == graph::DType::fp32) return device.fp32_on_lanes;
  return dtype == graph::DType::fp64 && device.fp64_on_lanes;
}

std::optional<OtherKernels> other_kernels(const DeviceRates& device, graph::DType dtype) {
  if (dtype == graph::DType::tf32) return OtherKernels{device, graph::DType::fp32};
  if (dtype != graph::DType::fp32 || uses_vector_lanes(device, dtype)) return std::nullopt;
  OtherKernels plain{device, dtype};
  plain.device.matrix[static_cast<std::size_t>(dtype)] = device.vector_fp32;
  plain.device.fp32_on_lanes = true;
  return plain;
}

}  // namespace distsim::opmodels
