#include "topology/devices/device_spec.hpp"

#include <algorithm>
#include <cmath>

#include "base/text/names/file_name.hpp"
#include "base/text/printable.hpp"
#include "topology/devices/device_doubts.hpp"

namespace distsim::topology {
namespace {

// Ranges admit anything that could be built, and refuse slips of a factor of a thousand (GB for MB, MHz for GHz).
constexpr Range kClock{1e8, 1e10};
constexpr Range kRate{1e9, 1e17};
constexpr Range kL2Bandwidth{1e9, 1e15}, kMemoryBandwidth{1e10, 1e15};

Schema<DeviceClocks> clock_schema() {
  Schema<DeviceClocks> s("clock", "SM clocks.");
  s.required("boost", &DeviceClocks::boost, kClock, "The clock at which the peak rates are quoted.");
  s.required(
      "sustained", &DeviceClocks::sustained, kClock,
      "Clock that the GPU sustains for seconds under nothing but dense matrix work within its power limit; at most boost.");
  s.optional(
      "burst", &DeviceClocks::burst, {0, kClock.max},
      "Clock before the power limiter acts, as in short benchmarks; at most boost, and of no effect below sustained. Iterations whose kernels "
      "draw less than the limit run at it. 0: no more than sustained.");
  s.optional("locked", &DeviceClocks::locked, {0, kClock.max},
             "SM clock that the GPU is locked to (nvidia-smi -lgc), at most boost; 0: not locked. Matrix units, plain "
             "lanes and L2 follow it; memory, PCIe and launches do not.");
  s.optional(
      "power", &DeviceClocks::power, {0, 1e5},
      "Board power limit at which `sustained` was found; with another power_limit the clock under load is another. "
      "0: not known, power_limit does not move the clock.");
  s.rule([](const DeviceClocks& c) -> std::optional<std::string> {
    const auto above = [&](std::string_view key, Hertz found) {
      return std::string(key) + ": found " + format_quantity_beside(found.value(), c.boost.value(), Dimension::hertz) +
             ", expected at most boost, " + format_quantity(c.boost.value(), Dimension::hertz);
    };
    if (c.sustained > c.boost) return above("sustained", c.sustained);
    if (c.locked > c.boost) return above("locked", c.locked);
    if (c.burst > c.boost) return above("burst", c.burst);
    if (c.locked.value() == 0 || c.locked.value() >= kClock.min) return std::nullopt;
    return "locked: found " + format_quantity_beside(c.locked.value(), kClock.min, Dimension::hertz) +
           ", expected at least " + format_quantity(kClock.min, Dimension::hertz) + ", or 0 where it is not locked";
  });
  return s;
}

Schema<DeviceMemory> memory_schema(const std::string& section, const std::string& doc, Range capacity,
                                   Range bandwidth) {
  Schema<DeviceMemory> s(section, doc);
  s.required("capacity", &DeviceMemory::capacity, capacity, "Size.");
  s.required("bandwidth", &DeviceMemory::bandwidth, bandwidth, "Reads plus writes, over all SMs.");
  return s;
}

Schema<DeviceLaunch> launch_schema() {
  Schema<DeviceLaunch> s("launch", "Launch overheads as seen from the GPU.");
  s.optional("kernel_floor", &DeviceLaunch::kernel_floor, {0, 1e-3}, "Duration of an empty kernel.");
  s.optional("kernel_gap", &DeviceLaunch::kernel_gap, {0, 1e-3},
             "Idle time between two dependent kernels of a stream that are both already queued.");
  s.optional("graph_kernel_gap", &DeviceLaunch::graph_kernel_gap, {0, 1e-3}, "The same within a CUDA graph.");
  return s;
}

constexpr std::string_view kByBound =
    "matrix_16bit and matrix_32bit scale kernels that matrix units bound, memory the others";
constexpr MovedKey kMovedCorrections[] = {{"kernels_16bit", "matrix_16bit", kByBound},
                                          {"kernels_32bit", "matrix_32bit", kByBound}};

Schema<DeviceCalibration> calibration_schema() {
  Schema<DeviceCalibration> s("calibration",
                              "Corrections to the op models, fitted to measured iterations on this GPU.");
  s.optional(
      "matrix_16bit", &DeviceCalibration::matrix_16bit, {0.2, 5},
      "Time of kernels bound by 16-bit and 8-bit matrix products relative to the op models; not applied to measured op tables of the device.");
  s.optional("matrix_32bit", &DeviceCalibration::matrix_32bit, {0.2, 5}, "The same for fp32 and tf32.");
  s.optional("memory", &DeviceCalibration::memory, {0.2, 5},
             "The same for kernels bound by memory or the plain lanes, of any type.");
  s.optional(
      "speed_variation", &DeviceCalibration::speed_variation, {0, 0.5},
      "Standard deviation of kernel time between GPUs, relative to the mean; training waits for the slowest rank.");
  s.nested("evidence", &DeviceCalibration::evidence, fit_evidence_schema());
  s.moved(kMovedCorrections);
  return s;
}

const std::vector<std::string>& rate_names() {
  static const std::vector<std::string> names = {"fp64", "fp32", "tf32", "fp16",        "bf16",
                                                 "fp8",  "fp4",  "int8", "vector_fp32", "vector_fp16"};
  return names;
}

std::optional<std::string> broken_device_rule(const DeviceSpec& d) {
  if (auto broken = broken_file_name(d.name)) return broken;  // of its table of ops
  if (!d.peak.contains("fp32"))
    return "peak: found no fp32, expected at least fp32, the type that every kernel can fall back to";
  if (const std::string near = misspelt_architecture(d.architecture); !near.empty())
    return "architecture: found " + in_quotes(d.architecture, 60) + ", expected '" + near + "', or a name unlike it";
  for (const auto& [key, held] : {std::pair("l2.capacity", d.l2.capacity), {"reserved_memory", d.reserved_memory}}) {
    const auto size = static_cast<double>(held.value()), whole = static_cast<double>(d.hbm.capacity.value());
    if (size >= whole)
      return std::string(key) + ": found " + format_quantity_beside(size, whole, Dimension::bytes) +
             ", expected less than hbm.capacity, " + format_quantity(whole, Dimension::bytes);
  }
  return std::nullopt;
}

/// The power limit as a share of the power that `sustained` was found at.
double limit_of(const DeviceClocks& clock, Watts power_limit) {
  return clock.power.value() > 0 ? power_limit.value() / clock.power.value() : 1;
}

Hertz at_most_locked(const DeviceClocks& clock, double held) {
  return Hertz(clock.locked.value() > 0 ? std::min(held, clock.locked.value()) : held);
}

/// What the mix draws at `clock`, as a share of `power`. `priced`: the clock that `busy` belongs to.
double draw_at(double clock, double priced, double sustained, const UnitsBusy& busy) {
  const double stretch = priced / clock;
  const double time = 1 + std::min(1.0, busy.matrix + busy.vector) * (stretch - 1);
  const double cube = std::pow(clock / sustained, 3) * stretch;
  const double with_clock = (kMatrixPowerShare * busy.matrix + kVectorPowerShare * busy.vector) * cube;
  return kStaticPowerShare + (with_clock + kMemoryPowerShare * busy.memory) / time;
}

}  // namespace

Hertz clock_under_load(const DeviceClocks& clock, Watts power_limit) {
  constexpr double kSlowest = 0.1;
  const double dynamic = (limit_of(clock, power_limit) - kStaticPowerShare) / kMatrixPowerShare;
  const double share = clock.power.value() > 0 ? std::max(kSlowest, std::cbrt(dynamic)) : 1;
  return at_most_locked(clock, std::min(clock.boost.value(), clock.sustained.value() * share));
}

Hertz clock_before_limits(const DeviceClocks& clock, Watts power_limit) {
  const Hertz held = clock_under_load(clock, power_limit);
  return clock.burst.value() > 0 ? std::max(held, at_most_locked(clock, clock.burst.value())) : held;
}

Hertz clock_of_prices(const DeviceSpec& d) {
  DeviceClocks clock = d.clock;
  if (!d.described.empty()) clock.burst = d.described.front().clock.burst;
  return std::min(clock_before_limits(clock, d.power_limit), clock.boost);
}

Hertz clock_of_mix(const DeviceClocks& clock, Watts power_limit, const UnitsBusy& busy, Hertz priced) {
  double low = clock_under_load(clock, power_limit).value(), high = clock_before_limits(clock, power_limit).value();
  const double sustained = clock.sustained.value(), limit = limit_of(clock, power_limit);
  if (high <= low || draw_at(high, priced.value(), sustained, busy) <= limit) return Hertz(high);
  constexpr int kHalvings = 30;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = 0.5 * (low + high);
    (draw_at(middle, priced.value(), sustained, busy) <= limit ? low : high) = middle;
  }
  return Hertz(low);
}

