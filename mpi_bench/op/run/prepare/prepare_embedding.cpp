// Embedding bags on our own kernels. Several tables are one array of rows, as in a table-batched kernel.
#include "mpi_bench/op/embedding_indices.hpp"
#include "mpi_bench/op/run/cuda_memory.hpp"
#include "mpi_bench/op/run/kernels/kernels.hpp"
#include "mpi_bench/op/run/prepare/prepared_op.hpp"

namespace distsim::bench {
namespace {

class EmbeddingOp : public PreparedOp {
 public:
  EmbeddingOp(EmbeddingShape shape, ElementType type, bool backward) : s_(shape), type_(type), backward_(backward) {}

  Result<void> fill(std::int64_t element_bytes, cudaStream_t stream) {
    const std::int64_t weights = s_.tables * s_.rows_per_table * s_.dim, outputs = s_.tables * s_.batch * s_.dim;
    TRY_ASSIGN(weights_, CudaMemory::device(weights * element_bytes));
    CUDA_TRY(launch_fill(type_, weights_.get(), weights, 1, stream));
    TRY_ASSIGN(pooled_, CudaMemory::device(outputs * element_bytes));
    CUDA_TRY(launch_fill(type_, pooled_.get(), outputs, 2, stream));
    const std::vector<std::int64_t> indices = embedding_indices(s_, 1);
    TRY_ASSIGN(indices_, CudaMemory::device(indices.size() * sizeof(std::int64_t)));
    return cuda_checked(
        cudaMemcpy(indices_.get(), indices.data(), indices.size() * sizeof(std::int64_t), cudaMemcpyHostToDevice),
        "cudaMemcpy");
  }

  Result<void> launch(cudaStream_t stream) override {
    constexpr float kRate = 1e-6f;  // small, so that weights stay finite over any number of repetitions
    const auto* indices = static_cast<const std::int64_t*>(indices_.get());
    const std::int64_t bags = s_.tables * s_.batch;
    if (backward_)
      return cuda_checked(launch_embedding_backward_sgd(type_, weights_.get(), indices, pooled_.get(), kRate, bags,
                                                        s_.pooling, s_.dim, stream),
                          "embedding_bag bwd+sgd");
    return cuda_checked(
        launch_embedding_forward(type_, weights_.get(), indices, pooled_.get(), bags, s_.pooling, s_.dim, stream),
        "embedding_bag fwd");
  }

 private:
  EmbeddingShape s_;
  ElementType type_;
  bool backward_;
  CudaMemory weights_, pooled_, indices_;
};

}  // namespace

Result<std::unique_ptr<PreparedOp>> prepare_embedding(const OpCase& c, cudaStream_t stream) {
  const EmbeddingShape& s = std::get<EmbeddingShape>(c.shape);
  if (c.dtype != "fp32" && c.dtype != "fp16")
    return Error{"found " + c.dtype + ", expected fp32 or fp16", "embedding_bag", ""};
  auto op =
      std::make_unique<EmbeddingOp>(s, c.dtype == "fp32" ? ElementType::fp32 : ElementType::fp16, c.pass != "fwd");
  TRY(op->fill(dtype_bytes(c.dtype), stream));
  return std::unique_ptr<PreparedOp>(std::move(op));
}

}  // namespace distsim::bench
