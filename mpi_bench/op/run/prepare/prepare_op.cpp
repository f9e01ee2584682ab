#include "mpi_bench/op/run/prepare/prepared_op.hpp"

namespace distsim::bench {
namespace {

/// What cuDNN does, and this build may lack.
Result<void> in_this_build(const OpCase& c) {
#ifdef DISTSIM_WITH_CUDNN
  if (c.op == "flash_attention" && !has_flash_attention()) return Error{"built with a cuDNN older than 9.19", c.op, ""};
#else
  const bool needs = c.op == "conv2d" || c.op == "flash_attention" || c.op == "lstm" || c.op == "gru";
  if (needs) return Error{"built without cuDNN", c.op, ""};
#endif
  return {};
}

}  // namespace

Result<ElementType> element_type(const std::string& dtype) {
  if (dtype == "fp32") return ElementType::fp32;
  if (dtype == "fp16") return ElementType::fp16;
  if (dtype == "bf16") return ElementType::bf16;
  return Error{"found " + dtype + ", expected fp32, fp16 or bf16", "dtype", ""};
}

Result<void> measurable(const OpCase& c, int capability, int devices) {
  TRY(in_this_build(c));
  if (c.dtype == "fp8" && capability < 89) return Error{"this GPU has no 8-bit floating-point matrix unit", "fp8", ""};
  if ((c.dtype == "tf32" || c.dtype == "bf16") && capability < 80)
    return Error{"this GPU has no " + c.dtype, c.dtype, ""};
  if (c.op == "flash_attention" && capability < 80)
    return Error{"this GPU is too old for cuDNN's flash attention", c.op, ""};
  if (c.op == "copy_p2p" && devices < 2) return Error{"found one GPU, expected two", c.op, ""};
  return {};
}

Result<std::unique_ptr<PreparedOp>> prepare_op(const OpCase& c, const OpLibraries& libraries, cudaStream_t stream) {
  TRY(in_this_build(c));
#ifdef DISTSIM_WITH_CUDNN
  if (std::holds_alternative<ConvShape>(c.shape)) return prepare_conv(c, stream);
  if (std::holds_alternative<RecurrentShape>(c.shape)) return prepare_recurrent(c, stream);
  if (c.op == "flash_attention") return prepare_flash_attention(c, stream);
#endif
  if (std::holds_alternative<GemmShape>(c.shape))
    return c.dtype == "fp8" ? prepare_fp8_gemm(c, stream) : prepare_gemm(c, libraries, stream);
  if (std::holds_alternative<EmbeddingShape>(c.shape)) return prepare_embedding(c, stream);
  if (c.op.starts_with("copy")) return prepare_copy(c, stream);
  if (c.op == "attention") return prepare_attention(c, libraries, stream);
  if (c.op == "interaction" || c.op == "batchnorm" || c.op.starts_with("optimizer")) return prepare_fused(c, stream);
  return prepare_vector(c, stream);
}

}  // namespace distsim::bench
