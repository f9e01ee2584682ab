#include "mpi_bench/op/run/device.hpp"

#include <cublas_v2.h>
#include <dlfcn.h>

#include "mpi_bench/op/run/cuda_memory.hpp"

namespace distsim::bench {
namespace {

std::string cublas_version() {
  int major = 0, minor = 0, patch = 0;
  cublasGetProperty(MAJOR_VERSION, &major);
  cublasGetProperty(MINOR_VERSION, &minor);
  cublasGetProperty(PATCH_LEVEL, &patch);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

}  // namespace

Result<DeviceInfo> open_device(int index) {
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code != cudaSuccess || count == 0)
    return Error{std::string("no GPU: ") + (code == cudaSuccess ? "the driver reports none" : cudaGetErrorString(code)),
                 "", "op_bench --list prints the grid without one"};
  if (index >= count)
    return Error{"found " + std::to_string(index) + ", expected 0 .. " + std::to_string(count - 1), "--device", ""};
  CUDA_TRY(cudaSetDevice(index));
  cudaDeviceProp properties{};
  CUDA_TRY(cudaGetDeviceProperties(&properties, index));
  int runtime = 0;
  CUDA_TRY(cudaRuntimeGetVersion(&runtime));
  const std::string cuda = std::to_string(runtime / 1000) + "." + std::to_string(runtime / 10 % 100);
  return DeviceInfo{properties.name,
                    "op_bench cuda" + cuda + " cublas" + cublas_version(),
                    properties.totalGlobalMem,
                    static_cast<std::uint64_t>(properties.l2CacheSize),
                    properties.major * 10 + properties.minor,
                    count};
}

/// The few entry points of NVML that are used, with the signatures of its documented C interface. Return value 0 is
/// success.
struct DeviceMonitor::Nvml {
  using Handle = void*;
  static constexpr int kSmClock = 1, kMemoryClock = 2, kGpuTemperature = 0;

  void* library = nullptr;
  Handle device = nullptr;
  int (*shutdown)() = nullptr;
  int (*clock)(Handle, int, unsigned*) = nullptr;
  int (*temperature)(Handle, int, unsigned*) = nullptr;
  int (*power)(Handle, unsigned*) = nullptr;

  ~Nvml() {
    if (shutdown != nullptr) shutdown();
    if (library != nullptr) dlclose(library);
  }

  template <class F>
  bool load(F& function, const char* name) {
    function = reinterpret_cast<F>(dlsym(library, name));
    return function != nullptr;
  }

  bool open(const char* bus_id) {
    library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    int (*init)() = nullptr;
    int (*by_bus)(const char*, Handle*) = nullptr;
    if (library == nullptr || !load(init, "nvmlInit_v2") || init() != 0) return false;
    load(shutdown, "nvmlShutdown");
    return load(by_bus, "nvmlDeviceGetHandleByPciBusId_v2") && load(clock, "nvmlDeviceGetClockInfo") &&
           load(temperature, "nvmlDeviceGetTemperature") && load(power, "nvmlDeviceGetPowerUsage") &&
           by_bus(bus_id, &device) == 0;
  }
};

DeviceMonitor::DeviceMonitor(int cuda_device) {
  char bus[32] = "";
  if (cudaDeviceGetPCIBusId(bus, sizeof bus, cuda_device) != cudaSuccess) return;
  auto nvml = std::make_unique<Nvml>();
  if (nvml->open(bus)) nvml_ = std::move(nvml);
}

DeviceMonitor::~DeviceMonitor() = default;

DeviceState DeviceMonitor::read() const {
  DeviceState state;
  if (!nvml_) return state;
  unsigned value = 0;
  if (nvml_->clock(nvml_->device, Nvml::kSmClock, &value) == 0) state.sm_clock_mhz = std::to_string(value);
  if (nvml_->clock(nvml_->device, Nvml::kMemoryClock, &value) == 0) state.memory_clock_mhz = std::to_string(value);
  if (nvml_->temperature(nvml_->device, Nvml::kGpuTemperature, &value) == 0)
    state.temperature_c = std::to_string(value);
  if (nvml_->power(nvml_->device, &value) == 0)
    state.power_w = std::to_string((value + 500) / 1000);  // NVML says milliwatts
  return state;
}

}  // namespace distsim::bench
