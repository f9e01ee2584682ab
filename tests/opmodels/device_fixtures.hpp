// Devices for tests, written by hand from the vendors' data sheets, so that these tests do not depend on
// configs/devices.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "topology/devices/device_spec.hpp"

namespace distsim::opmodels {

struct DeviceFacts {
  std::string name;
  int capability, sms;
  double boost_mhz, sustained_mhz;
  double fp32, tf32, fp16, bf16, fp8;  // dense TFLOP/s at boost, 0: absent
  double hbm_gb_s, l2_mib, l2_gb_s;
  double floor_us = 2.0;
};

inline topology::DeviceSpec device_of(const DeviceFacts& f) {
  topology::DeviceSpec d;
  d.name = f.name;
  d.architecture = "test";
  d.compute_capability = f.capability;
  d.sm_count = f.sms;
  d.clock = {Hertz(f.boost_mhz * 1e6), Hertz(f.sustained_mhz * 1e6)};
  const auto rate = [&](const char* key, double tflops) {
    if (tflops > 0) d.peak[key] = FlopsPerSecond(tflops * 1e12);
  };
  rate("fp32", f.fp32);
  rate("vector_fp32", f.fp32);
  rate("tf32", f.tf32);
  rate("fp16", f.fp16);
  rate("bf16", f.bf16);
  rate("fp8", f.fp8);
  d.hbm = {Bytes(80'000'000'000), BytesPerSecond(f.hbm_gb_s * 1e9)};
  d.l2 = {Bytes(static_cast<std::int64_t>(f.l2_mib * 1048576)), BytesPerSecond(f.l2_gb_s * 1e9)};
  d.launch.kernel_floor = Duration::nanoseconds(static_cast<std::int64_t>(f.floor_us * 1000));
  d.power_limit = Watts(400);
  d.pcie_bandwidth = BytesPerSecond(26e9);
  d.source = "tests";
  return d;
}

/// GPUs of the public op measurements, by the text of their gpu column.
inline std::map<std::string, topology::DeviceSpec> measured_devices() {
  const std::vector<DeviceFacts> facts{
      // name              cc  SMs  boost sust.  fp32   tf32   fp16   bf16   fp8   HBM   L2   L2 GB/s floor
      {"A100-SXM4-80GB", 80, 108, 1410, 1330, 19.5, 156, 312, 312, 0, 2039, 40, 2920, 2.0},
      {"A100-80GB", 80, 108, 1410, 1330, 19.5, 156, 312, 312, 0, 2039, 40, 2920, 2.0},
      {"A100-PCIE-40GB", 80, 108, 1410, 1330, 19.5, 156, 312, 312, 0, 1555, 40, 2920, 2.0},
      {"A100-PCIE-80GB", 80, 108, 1410, 1330, 19.5, 156, 312, 312, 0, 1935, 40, 2920, 2.0},
      {"A100-PG509-200", 80, 108, 1410, 1330, 19.5, 156, 312, 312, 0, 1555, 40, 2920, 2.0},
      {"H100-SXM5-80GB", 90, 132, 1980, 1600, 66.9, 495, 989, 989, 1979, 3352, 50, 5500, 2.0},
      {"H100-80GB", 90, 132, 1980, 1600, 66.9, 495, 989, 989, 1979, 3352, 50, 5500, 2.0},
      {"H200-SXM-141GB", 90, 132, 1980, 1600, 66.9, 495, 989, 989, 1979, 4800, 50, 5500, 2.0},
      {"B200", 100, 148, 1965, 1700, 75, 1100, 2250, 2250, 4500, 8000, 126, 10000, 1.5},
      {"L40S", 89, 142, 2520, 2200, 91.6, 183, 362, 362, 733, 864, 96, 4500, 1.5},
      {"L4", 89, 58, 2040, 1100, 30.3, 60, 121, 121, 242, 300, 48, 2000, 1.5},
      {"A40", 86, 84, 1740, 1500, 37.4, 74.8, 149.7, 149.7, 0, 696, 6, 2500, 2.0},
      {"V100-PCIE-32GB", 70, 80, 1380, 1350, 14.1, 0, 112, 0, 0, 900, 6, 2700, 2.0},
      {"V100-SXM2-32GB", 70, 80, 1530, 1450, 15.7, 0, 125, 0, 0, 900, 6, 2900, 2.0},
      {"V100-SXM2-16GB", 70, 80, 1530, 1450, 15.7, 0, 125, 0, 0, 900, 6, 2900, 2.0},
      {"V100-SXM2-16GB(DGX-1)", 70, 80, 1530, 1450, 15.7, 0, 125, 0, 0, 900, 6, 2900, 2.0},
      {"T4", 75, 40, 1590, 1000, 8.1, 0, 65, 0, 0, 320, 4, 1200, 2.0},
      {"P100-PCIE-16GB", 60, 56, 1329, 1300, 9.3, 0, 18.7, 0, 0, 732, 4, 1600, 2.5},
      {"P4", 61, 20, 1063, 900, 5.5, 0, 0, 0, 0, 192, 2, 800, 2.5},
  };
  std::map<std::string, topology::DeviceSpec> devices;
  for (const DeviceFacts& f : facts) devices[f.name] = device_of(f);
  return devices;
}

}  // namespace distsim::opmodels
