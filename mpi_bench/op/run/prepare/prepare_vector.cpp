// Elementwise ops, layer norm, softmax and the gradients of the latter two on our own kernels; copies by the driver.
#include "mpi_bench/op/run/cuda_memory.hpp"
#include "mpi_bench/op/run/kernels/kernels.hpp"
#include "mpi_bench/op/run/prepare/prepared_op.hpp"

namespace distsim::bench {
namespace {

class ArrayOp : public PreparedOp {
 public:
  ArrayOp(std::string op, bool backward, ElementType type, VectorShape shape)
      : op_(std::move(op)), backward_(backward), type_(type), s_(std::move(shape)) {}

  Result<void> fill(std::int64_t element_bytes, cudaStream_t stream) {
    const std::int64_t count = s_.rows * s_.cols;
    TRY_ASSIGN(a_, CudaMemory::device(count * element_bytes));
    CUDA_TRY(launch_fill(type_, a_.get(), count, 1, stream));
    if (op_ == "add" || op_ == "mul" || backward_) {
      TRY_ASSIGN(b_, CudaMemory::device(count * element_bytes));
      CUDA_TRY(launch_fill(type_, b_.get(), count, 2, stream));
    }
    TRY_ASSIGN(out_, CudaMemory::device(count * element_bytes));
    if (backward_ && op_ == "layernorm") {
      TRY_ASSIGN(sums_, CudaMemory::device(static_cast<std::uint64_t>(2 * (s_.rows + s_.cols)) * sizeof(float)));
    }
    return {};
  }

  Result<void> launch(cudaStream_t stream) override { return cuda_checked(launched(stream), op_.c_str()); }

 private:
  cudaError_t launched(cudaStream_t stream) const {
    if (backward_ && op_ == "layernorm")
      return launch_layer_norm_backward(type_, a_.get(), b_.get(), out_.get(), static_cast<float*>(sums_.get()),
                                        s_.rows, s_.cols, stream);
    if (backward_) return launch_softmax_backward(type_, a_.get(), b_.get(), out_.get(), s_.rows, s_.cols, stream);
    if (op_ == "layernorm") return launch_layer_norm(type_, a_.get(), out_.get(), s_.rows, s_.cols, stream);
    if (op_ == "softmax") return launch_softmax(type_, a_.get(), out_.get(), s_.rows, s_.cols, stream);
    const VectorOp op = op_ == "add"    ? VectorOp::add
                        : op_ == "mul"  ? VectorOp::mul
                        : op_ == "relu" ? VectorOp::relu
                                        : VectorOp::gelu;
    return launch_vector(op, type_, a_.get(), b_.get(), out_.get(), s_.rows * s_.cols, stream);
  }

  std::string op_;
  bool backward_;
  ElementType type_;
  VectorShape s_;
  CudaMemory a_, b_, out_, sums_;
};

class CopyOp : public PreparedOp {
 public:
  CopyOp(CudaMemory from, CudaMemory to, std::int64_t bytes, cudaMemcpyKind kind)
      : from_(std::move(from)), to_(std::move(to)), bytes_(static_cast<std::size_t>(bytes)), kind_(kind) {}
  Result<void> launch(cudaStream_t stream) override {
    return cuda_checked(cudaMemcpyAsync(to_.get(), from_.get(), bytes_, kind_, stream), "cudaMemcpyAsync");
  }

 private:
  CudaMemory from_, to_;
  std::size_t bytes_;
  cudaMemcpyKind kind_;
};

/// From this GPU to the next one, directly where the two can see each other.
Result<std::unique_ptr<PreparedOp>> prepare_peer_copy(std::int64_t bytes, cudaStream_t stream) {
  int here = 0, devices = 0, direct = 0;
  CUDA_TRY(cudaGetDevice(&here));
  CUDA_TRY(cudaGetDeviceCount(&devices));
  const int there = peer_of(here, devices);
  CUDA_TRY(cudaDeviceCanAccessPeer(&direct, here, there));
  if (direct != 0) {
    const cudaError_t enabled = cudaDeviceEnablePeerAccess(there, 0);
    if (enabled != cudaErrorPeerAccessAlreadyEnabled) CUDA_TRY(enabled);
    (void)cudaGetLastError();
  }
  TRY_ASSIGN(CudaMemory from, CudaMemory::device(bytes));
  CUDA_TRY(cudaSetDevice(there));
  auto to = CudaMemory::device(bytes);
  CUDA_TRY(cudaSetDevice(here));
  if (!to.ok()) return to.error();
  CUDA_TRY(cudaMemsetAsync(from.get(), 1, bytes, stream));
  return std::unique_ptr<PreparedOp>(
      std::make_unique<CopyOp>(std::move(from), std::move(to).value(), bytes, cudaMemcpyDefault));
}

}  // namespace

Result<std::unique_ptr<PreparedOp>> prepare_vector(const OpCase& c, cudaStream_t stream) {
  TRY_ASSIGN(const ElementType type, element_type(c.dtype));
  auto op = std::make_unique<ArrayOp>(c.op, c.pass == "bwd", type, std::get<VectorShape>(c.shape));
  TRY(op->fill(dtype_bytes(c.dtype), stream));
  return std::unique_ptr<PreparedOp>(std::move(op));
}

Result<std::unique_ptr<PreparedOp>> prepare_copy(const OpCase& c, cudaStream_t stream) {
  const VectorShape& s = std::get<VectorShape>(c.shape);
  const std::int64_t bytes = s.rows * s.cols * dtype_bytes(c.dtype);
  if (c.op == "copy_p2p") return prepare_peer_copy(bytes, stream);
  const bool from_host = c.op == "copy_h2d", to_host = c.op == "copy_d2h";
  TRY_ASSIGN(CudaMemory from, from_host ? CudaMemory::pinned(bytes) : CudaMemory::device(bytes));
  TRY_ASSIGN(CudaMemory to, to_host ? CudaMemory::pinned(bytes) : CudaMemory::device(bytes));
  CUDA_TRY(cudaMemsetAsync(from_host ? to.get() : from.get(), 1, bytes, stream));
  const cudaMemcpyKind kind = from_host ? cudaMemcpyHostToDevice
                              : to_host ? cudaMemcpyDeviceToHost
                                        : cudaMemcpyDeviceToDevice;
  return std::unique_ptr<PreparedOp>(std::make_unique<CopyOp>(std::move(from), std::move(to), bytes, kind));
}

}  // namespace distsim::bench
