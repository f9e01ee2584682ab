#include "sim/workload/specs/framework_spec.hpp"

namespace distsim::workload {
namespace {

constexpr Range kHostTime{0, 1e-2};
constexpr Range kStepTime{0, 10};
constexpr Range kBufferSize{1, 1e12};
constexpr Range kKernelScale{0.2, 5};

void add_host(Schema<FrameworkSpec>& s) {
  s.optional("host_per_op", &FrameworkSpec::host_per_op, kHostTime,
             "Host time per forward framework call, without its kernel launches.");
  s.optional("host_per_op_backward", &FrameworkSpec::host_per_op_backward, kHostTime,
             "Host time per call of the backward pass or the optimizer, without its kernel launches.");
  s.optional("host_scale", &FrameworkSpec::host_scale, kKernelScale,
             "Factor on both of these, fitted to measured iterations.");
  s.optional("host_per_launch", &FrameworkSpec::host_per_launch, kHostTime, "Host time per kernel launch.");
  s.optional("host_per_step", &FrameworkSpec::host_per_step, kStepTime,
             "Host time per iteration: loop, passing the batch, zeroing gradients.");
  s.optional("cuda_graph", &FrameworkSpec::cuda_graph,
             "The iteration is launched as one CUDA graph; host times per call do not apply.");
  s.optional("graph_launch", &FrameworkSpec::graph_launch, kStepTime, "Host time of launching that graph.");
}

void add_kernels(Schema<FrameworkSpec>& s) {
  s.optional(
      "kernels_16bit", &FrameworkSpec::kernels_16bit, kKernelScale,
      "Compute kernel time of 16-bit and 8-bit models relative to the op models; fitted jointly to many measured iterations.");
  s.optional("kernels_32bit", &FrameworkSpec::kernels_32bit, kKernelScale, "The same for fp32 and tf32.");
  s.optional("fuse_elementwise", &FrameworkSpec::fuse_elementwise,
             "Chains of elementwise operations run as one kernel (XLA, TorchScript, by hand).");
  s.optional("fuse_epilogue", &FrameworkSpec::fuse_epilogue,
             "Bias and activation run inside the matrix product's kernel.");
  s.optional("fused_interaction", &FrameworkSpec::fused_interaction, "DLRM's dot interaction is one kernel.");
  s.optional("table_batched_embedding", &FrameworkSpec::table_batched_embedding,
             "All tables of a rank are looked up in one kernel; otherwise one kernel per table.");
  s.choice("sparse_update", &FrameworkSpec::sparse_update,
           {{"fused", graph::SparseUpdate::fused},
            {"sort_dedup", graph::SparseUpdate::sort_dedup},
            {"atomic", graph::SparseUpdate::atomic}},
           "How embedding gradients are applied to the tables.");
  s.optional("flash_attention", &FrameworkSpec::flash_attention,
             "Attention is one kernel that never writes the scores to memory.");
  s.optional("fused_softmax", &FrameworkSpec::fused_softmax,
             "Scale, mask and softmax of attention scores are one kernel.");
  s.choice(
      "convolution_layout", &FrameworkSpec::convolution_layout,
      {{"model", ConvLayout::model}, {"nchw_in_32_bit", ConvLayout::nchw_in_32_bit}, {"nchw", ConvLayout::nchw}},
      "Image layout: as the model specifies, or NCHW in fp32 and tf32, or always NCHW; for tensor cores NCHW must be reordered.");
  s.optional(
      "sequence_bin", &FrameworkSpec::sequence_bin, {0, 1 << 20},
      "Samples of similar length share a batch, padded to a multiple of this many tokens; 0: every sample is padded to the full sequence.");
  s.optional("fused_optimizer", &FrameworkSpec::fused_optimizer,
             "The dense optimizer updates all tensors in a few kernels; otherwise one set of kernels per tensor.");
  s.optional(
      "cast_weights", &FrameworkSpec::cast_weights,
      "Mixed precision casts fp32 weights before use in every micro-step; otherwise the optimizer writes a 16-bit copy.");
  s.optional("loss_scale_sync", &FrameworkSpec::loss_scale_sync,
             "In fp16 the host waits for the gradients' overflow check before the optimizer.");
}

void add_gradients(Schema<FrameworkSpec>& s) {
  s.choice("gradient_sync", &FrameworkSpec::gradient_sync,
           {{"ddp_buckets", GradientSync::ddp_buckets},
            {"fusion_buffer", GradientSync::fusion_buffer},
            {"one_shot", GradientSync::one_shot},
            {"per_tensor", GradientSync::per_tensor}},
           "How gradients are grouped for the all-reduce.");
  s.optional("bucket_size", &FrameworkSpec::bucket_size, kBufferSize,
             "ddp_buckets: a bucket closes at this size. fusion_buffer: size of the buffer.");
  s.optional("first_bucket_size", &FrameworkSpec::first_bucket_size, kBufferSize,
             "ddp_buckets: the first bucket closes at this size.");
  s.optional("fusion_cycle", &FrameworkSpec::fusion_cycle, {1e-6, 1},
             "fusion_buffer: gradients that become ready within this time are reduced together.");
  s.optional("overlap_gradient_sync", &FrameworkSpec::overlap_gradient_sync,
             "The all-reduce starts while the backward pass still runs.");
  s.optional(
      "overlap_cost", &FrameworkSpec::overlap_cost, {0, 2},
      "Time that kernels lose to overlapping collectives, per second of overlapped communication: 0 for none, 1 if overlap gains nothing.");
  s.optional("transfer_overlap_cost", &FrameworkSpec::transfer_overlap_cost, {0, 2},
             "Time that collectives lose to overlapping kernels, per second of overlapped kernels: 0 for none.");
  s.optional("half_precision_gradients", &FrameworkSpec::half_precision_gradients,
             "Mixed precision sends gradients in 16 bits.");
}

void add_embedding_and_input(Schema<FrameworkSpec>& s) {
  s.optional("overlap_embedding_exchange", &FrameworkSpec::overlap_embedding_exchange,
             "The exchange of pooled vectors overlaps with the bottom MLP.");
  s.optional("pipeline_input_distribution", &FrameworkSpec::pipeline_input_distribution,
             "The ids of the next batch are exchanged during this iteration; nothing waits for them.");
  s.optional(
      "hybrid_embedding", &FrameworkSpec::hybrid_embedding,
      "One-hot tables with SGD: rows that are frequent in a batch are replicated and all-reduced, the others are split by rows over all ranks.");
  s.optional(
      "hybrid_rdma_writes", &FrameworkSpec::hybrid_rdma_writes,
      "Across nodes the hybrid embedding exchanges its rows with the framework's own RDMA writes instead of NCCL.");
  s.optional(
      "async_weight_gradients", &FrameworkSpec::async_weight_gradients,
      "Recommenders: weight gradients of the top MLP are deferred until the exchange of embedding gradients has started, and overlap with it.");
  s.optional(
      "hierarchical_exchange", &FrameworkSpec::hierarchical_exchange,
      "On several nodes: tables are assigned to nodes and split over their GPUs; vectors are exchanged within the node first, then along rails.");
  s.optional("bottom_mlp_on_one_rank", &FrameworkSpec::bottom_mlp_on_one_rank,
             "With more than 4 ranks, rank 0 runs the bottom MLP for the whole batch and holds no tables.");
  s.optional("separate_comm_streams", &FrameworkSpec::separate_comm_streams,
             "All-to-all and all-reduce run on separate streams.");
  s.optional("input_per_sample", &FrameworkSpec::input_per_sample, {0, 1},
             "Host time per sample of the input pipeline; 0: hidden.");
  s.optional("overlap_input", &FrameworkSpec::overlap_input,
             "The next batch is prepared and copied while this one is computed.");
}

}  // namespace

Schema<FrameworkSpec> framework_schema() {
  Schema<FrameworkSpec> s("framework",
                          "A training framework: host time per call, fusion, gradient bucketing, overlap.");
  s.optional("name", &FrameworkSpec::name, "Name in reports.");
  add_host(s);
  add_kernels(s);
  add_gradients(s);
  add_embedding_and_input(s);
  s.optional(
      "uncertainty", &FrameworkSpec::uncertainty, {0, 1},
      "Half-width of [low, high], relative to the iteration, for what a profile cannot know: kernel versions, host, input pipeline.");
  s.optional("source", &FrameworkSpec::source, "Where the figures come from.");
  return s;
}

}  // namespace distsim::workload
