// FrameworkSpec: what a training framework adds to a model: host time per call, fusion, gradient bucketing, overlap.
// configs/frameworks/<name>.yaml.
#pragma once

#include <string>

#include "base/config/schema.hpp"
#include "base/units.hpp"
#include "sim/graph/op.hpp"

namespace distsim::workload {

enum class GradientSync : std::uint8_t {
  ddp_buckets,    ///< PyTorch DDP: buckets in reverse order of registration, first bucket small
  fusion_buffer,  ///< Horovod: tensors ready within a cycle are fused up to a buffer size
  one_shot,       ///< one all-reduce of everything after backward
  per_tensor
};

/// Where a framework keeps activations as N, C, H, W, which tensor cores do not read as it is, though the model would
/// allow N, H, W, C.
enum class ConvLayout : std::uint8_t { model, nchw_in_32_bit, nchw };

struct FrameworkSpec {
  std::string name;
  // Host side, on the reference host. Scaled by HostSpec::dispatch_scale.
  Duration host_per_op =
      Duration::nanoseconds(12'000);  ///< one framework call of the forward pass, without its launches (T1+T2+T3)
  Duration host_per_op_backward = Duration::nanoseconds(14'000);  ///< the same in the backward pass and optimizer
  double host_scale = 1;                                          ///< on both of these, fitted on measured iterations
  Duration host_per_launch = Duration::nanoseconds(5'000);        ///< one kernel launch (T4+T5)
  Duration host_per_step =
      Duration::nanoseconds(100'000);  ///< once an iteration: loop, data loader hand-over, zero_grad
  bool cuda_graph = false;             ///< the iteration is one graph launch; per-op host times do not apply
  Duration graph_launch = Duration::nanoseconds(20'000);
  // Kernels.
  double kernels_16bit = 1;  ///< time of compute kernels in models of 16 or 8 bits over that of the op models: what a
                             ///< framework's versions of kernels cost
  double kernels_32bit = 1;  ///< the same in fp32 and tf32
  bool fuse_elementwise = false;  ///< compiler fuses chains of elementwise ops (XLA, TorchScript, hand-fused)
  bool fuse_epilogue = false;     ///< bias and activation inside the GEMM
  bool fused_interaction = false;
  bool table_batched_embedding = true;
  graph::SparseUpdate sparse_update = graph::SparseUpdate::fused;
  bool flash_attention = false;
  bool fused_softmax = false;  ///< scale, mask and softmax of attention scores in one kernel (Megatron-LM)
  ConvLayout convolution_layout = ConvLayout::model;
  std::int64_t sequence_bin = 0;  ///< samples of like length share a batch, padded to a multiple of this many tokens;
                                  ///< 0: all padded to the full length
  bool fused_optimizer = true;    ///< multi-tensor kernels; else one set per tensor
  // Gradient synchronisation.
  GradientSync gradient_sync = GradientSync::ddp_buckets;
  Bytes bucket_size = Bytes(25 * 1024 * 1024);
  Bytes first_bucket_size = Bytes(1024 * 1024);
  Duration fusion_cycle = Duration::nanoseconds(1'000'000);  ///< Horovod cycle time
  bool overlap_gradient_sync = true;
  double overlap_cost =
      0.5;  ///< what kernels lose to overlapping collectives (SMs, memory bandwidth), per second of hidden transfer
  double transfer_overlap_cost = 0;      ///< what collectives lose to overlapping kernels, per second of kernels
  bool half_precision_gradients = true;  ///< in mixed precision gradients travel as 16 bit
  // Mixed precision.
  bool cast_weights = false;  ///< fp32 weights are cast before use in every micro-step (autocast); else the optimizer
                              ///< writes a 16-bit copy
  bool loss_scale_sync = false;  ///< fp16: the host waits for the overflow check of the gradients before the optimizer
  // Embedding exchange.
  bool overlap_embedding_exchange = true;    ///< forward all-to-all overlaps with the bottom MLP
  bool pipeline_input_distribution = false;  ///< the ids of the next batch are exchanged during this iteration
  bool hybrid_embedding = false;  ///< one-hot tables with SGD: frequent rows replicated, the others split by rows
  bool hybrid_rdma_writes =
      false;  ///< the hybrid embedding's exchange across nodes is RDMA writes of its own instead of NCCL
  bool async_weight_gradients =
      false;  ///< recommenders: weight gradients overlap with the exchange of embedding gradients
  bool hierarchical_exchange = false;  ///< several nodes: NVLink first, then between GPUs of one rail
  bool bottom_mlp_on_one_rank =
      false;  ///< more than 4 ranks: rank 0 runs the bottom MLP of the whole batch and has no tables
  bool separate_comm_streams = false;  ///< all-to-all and all-reduce on streams of their own
  // Input.
  Duration input_per_sample =
      Duration::nanoseconds(0);  ///< host time a sample where the pipeline does not keep up; 0: hidden
  bool overlap_input = true;
  double uncertainty =
      0.2;  ///< half-width of [low, high], over the iteration, that comes from what this profile cannot know
  std::string source;
};

Schema<FrameworkSpec> framework_schema();

}  // namespace distsim::workload
