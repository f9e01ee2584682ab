#include "mpi_bench/op/run/prepared_op.hpp"

namespace distsim::bench {

Result<void> measurable(const OpCase& c, int capability) {
#ifndef DISTSIM_WITH_CUDNN
  if (c.op == "conv2d") return Error{"built without cuDNN", "conv2d", ""};
#endif
  if (c.dtype == "fp8" && capability < 89) return Error{"this GPU has no 8-bit floating-point matrix unit", "fp8", ""};
  if ((c.dtype == "tf32" || c.dtype == "bf16") && capability < 80) return Error{"this GPU has no " + c.dtype, c.dtype, ""};
  return {};
}

Result<std::unique_ptr<PreparedOp>> prepare_op(const OpCase& c, const OpLibraries& libraries, cudaStream_t stream) {
#ifdef DISTSIM_WITH_CUDNN
  if (std::holds_alternative<ConvShape>(c.shape)) return prepare_conv(c, stream);
#else
  if (std::holds_alternative<ConvShape>(c.shape)) return Error{"built without cuDNN", "conv2d", ""};
#endif
  if (std::holds_alternative<GemmShape>(c.shape)) return c.dtype == "fp8" ? prepare_fp8_gemm(c, stream) : prepare_gemm(c, libraries, stream);
  if (std::holds_alternative<EmbeddingShape>(c.shape)) return prepare_embedding(c, stream);
  if (c.op.starts_with("copy")) return prepare_copy(c, stream);
  if (c.op == "attention") return prepare_attention(c, libraries, stream);
  if (c.op == "interaction" || c.op == "batchnorm" || c.op.starts_with("optimizer")) return prepare_fused(c, stream);
  return prepare_vector(c, stream);
}

}  // namespace distsim::bench
