// Errors and memory of CUDA as values with owners.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>
#include <utility>

#include "base/result.hpp"

namespace distsim::bench {

inline Result<void> cuda_checked(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return {};
  return Error{std::string(what) + ": " + cudaGetErrorString(code), "CUDA", ""};
}

#define CUDA_TRY(call) TRY(::distsim::bench::cuda_checked(call, #call))

/// Device or pinned host memory, freed with its owner.
class CudaMemory {
 public:
  CudaMemory() = default;
  CudaMemory(CudaMemory&& other) noexcept : data_(std::exchange(other.data_, nullptr)), pinned_(other.pinned_) {}
  CudaMemory& operator=(CudaMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(pinned_, other.pinned_);
    return *this;
  }
  ~CudaMemory() { pinned_ ? cudaFreeHost(data_) : cudaFree(data_); }

  static Result<CudaMemory> device(std::uint64_t bytes) {
    CudaMemory memory;
    CUDA_TRY(cudaMalloc(&memory.data_, bytes));
    return memory;
  }
  static Result<CudaMemory> pinned(std::uint64_t bytes) {
    CudaMemory memory;
    memory.pinned_ = true;
    CUDA_TRY(cudaMallocHost(&memory.data_, bytes));
    return memory;
  }
  void* get() const { return data_; }

 private:
  void* data_ = nullptr;
  bool pinned_ = false;
};

}  // namespace distsim::bench
