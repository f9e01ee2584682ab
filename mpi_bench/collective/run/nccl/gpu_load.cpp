#include "mpi_bench/collective/run/nccl/gpu_load.hpp"

#include <cublas_v2.h>

#include <algorithm>

#include "mpi_bench/collective/backend/memory.hpp"
#include "mpi_bench/collective/run/cuda/cuda_check.hpp"

namespace distsim::bench {
namespace {

struct Stream {
  Stream() : code(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)) {}
  ~Stream() { cudaStreamDestroy(stream); }
  cudaStream_t stream = nullptr;
  const cudaError_t code;
};

struct Cublas {
  Cublas() { cublasCreate(&handle); }
  ~Cublas() { cublasDestroy(handle); }
  cublasHandle_t handle = nullptr;
};

}  // namespace

Result<std::unique_ptr<GpuLoad>> GpuLoad::start(int device, ncclComm_t comm, std::uint64_t bytes) {
  std::unique_ptr<GpuLoad> load(new GpuLoad);
  GpuLoad* self = load.get();
  self->thread_ =
      std::thread([=] { self->outcome_ = bytes == 0 ? self->multiply(device) : self->reduce(device, comm, bytes); });
  return load;
}

Result<void> GpuLoad::stop() {
  stop_.store(true);
  if (thread_.joinable()) thread_.join();
  return outcome_;
}

Result<void> GpuLoad::reduce(int device, ncclComm_t comm, std::uint64_t bytes) {
  CUDA_TRY(cudaSetDevice(device));
  const Stream stream;
  CUDA_TRY(stream.code);
  const std::size_t count = std::max<std::uint64_t>(1, bytes / sizeof(float));
  const auto send = make_device_memory(), receive = make_device_memory();
  TRY(send->grow(count * sizeof(float)));
  TRY(receive->grow(count * sizeof(float)));
  for (float stopping = 0; stopping == 0;) {
    const float mine = stop_.load() ? 1 : 0;
    CUDA_TRY(cudaMemcpyAsync(send->at(0), &mine, sizeof mine, cudaMemcpyHostToDevice, stream.stream));
    const ncclResult_t code =
        ncclAllReduce(send->at(0), receive->at(0), count, ncclFloat, ncclSum, comm, stream.stream);
    if (code != ncclSuccess) return Error{ncclGetErrorString(code), "NCCL", ""};
    CUDA_TRY(cudaMemcpyAsync(&stopping, receive->at(0), sizeof stopping, cudaMemcpyDeviceToHost, stream.stream));
    CUDA_TRY(cudaStreamSynchronize(stream.stream));
  }
  return {};
}

Result<void> GpuLoad::multiply(int device) {
  constexpr int kSize = 4096;
  CUDA_TRY(cudaSetDevice(device));
  const Stream stream;
  CUDA_TRY(stream.code);
  const auto a = make_device_memory(), b = make_device_memory();
  TRY(a->grow(std::uint64_t{kSize} * kSize * sizeof(float)));
  TRY(b->grow(std::uint64_t{kSize} * kSize * sizeof(float)));
  const Cublas cublas;
  cublasSetStream(cublas.handle, stream.stream);
  const float one = 1, zero = 0;
  const auto* in = reinterpret_cast<const float*>(a->at(0));
  while (!stop_.load()) {
    const auto code = cublasSgemm(cublas.handle, CUBLAS_OP_N, CUBLAS_OP_N, kSize, kSize, kSize, &one, in, kSize, in,
                                  kSize, &zero, reinterpret_cast<float*>(b->at(0)), kSize);
    if (code != CUBLAS_STATUS_SUCCESS) return Error{"cublasSgemm failed with " + std::to_string(code), "cuBLAS", ""};
    CUDA_TRY(cudaStreamSynchronize(stream.stream));
  }
  return {};
}

}  // namespace distsim::bench
