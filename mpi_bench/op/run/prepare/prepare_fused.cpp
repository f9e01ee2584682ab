// Interaction, batch norm and optimizers on our own kernels; attention as scores, softmax and values.
#include <array>
#include <vector>

#include "mpi_bench/op/run/cuda_memory.hpp"
#include "mpi_bench/op/run/kernels/kernels.hpp"
#include "mpi_bench/op/run/prepare/prepared_op.hpp"

namespace distsim::bench {
namespace {

std::int64_t number_of(const VectorShape& shape, const std::string& name) {
  const auto number = extra_number(shape.extra, name);
  CHECK(number) << name;
  return *number;
}

Result<CudaMemory> filled(ElementType type, std::int64_t count, std::int64_t element_bytes, std::uint32_t seed,
                          cudaStream_t stream) {
  TRY_ASSIGN(CudaMemory memory, CudaMemory::device(count * element_bytes));
  CUDA_TRY(launch_fill(type, memory.get(), count, seed, stream));
  return memory;
}

class SampleOp : public PreparedOp {
 public:
  SampleOp(OpCase c, ElementType type) : c_(std::move(c)), type_(type), s_(std::get<VectorShape>(c_.shape)) {}

  Result<void> fill(cudaStream_t stream) {
    const std::int64_t count = s_.rows * s_.cols, bytes = dtype_bytes(c_.dtype);
    TRY_ASSIGN(in_, filled(type_, count, bytes, 1, stream));
    TRY_ASSIGN(out_, CudaMemory::device(2 * count *
                                        bytes));  // the triangle is below features / 2 vectors, next to the dense one
    TRY_ASSIGN(sums_, CudaMemory::device(2 * s_.cols * sizeof(float)));
    return {};
  }
  Result<void> launch(cudaStream_t stream) override {
    if (c_.op == "batchnorm")
      return cuda_checked(
          launch_batch_norm(type_, in_.get(), out_.get(), static_cast<float*>(sums_.get()), s_.rows, s_.cols, stream),
          "batchnorm");
    const int features = static_cast<int>(number_of(s_, "features")), dim = static_cast<int>(number_of(s_, "dim"));
    return cuda_checked(launch_interaction(type_, in_.get(), out_.get(), s_.rows, features, dim, stream),
                        "interaction");
  }

 private:
  OpCase c_;
  ElementType type_;
  VectorShape s_;
  CudaMemory in_, out_, sums_;
};

class OptimizerOp : public PreparedOp {
 public:
  OptimizerOp(VectorShape shape, bool adam) : s_(std::move(shape)), adam_(adam) {}

  /// Weights, gradients and both moments, each one array of all tensors, and tables of where the tensors begin.
  Result<void> fill(cudaStream_t stream) {
    const std::int64_t count = s_.rows * s_.cols;
    for (std::size_t i = 0; i < (adam_ ? 4u : 2u); ++i) {
      TRY_ASSIGN(arrays_[i],
                 filled(ElementType::fp32, count, sizeof(float), static_cast<std::uint32_t>(i + 1), stream));
      if (i == 3)
        CUDA_TRY(cudaMemsetAsync(arrays_[i].get(), 0, static_cast<std::size_t>(count) * sizeof(float),
                                 stream));  // a second moment is not negative
      std::vector<float*> starts;
      for (std::int64_t t = 0; t < s_.rows; ++t) starts.push_back(static_cast<float*>(arrays_[i].get()) + t * s_.cols);
      TRY_ASSIGN(tables_[i], CudaMemory::device(starts.size() * sizeof(float*)));
      CUDA_TRY(cudaMemcpy(tables_[i].get(), starts.data(), starts.size() * sizeof(float*), cudaMemcpyHostToDevice));
    }
    return {};
  }
  Result<void> launch(cudaStream_t stream) override {
    constexpr float kRate = 1e-6f;
    const auto table = [this](std::size_t i) { return static_cast<float* const*>(tables_[i].get()); };
    const OptimizerArrays arrays{table(0), table(1), table(2), table(3)};
    const int tensors = static_cast<int>(s_.rows);
    return cuda_checked(adam_ ? launch_adam(arrays, tensors, s_.cols, kRate, stream)
                              : launch_sgd(arrays, tensors, s_.cols, kRate, stream),
                        "optimizer");
  }

 private:
  VectorShape s_;
  bool adam_;
  std::array<CudaMemory, 4> arrays_, tables_;
};

/// Launches in turn, as a framework without a fused kernel does it. The products are those of bmm in the table.
class AttentionOp : public PreparedOp {
 public:
  explicit AttentionOp(std::vector<std::unique_ptr<PreparedOp>> steps) : steps_(std::move(steps)) {}
  Result<void> launch(cudaStream_t stream) override {
    for (const auto& step : steps_) TRY(step->launch(stream));
    return {};
  }

 private:
  std::vector<std::unique_ptr<PreparedOp>> steps_;
};

}  // namespace

Result<std::unique_ptr<PreparedOp>> prepare_fused(const OpCase& c, cudaStream_t stream) {
  if (c.op.starts_with("optimizer")) {
    auto op = std::make_unique<OptimizerOp>(std::get<VectorShape>(c.shape), c.op == "optimizer_adam");
    TRY(op->fill(stream));
    return std::unique_ptr<PreparedOp>(std::move(op));
  }
  TRY_ASSIGN(const ElementType type, element_type(c.dtype));
  auto op = std::make_unique<SampleOp>(c, type);
  TRY(op->fill(stream));
  return std::unique_ptr<PreparedOp>(std::move(op));
}

Result<std::unique_ptr<PreparedOp>> prepare_attention(const OpCase& c, const OpLibraries& libraries,
                                                      cudaStream_t stream) {
  std::vector<std::unique_ptr<PreparedOp>> steps;
  for (const OpCase& step : attention_steps(c)) {
    TRY_ASSIGN(auto prepared, std::holds_alternative<GemmShape>(step.shape) ? prepare_gemm(step, libraries, stream)
                                                                            : prepare_vector(step, stream));
    steps.push_back(std::move(prepared));
  }
  return std::unique_ptr<PreparedOp>(std::make_unique<AttentionOp>(std::move(steps)));
}

}  // namespace distsim::bench
