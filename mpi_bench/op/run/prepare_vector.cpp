// Elementwise ops, layer norm and softmax on our own kernels; copies by the driver.
#include "mpi_bench/op/run/cuda_memory.hpp"
#include "mpi_bench/op/run/kernels.hpp"
#include "mpi_bench/op/run/prepared_op.hpp"

namespace distsim::bench {
namespace {

Result<ElementType> element_type(const std::string& dtype) {
  if (dtype == "fp32") return ElementType::fp32;
  if (dtype == "fp16") return ElementType::fp16;
  if (dtype == "bf16") return ElementType::bf16;
  return Error{"found " + dtype + ", expected fp32, fp16 or bf16", "dtype", ""};
}

class ArrayOp : public PreparedOp {
 public:
  ArrayOp(std::string op, ElementType type, VectorShape shape) : op_(std::move(op)), type_(type), s_(shape) {}

  Result<void> fill(std::int64_t element_bytes, cudaStream_t stream) {
    const std::int64_t count = s_.rows * s_.cols;
    TRY_ASSIGN(a_, CudaMemory::device(count * element_bytes));
    CUDA_TRY(launch_fill(type_, a_.get(), count, 1, stream));
    if (op_ == "add" || op_ == "mul") {
      TRY_ASSIGN(b_, CudaMemory::device(count * element_bytes));
      CUDA_TRY(launch_fill(type_, b_.get(), count, 2, stream));
    }
    TRY_ASSIGN(out_, CudaMemory::device(count * element_bytes));
    return {};
  }

  Result<void> launch(cudaStream_t stream) override { return cuda_checked(launched(stream), op_.c_str()); }

 private:
  cudaError_t launched(cudaStream_t stream) const {
    if (op_ == "layernorm") return launch_layer_norm(type_, a_.get(), out_.get(), s_.rows, s_.cols, stream);
    if (op_ == "softmax") return launch_softmax(type_, a_.get(), out_.get(), s_.rows, s_.cols, stream);
    const VectorOp op = op_ == "add" ? VectorOp::add : op_ == "mul" ? VectorOp::mul : op_ == "relu" ? VectorOp::relu : VectorOp::gelu;
    return launch_vector(op, type_, a_.get(), b_.get(), out_.get(), s_.rows * s_.cols, stream);
  }

  std::string op_;
  ElementType type_;
  VectorShape s_;
  CudaMemory a_, b_, out_;
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

}  // namespace

Result<std::unique_ptr<PreparedOp>> prepare_vector(const OpCase& c, cudaStream_t stream) {
  TRY_ASSIGN(const ElementType type, element_type(c.dtype));
  auto op = std::make_unique<ArrayOp>(c.op, type, std::get<VectorShape>(c.shape));
  TRY(op->fill(dtype_bytes(c.dtype), stream));
  return std::unique_ptr<PreparedOp>(std::move(op));
}

Result<std::unique_ptr<PreparedOp>> prepare_copy(const OpCase& c, cudaStream_t stream) {
  const VectorShape& s = std::get<VectorShape>(c.shape);
  const std::int64_t bytes = s.rows * s.cols * dtype_bytes(c.dtype);
  const bool from_host = c.op == "copy_h2d", to_host = c.op == "copy_d2h";
  TRY_ASSIGN(CudaMemory from, from_host ? CudaMemory::pinned(bytes) : CudaMemory::device(bytes));
  TRY_ASSIGN(CudaMemory to, to_host ? CudaMemory::pinned(bytes) : CudaMemory::device(bytes));
  CUDA_TRY(cudaMemsetAsync(from_host ? to.get() : from.get(), 1, bytes, stream));
  const cudaMemcpyKind kind = from_host ? cudaMemcpyHostToDevice : to_host ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice;
  return std::unique_ptr<PreparedOp>(std::make_unique<CopyOp>(std::move(from), std::move(to), bytes, kind));
}

}  // namespace distsim::bench
