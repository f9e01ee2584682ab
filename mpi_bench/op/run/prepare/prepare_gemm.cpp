// GEMM by cuBLAS with its own choice of kernel. cuBLAS is column-major: a row-major C = A x B is computed as C^T = B^T
// x A^T.
#include "mpi_bench/op/run/cuda_memory.hpp"
#include "mpi_bench/op/run/kernels/kernels.hpp"
#include "mpi_bench/op/run/prepare/blas_try.hpp"
#include "mpi_bench/op/run/prepare/prepared_op.hpp"

namespace distsim::bench {
namespace {

struct GemmTypes {
  cudaDataType_t data;
  cublasComputeType_t compute;
  ElementType element;
};

Result<GemmTypes> types_of(const std::string& dtype) {
  if (dtype == "fp32") return GemmTypes{CUDA_R_32F, CUBLAS_COMPUTE_32F, ElementType::fp32};
  if (dtype == "tf32") return GemmTypes{CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, ElementType::fp32};
  if (dtype == "fp16") return GemmTypes{CUDA_R_16F, CUBLAS_COMPUTE_32F, ElementType::fp16};
  if (dtype == "bf16") return GemmTypes{CUDA_R_16BF, CUBLAS_COMPUTE_32F, ElementType::bf16};
  return Error{"found " + dtype + ", expected fp32, tf32, fp16 or bf16", "linear", ""};
}

class GemmOp : public PreparedOp {
 public:
  GemmOp(GemmShape shape, GemmTypes types, cublasHandle_t handle)
      : s_(std::move(shape)), types_(types), handle_(handle) {}

  Result<void> fill(std::int64_t element_bytes, cudaStream_t stream) {
    TRY_ASSIGN(a_, filled(s_.b * s_.m * s_.k, element_bytes, 1, stream));
    TRY_ASSIGN(b_, filled(s_.b * s_.k * s_.n, element_bytes, 2, stream));
    TRY_ASSIGN(c_, CudaMemory::device(s_.b * s_.m * s_.n * element_bytes));
    return {};
  }

  Result<void> launch(cudaStream_t) override {
    const bool a_transposed = s_.layout[0] == 'T', b_transposed = s_.layout[1] == 'T';
    const float one = 1, zero = 0;
    const auto m = static_cast<int>(s_.m), n = static_cast<int>(s_.n), k = static_cast<int>(s_.k);
    return checked(cublasGemmStridedBatchedEx(handle_, b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
                                              a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N, n, m, k, &one, b_.get(),
                                              types_.data, b_transposed ? k : n, s_.k * s_.n, a_.get(), types_.data,
                                              a_transposed ? m : k, s_.m * s_.k, &zero, c_.get(), types_.data, n,
                                              s_.m * s_.n, static_cast<int>(s_.b), types_.compute, CUBLAS_GEMM_DEFAULT),
                   "cublasGemmStridedBatchedEx");
  }

 private:
  Result<CudaMemory> filled(std::int64_t count, std::int64_t element_bytes, std::uint32_t seed,
                            cudaStream_t stream) const {
    TRY_ASSIGN(CudaMemory memory, CudaMemory::device(count * element_bytes));
    CUDA_TRY(launch_fill(types_.element, memory.get(), count, seed, stream));
    return memory;
  }

  GemmShape s_;
  GemmTypes types_;
  cublasHandle_t handle_;
  CudaMemory a_, b_, c_;
};

}  // namespace

Result<std::unique_ptr<OpLibraries>> OpLibraries::create() {
  std::unique_ptr<OpLibraries> libraries(new OpLibraries);
  TRY(checked(cublasCreate(&libraries->cublas_), "cublasCreate"));
  CUDA_TRY(cudaMalloc(&libraries->workspace_, kWorkspaceBytes));
  return libraries;
}

OpLibraries::~OpLibraries() {
  if (cublas_ != nullptr) cublasDestroy(cublas_);
  cudaFree(workspace_);
}

Result<void> OpLibraries::bind(cudaStream_t stream) const {
  TRY(checked(cublasSetStream(cublas_, stream), "cublasSetStream"));
  return checked(cublasSetWorkspace(cublas_, workspace_, kWorkspaceBytes), "cublasSetWorkspace");
}

Result<std::unique_ptr<PreparedOp>> prepare_gemm(const OpCase& c, const OpLibraries& libraries, cudaStream_t stream) {
  TRY_ASSIGN(const GemmTypes types, types_of(c.dtype));
  auto op = std::make_unique<GemmOp>(std::get<GemmShape>(c.shape), types, libraries.cublas());
  TRY(op->fill(dtype_bytes(c.dtype), stream));
  return std::unique_ptr<PreparedOp>(std::move(op));
}

}  // namespace distsim::bench
