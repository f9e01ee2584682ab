// What a curve file records about the machine, apart from the ranks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace distsim::bench {

std::string driver_version();  ///< of the NVIDIA driver; empty where nvidia-smi says nothing

/// MHz; 0: could not be read, or not locked.
struct MachineClocks {
  std::uint32_t sm_mhz = 0, memory_mhz = 0, cpu_locked_mhz = 0;
  bool operator==(const MachineClocks&) const = default;
};
/// With a GPU the clocks of the first one as nvidia-smi reads them now; of the CPU that of /sys/devices/system/cpu where
/// all cores are held to one clock.
MachineClocks machine_clocks(bool gpu);

/// "1095, 1215" as SM and memory clock: the line of `nvidia-smi --query-gpu=clocks.sm,clocks.mem
/// --format=csv,noheader,nounits`. Zeros where it is none.
MachineClocks parse_gpu_clocks(std::string_view line);
/// The clock that every core of `folder` is held to ("cpu0/cpufreq/scaling_min_freq" and "..._max_freq" in kHz); 0 where
/// they may change it, or differ.
std::uint32_t locked_cpu_mhz(const std::string& folder);

/// The given file, or with a GPU what `nvidia-smi topo -m` prints; cut at 256 KiB. Empty where there is neither.
std::string topology_text(const std::string& file, bool gpu);

/// Hex digest of this program's file: ranks with another one are refused.
std::string program_fingerprint();

}  // namespace distsim::bench
