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
  Hertz sustained;  ///< what the GPU holds for seconds under nothing but dense products within `power`; at most boost
  Hertz burst{0};   ///< what it holds before its power limiter acts, as in short benchmarks, and where a mix of kernels
                    ///< draws less than `power`: sustained to boost; 0: no more than sustained
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

/// gfx908 to gfx950, whose numbers stand for GPUs of AMD; those of others are of NVIDIA.
constexpr bool is_amd(std::int64_t compute_capability) { return compute_capability > 90 && compute_capability < 100; }

struct DeviceSpec {
  std::string name;                     ///< "a100_sxm4_80gb"; the file's stem
  std::vector<std::string> aliases;     ///< other names that logs and tables use for it ("A100-SXM4-80GB")
  std::string architecture;             ///< volta, turing, ampere, ada, hopper, blackwell, ...
  std::int64_t compute_capability = 0;  ///< 70, 75, 80, 86, 89, 90, 100, 120; of AMD's, 94 (gfx942) and 95 (gfx950)
  std::int64_t sm_count = 0;
  DeviceClocks clock;
  /// Dense peak rate by data type at the boost clock: fp64 fp32 tf32 fp16 bf16 fp8 fp4 int8; `vector_fp32` and
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
  std::string server;                            ///< the system that it usually comes in; empty: not stated
  std::string source;                            ///< where the facts come from
  /// The device as its file describes it, where what-ifs may have changed the figures above; empty: they are those of
  /// the file. One element at most.
  std::vector<DeviceSpec> described;
  bool is_amd() const { return topology::is_amd(compute_capability); }
  bool operator==(const DeviceSpec&) const = default;
};

/// Parts of the time in which each unit draws its full power, at the clock before power limits.
struct UnitsBusy {
  double matrix = 0, vector = 0, memory = 0;
};

/// Shares of `clock.power` that a GPU draws. Power that goes with the clock is f V^2 with a voltage that rises about in
/// proportion to the clock near boost, so f^3; that of the memory does not go with the SMs' clock:
///   draw(f) = static + (matrix * busy.matrix + vector * busy.vector) (f / sustained)^3 + memory * busy.memory
/// static: leakage and links of a busy GPU, chosen between an idle A100 (55 of 400 W) or H100 (75 of 700 W), by
/// nvidia-smi, and the third that light work draws. matrix: the rest, which is what `sustained` means. memory and vector:
/// so that a stream through memory draws three fifths of the limit and fp32 products on the plain lanes four fifths, as
/// nvidia-smi shows of the A100 and H100; estimates.
inline constexpr double kStaticPowerShare = 0.2;
inline constexpr double kMatrixPowerShare = 1 - kStaticPowerShare;
inline constexpr double kVectorPowerShare = 0.6;
inline constexpr double kMemoryPowerShare = 0.4;

/// Boards of one kind differ in their clocks, and times are rounded: rates above the data sheet by less are let pass.
inline constexpr double kPeakTolerance = 1.25;

struct ProductPeak {
  double rate = 0;    ///< FLOP/s; 0: not known
  std::string dtype;  ///< whose rate it is
};

/// What the data sheet allows a matrix product of this type. Of 32 bits that of the fastest 32-bit type: libraries may take
/// tf32 for fp32.
ProductPeak product_peak(const DeviceSpec& device, std::string_view dtype);

/// Clock under dense products for seconds at the device's power limit: draw(f) = power_limit / power with the matrix
/// units busy all the time,
///   f = sustained * ((power_limit / power - s) / (1 - s))^(1/3), from a tenth of sustained to boost,
/// and at most the clock that the SMs are locked to.
Hertz clock_under_load(const DeviceClocks& clock, Watts power_limit);
inline Hertz clock_under_load(const DeviceSpec& d) { return clock_under_load(d.clock, d.power_limit); }

/// Clock before the power limiter acts: `burst`, not below clock_under_load(), at most a locked clock.
Hertz clock_before_limits(const DeviceClocks& clock, Watts power_limit);
inline Hertz clock_before_limits(const DeviceSpec& d) { return clock_before_limits(d.clock, d.power_limit); }

/// Clock that ops are priced at: clock_before_limits() with the burst clock of the device's file, at which its kernels
/// were measured. Another burst clock changes what a mix of kernels holds and nothing else, so that a higher one is never
/// slower.
Hertz clock_of_prices(const DeviceSpec& d);

/// Clock that a mix of kernels holds for seconds: the highest, from clock_under_load() to clock_before_limits(), at which
/// it draws no more than the power limit. `busy` is at the clock `priced`; at a lower one products and lanes take
/// longer, so they are busy for a larger part of a longer time.
Hertz clock_of_mix(const DeviceClocks& clock, Watts power_limit, const UnitsBusy& busy, Hertz priced);

Schema<DeviceSpec> device_schema();

}  // namespace distsim::topology
