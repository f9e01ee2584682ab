// DeviceSpec: one GPU type, as in configs/devices/<name>.yaml.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/config/schema.hpp"
#include "base/units.hpp"
#include "topology/devices/fit_evidence.hpp"

namespace distsim::topology {

struct DeviceMemory {
  Bytes capacity;
  BytesPerSecond bandwidth;  ///< data sheet, reads plus writes
  bool operator==(const DeviceMemory&) const = default;
};

struct DeviceClocks {
  Hertz boost;      ///< the clock that the peak rates are quoted at
  Hertz sustained;  ///< what the GPU holds under dense load within `power`; at most boost
  Watts power{0};   ///< the board power limit that `sustained` was found at; 0: that of the board, whatever it is
  Hertz locked{0};  ///< what the SMs are locked to (nvidia-smi -lgc); 0: not locked
  /// Of the L2, which runs with the SMs and whose load alone does not reach the power limit: 1 unless locked below
  /// boost.
  double light_share() const { return locked.value() > 0 && locked < boost ? locked.value() / boost.value() : 1; }
  bool operator==(const DeviceClocks&) const = default;
};

/// Costs of getting work onto the GPU, seen from the GPU. Host time is the framework's (FrameworkSpec).
struct DeviceLaunch {
  Duration kernel_floor = Duration::nanoseconds(2000);  ///< duration of an empty kernel
  Duration kernel_gap =
      Duration::nanoseconds(1000);  ///< idle between two dependent kernels of a stream that are both already queued
  Duration graph_kernel_gap = Duration::nanoseconds(600);  ///< the same inside a CUDA graph
  bool operator==(const DeviceLaunch&) const = default;
};

/// What whole iterations show of a device beyond its data sheet and its op models.
struct DeviceCalibration {
  double matrix_16bit = 1;  ///< time of kernels bound by matrix products of 16 or 8 bits over that of the op models (a
                            ///< measured table of the device is left as it is)
  double matrix_32bit = 1;  ///< the same in fp32 and tf32
  double memory = 1;        ///< the same of kernels bound by memory or the plain lanes, in any type
  double speed_variation =
      0;  ///< standard deviation of kernel time from one GPU of this kind to another, over the mean
  FitEvidence evidence;
  bool operator==(const DeviceCalibration&) const = default;
};

struct DeviceSpec {
  std::string name;                     ///< "a100_sxm4_80gb"; the file's stem
  std::vector<std::string> aliases;     ///< other names that logs and tables use for it ("A100-SXM4-80GB")
  std::string architecture;             ///< volta, turing, ampere, ada, hopper, blackwell, ...
  std::int64_t compute_capability = 0;  ///< 70, 75, 80, 86, 89, 90, 100, 120
  std::int64_t sm_count = 0;
  DeviceClocks clock;
  /// Dense peak rate by data type at the boost clock: fp64 fp32 tf32 fp16 bf16 fp8 int8; `vector_fp32` and
  /// `vector_fp16` are the non-tensor-core rates. A type that is absent is not supported as a matrix type by the
  /// device.
  std::map<std::string, FlopsPerSecond> peak;
  DeviceMemory hbm;
  DeviceMemory l2;
  DeviceLaunch launch;
  DeviceCalibration calibration;
  Watts power_limit;
  BytesPerSecond pcie_bandwidth;                 ///< host link, per direction, usable
  Bytes reserved_memory = Bytes(1'500'000'000);  ///< taken by the context, NCCL and the framework
  std::string source;                            ///< where the facts come from
  /// The device as its file describes it, where what-ifs may have changed the figures above; empty: they are those of
  /// the file. One element at most.
  std::vector<DeviceSpec> described;
  bool operator==(const DeviceSpec&) const = default;
};

/// Clock under dense load at the device's power limit. Power that goes with the clock is f V^2 with a voltage that rises
/// about in proportion to the clock near boost, so f^3; kStaticPowerShare of the limit does not go with it. So
///   f = sustained * ((power_limit / power - s) / (1 - s))^(1/3), from a tenth of sustained to boost,
/// and at most the clock that the SMs are locked to.
Hertz clock_under_load(const DeviceSpec& device);

/// Leakage, HBM and links of a busy GPU, of its power limit: chosen between an idle A100 (55 of 400 W) or H100 (75 of
/// 700 W), by nvidia-smi, and the third that memory-bound work draws.
inline constexpr double kStaticPowerShare = 0.2;

Schema<DeviceSpec> device_schema();

}  // namespace distsim::topology