Schema<DeviceSpec> device_schema() {
  Schema<DeviceSpec> s("device", "One GPU type.");
  s.required("name", &DeviceSpec::name, "GPU type name: the file name without .yaml.");
  s.scalars(
      "aliases", &DeviceSpec::aliases, {},
      "Other names for this GPU in logs and tables. Case, blanks, `_` and `-` make no difference, nor does NVIDIA, Tesla or GeForce before a name.");
  s.required("architecture", &DeviceSpec::architecture, "pascal, volta, turing, ampere, ada, hopper, blackwell, ...");
  s.required("compute_capability", &DeviceSpec::compute_capability, {30, 200},
             "Major and minor version as one number: 70 for V100, 80 for A100, 90 for H100.");
  s.required("sm_count", &DeviceSpec::sm_count, {1, 4096}, "Streaming multiprocessors.");
  s.nested("clock", &DeviceSpec::clock, clock_schema(), true);
  s.table(
      "peak", &DeviceSpec::peak, rate_names(), kRate,
      "Dense peak rate by data type at the boost clock. vector_fp32 and vector_fp16 are the rates without tensor cores; a "
      "type that is not listed is not supported as a matrix type.",
      true);
  s.nested("hbm", &DeviceSpec::hbm,
           memory_schema("hbm", "Device memory (HBM or GDDR), data-sheet bandwidth.", {1e8, 1e14}, kMemoryBandwidth),
           true);
  s.nested("l2", &DeviceSpec::l2,
           memory_schema("l2", "L2 cache, with the achievable read bandwidth.", {1e5, 1e11}, kL2Bandwidth), true);
  s.nested("launch", &DeviceSpec::launch, launch_schema());
  s.nested("calibration", &DeviceSpec::calibration, calibration_schema());
  s.required("power_limit", &DeviceSpec::power_limit, {1, 1e5}, "Board power limit.");
  s.required("pcie_bandwidth", &DeviceSpec::pcie_bandwidth, {1e8, 1e13},
             "Host link (PCIe or NVLink-C2C), per direction, as achieved by large copies.");
  s.optional("reserved_memory", &DeviceSpec::reserved_memory, {0, 1e12},
             "Device memory used by the CUDA context, NCCL and the framework.");
  s.optional("server", &DeviceSpec::server,
             "File in configs/systems that this GPU usually comes in: used where cluster.device is given alone.");
  s.required("source", &DeviceSpec::source, "Where the figures come from, and which are estimates.");
  s.rule(broken_device_rule);
  return s;
}

ProductPeak product_peak(const DeviceSpec& device, std::string_view dtype) {
  ProductPeak most;
  for (const auto& [name, rate] : device.peak) {
    const bool wide = dtype == "fp32" || dtype == "tf32";
    if ((name == dtype || (wide && (name == "fp32" || name == "tf32"))) && rate.value() > most.rate)
      most = {rate.value(), name};
  }
  return most;
}

}  // namespace distsim::topology
