// An op with its operands in place, ready to be launched again and again.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <memory>

#include "base/result.hpp"
#include "mpi_bench/op/op_case.hpp"
#include "mpi_bench/op/run/kernels/kernels.hpp"

namespace distsim::bench {

class PreparedOp {
 public:
  virtual ~PreparedOp() = default;
  /// Asynchronous on `stream`; may be captured into a CUDA graph.
  virtual Result<void> launch(cudaStream_t stream) = 0;
};

/// What ops share: a cuBLAS handle with a workspace of its own, as a CUDA graph wants it.
class OpLibraries {
 public:
  static Result<std::unique_ptr<OpLibraries>> create();
  ~OpLibraries();
  OpLibraries(const OpLibraries&) = delete;
  cublasHandle_t cublas() const { return cublas_; }
  Result<void> bind(cudaStream_t stream) const;

 private:
  OpLibraries() = default;
  cublasHandle_t cublas_ = nullptr;
  void* workspace_ = nullptr;
};

/// The type of our kernels; errors for what they do not have.
Result<ElementType> element_type(const std::string& dtype);

/// Why this build or this machine cannot measure the case (no cuDNN, no 8-bit matrix unit, one GPU), or success.
/// `capability` is 90 for compute capability 9.0, `devices` the number of GPUs.
Result<void> measurable(const OpCase& op_case, int capability, int devices);

/// Allocates and fills the operands. Errors: no memory, or an op or dtype that is not measured.
Result<std::unique_ptr<PreparedOp>> prepare_op(const OpCase& op_case, const OpLibraries& libraries,
                                               cudaStream_t stream);

Result<std::unique_ptr<PreparedOp>> prepare_gemm(const OpCase& op_case, const OpLibraries& libraries,
                                                 cudaStream_t stream);
Result<std::unique_ptr<PreparedOp>> prepare_fp8_gemm(const OpCase& op_case, cudaStream_t stream);
Result<std::unique_ptr<PreparedOp>> prepare_attention(const OpCase& op_case, const OpLibraries& libraries,
                                                      cudaStream_t stream);
Result<std::unique_ptr<PreparedOp>> prepare_fused(const OpCase& op_case,
                                                  cudaStream_t stream);  ///< interaction, batchnorm, optimizers
#ifdef DISTSIM_WITH_CUDNN
Result<std::unique_ptr<PreparedOp>> prepare_conv(const OpCase& op_case, cudaStream_t stream);
Result<std::unique_ptr<PreparedOp>> prepare_recurrent(const OpCase& op_case, cudaStream_t stream);
bool has_flash_attention();  ///< of this build's cuDNN
Result<std::unique_ptr<PreparedOp>> prepare_flash_attention(const OpCase& op_case, cudaStream_t stream);
#endif
Result<std::unique_ptr<PreparedOp>> prepare_vector(const OpCase& op_case, cudaStream_t stream);
Result<std::unique_ptr<PreparedOp>> prepare_copy(const OpCase& op_case, cudaStream_t stream);
Result<std::unique_ptr<PreparedOp>> prepare_embedding(const OpCase& op_case, cudaStream_t stream);

}  // namespace distsim::bench
