// GEMM of 8-bit floating point (e4m3) by cuBLASLt, result in bf16: only layout NT, the only one it supports.
#include <cublasLt.h>
#include <cuda_fp8.h>

#include "mpi_bench/op/run/cuda_memory.hpp"
#include "mpi_bench/op/run/prepare/blas_try.hpp"
#include "mpi_bench/op/run/prepare/prepared_op.hpp"

namespace distsim::bench {
namespace {

/// Row-major C[m,n] = A[m,k] x B[n,k]^T, as column-major C^T = (B^T)^T x A^T.
class Fp8GemmOp : public PreparedOp {
 public:
  explicit Fp8GemmOp(GemmShape shape) : s_(std::move(shape)) {}
  ~Fp8GemmOp() override {
    if (c_layout_ != nullptr) cublasLtMatrixLayoutDestroy(c_layout_);
    if (b_layout_ != nullptr) cublasLtMatrixLayoutDestroy(b_layout_);
    if (a_layout_ != nullptr) cublasLtMatrixLayoutDestroy(a_layout_);
    if (matmul_ != nullptr) cublasLtMatmulDescDestroy(matmul_);
    if (handle_ != nullptr) cublasLtDestroy(handle_);
  }

  Result<void> prepare() {
    TRY_ASSIGN(a_, CudaMemory::device(s_.m * s_.k));
    TRY_ASSIGN(b_, CudaMemory::device(s_.n * s_.k));
    TRY_ASSIGN(c_, CudaMemory::device(s_.m * s_.n * 2));
    TRY_ASSIGN(workspace_, CudaMemory::device(kWorkspaceBytes));
    CUDA_TRY(
        cudaMemset(a_.get(), 0x35,
                   static_cast<std::size_t>(s_.m * s_.k)));  // 0.8125 and -0.6875 in e4m3: not zeros, nothing overflows
    CUDA_TRY(cudaMemset(b_.get(), 0xB3, static_cast<std::size_t>(s_.n * s_.k)));
    BLAS_TRY(cublasLtCreate(&handle_));
    BLAS_TRY(cublasLtMatmulDescCreate(&matmul_, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    const cublasOperation_t transposed = CUBLAS_OP_T, plain = CUBLAS_OP_N;
    BLAS_TRY(cublasLtMatmulDescSetAttribute(matmul_, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed));
    BLAS_TRY(cublasLtMatmulDescSetAttribute(matmul_, CUBLASLT_MATMUL_DESC_TRANSB, &plain, sizeof plain));
    const auto m = static_cast<std::uint64_t>(s_.m), n = static_cast<std::uint64_t>(s_.n),
               k = static_cast<std::uint64_t>(s_.k);
    BLAS_TRY(cublasLtMatrixLayoutCreate(&b_layout_, CUDA_R_8F_E4M3, k, n, s_.k));
    BLAS_TRY(cublasLtMatrixLayoutCreate(&a_layout_, CUDA_R_8F_E4M3, k, m, s_.k));
    BLAS_TRY(cublasLtMatrixLayoutCreate(&c_layout_, CUDA_R_16BF, n, m, s_.n));
    return choose_algorithm();
  }

  Result<void> launch(cudaStream_t stream) override {
    const float one = 1, zero = 0;
    return checked(
        cublasLtMatmul(handle_, matmul_, &one, b_.get(), b_layout_, a_.get(), a_layout_, &zero, c_.get(), c_layout_,
                       c_.get(), c_layout_, &chosen_.algo, workspace_.get(), kWorkspaceBytes, stream),
        "cublasLtMatmul");
  }

 private:
  Result<void> choose_algorithm() {
    cublasLtMatmulPreference_t preference = nullptr;
    BLAS_TRY(cublasLtMatmulPreferenceCreate(&preference));
    const std::size_t most = kWorkspaceBytes;
    int found = 0;
    Result<void> asked = checked(
        cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most, sizeof most),
        "preference");
    if (asked.ok()) {
      asked = checked(cublasLtMatmulAlgoGetHeuristic(handle_, matmul_, b_layout_, a_layout_, c_layout_, c_layout_,
                                                     preference, 1, &chosen_, &found),
                      "cublasLtMatmulAlgoGetHeuristic");
    }
    cublasLtMatmulPreferenceDestroy(preference);
    TRY(asked);
    if (found == 0) return Error{"cuBLASLt has no kernel for this shape", "fp8", ""};
    return {};
  }

  GemmShape s_;
  CudaMemory a_, b_, c_, workspace_;
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t matmul_ = nullptr;
  cublasLtMatrixLayout_t a_layout_ = nullptr, b_layout_ = nullptr, c_layout_ = nullptr;
  cublasLtMatmulHeuristicResult_t chosen_{};
};

}  // namespace

Result<std::unique_ptr<PreparedOp>> prepare_fp8_gemm(const OpCase& c, cudaStream_t) {
  auto op = std::make_unique<Fp8GemmOp>(std::get<GemmShape>(c.shape));
  TRY(op->prepare());
  return std::unique_ptr<PreparedOp>(std::move(op));
}

}  // namespace distsim::bench
