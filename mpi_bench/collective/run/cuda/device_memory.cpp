#include "mpi_bench/collective/backend/memory.hpp"
#include "mpi_bench/collective/run/cuda/cuda_check.hpp"

namespace distsim::bench {
namespace {

class DeviceMemory : public Memory {
 public:
  ~DeviceMemory() override { cudaFree(data_); }
  Result<void> grow(std::uint64_t bytes) override {
    if (bytes <= bytes_) return {};
    cudaFree(data_);
    data_ = nullptr;
    bytes_ = 0;
    CUDA_TRY(cudaMalloc(&data_, bytes));
    bytes_ = bytes;
    return {};
  }
  std::byte* at(std::uint64_t offset) const override { return static_cast<std::byte*>(data_) + offset; }
  Result<void> write(std::uint64_t at, std::span<const std::byte> data) override {
    return checked(cudaMemcpy(this->at(at), data.data(), data.size(), cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  Result<void> read(std::uint64_t at, std::span<std::byte> data) const override {
    return checked(cudaMemcpy(data.data(), this->at(at), data.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
  }

 private:
  void* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace

std::unique_ptr<Memory> make_device_memory() { return std::make_unique<DeviceMemory>(); }

}  // namespace distsim::bench
