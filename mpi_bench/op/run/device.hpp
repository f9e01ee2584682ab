// The GPU under measurement: who it is, and how it does right now.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "mpi_bench/op/result_file.hpp"

namespace distsim::bench {

struct DeviceInfo {
  std::string name;       ///< as the driver says it
  std::string framework;  ///< "op_bench cuda13.0 cublas13.0.2"
  std::uint64_t memory_bytes = 0, l2_bytes = 0;
  int capability = 0;  ///< 90 for compute capability 9.0
  int devices = 1;     ///< GPUs of this machine
};

/// Selects the device. Error where there is no driver, no GPU, or no device of that number.
Result<DeviceInfo> open_device(int index);

/// Clocks, temperature and power from NVML, loaded at run time (the library comes with the driver, not with the
/// toolkit). What it does not say stays empty.
class DeviceMonitor {
 public:
  explicit DeviceMonitor(int cuda_device);
  ~DeviceMonitor();
  DeviceMonitor(const DeviceMonitor&) = delete;
  DeviceState read() const;

 private:
  struct Nvml;
  std::unique_ptr<Nvml> nvml_;
};

}  // namespace distsim::bench
