#include "sim/workload/specs/framework_spec.hpp"

namespace distsim::workload {
namespace {

using Host = FrameworkSpec::Host;
using Kernels = FrameworkSpec::Kernels;
using Gradients = FrameworkSpec::Gradients;
using Embedding = FrameworkSpec::Embedding;
using Input = FrameworkSpec::Input;
using Memory = FrameworkSpec::Memory;

constexpr Range kCallTime{0, 1e-2};
constexpr Range kStepTime{0, 10};
constexpr Range kBufferSize{1, 1e12};
constexpr Range kScale{0.2, 5};

constexpr std::string_view kByBound =
    "kernels.matrix scales kernels that matrix units bound, kernels.memory the others";
constexpr std::string_view kOverlap =
    "what overlap costs follows from the channels that a collective holds and the memory bandwidth that it takes";
constexpr MovedKey kMovedOfKernels[] = {
    {"scale_16bit", "matrix", kByBound},
    {"scale_32bit", "matrix", kByBound},
    {"overlap_cost", "", kOverlap},
    {"transfer_overlap_cost", "", kOverlap},
};

/// Keys of profiles written before the sections below, and where each is now.
constexpr MovedKey kMoved[] = {
    {"host_per_op", "host.per_op"},
    {"host_per_op_backward", "host.per_op_backward"},
    {"host_scale", "host.scale"},
    {"host_per_launch", "host.per_launch"},
    {"host_per_step", "host.per_step"},
    {"cuda_graph", "host.cuda_graph"},
    {"graph_launch", "host.graph_launch"},
    {"loss_scale_sync", "host.loss_scale_sync"},
    {"kernels_16bit", "kernels.matrix", kByBound},
    {"kernels_32bit", "kernels.matrix", kByBound},
    {"fuse_elementwise", "kernels.fuse_elementwise"},
    {"fuse_epilogue", "kernels.fuse_epilogue"},
    {"flash_attention", "kernels.attention", "attention: flash"},
    {"fused_softmax", "kernels.attention", "attention: fused_softmax"},
    {"convolution_layout", "kernels.convolution_layout"},
    {"fused_optimizer", "kernels.fused_optimizer"},
    {"cast_weights", "kernels.cast_weights"},
    {"overlap_cost", "", kOverlap},
    {"transfer_overlap_cost", "", kOverlap},
    {"gradient_sync", "gradients.sync"},
    {"bucket_size", "gradients.bucket_size"},
    {"first_bucket_size", "gradients.first_bucket_size"},
    {"fusion_cycle", "gradients.fusion_cycle"},
    {"overlap_gradient_sync", "gradients.overlap"},
    {"half_precision_gradients", "gradients.half_precision"},
    {"separate_comm_streams", "gradients.separate_stream"},
    {"table_batched_embedding", "embedding.table_batched"},
    {"sparse_update", "embedding.sparse_update"},
    {"fused_interaction", "embedding.fused_interaction"},
    {"hybrid_embedding", "embedding.hybrid"},
    {"hierarchical_exchange", "embedding.exchange", "exchange: hierarchical"},
    {"hybrid_rdma_writes", "embedding.exchange", "exchange: rdma"},
    {"overlap_embedding_exchange", "embedding.overlap_exchange"},
    {"async_weight_gradients", "embedding.async_mlp_wgrad"},
    {"bottom_mlp_on_one_rank", "embedding.bottom_mlp_on_one_rank"},
    {"input_per_sample", "input.per_sample"},
    {"overlap_input", "input.overlap"},
    {"pipeline_input_distribution", "input.pipeline_distribution"},
    {"sequence_bin", "input.sequence_bin"},
};

Schema<Host> host_schema() {
  Schema<Host> s("host", "Time that the host spends on the framework's calls.");
  s.optional("per_op", &Host::per_op, kCallTime, "Time per forward framework call, without its kernel launches.");
  s.optional("per_op_backward", &Host::per_op_backward, kCallTime,
             "Time per call of the backward pass or the optimizer, without its kernel launches.");
  s.optional("scale", &Host::scale, kScale, "Factor on both of these, fitted to measured iterations.");
  s.optional("per_launch", &Host::per_launch, kCallTime, "Time per kernel launch.");
  s.optional("per_step", &Host::per_step, kStepTime, "Time per iteration: loop, passing the batch, zeroing gradients.");
  s.optional("eager", &Host::eager,
             "The host calls every operator: views and other calls without kernels take host time too.");
  s.optional("cuda_graph", &Host::cuda_graph,
             "The iteration is launched as one CUDA graph; times per call and launch do not apply.");
  s.optional("graph_launch", &Host::graph_launch, kStepTime, "Time of launching that graph.");
  s.optional("loss_scale_sync", &Host::loss_scale_sync,
             "In fp16 the host waits for the gradients' overflow check before the optimizer.");
  s.optional("launch_blocking", &Host::launch_blocking,
             "CUDA_LAUNCH_BLOCKING=1: each launch returns when its kernel has ended, so that neither launches nor "
             "communication overlap with kernels. Not with cuda_graph.");
  return s;
}

Schema<Kernels> kernel_schema() {
  Schema<Kernels> s("kernels", "Which kernels the framework runs, and how long they take.");
  s.optional("matrix", &Kernels::matrix, kScale,
             "Time of kernels bound by matrix products relative to the op models; fitted to measured iterations.");
  s.optional("memory", &Kernels::memory, kScale, "The same for kernels bound by memory or the plain lanes.");
  s.optional("fuse_elementwise", &Kernels::fuse_elementwise,
             "Chains of elementwise operations run as one kernel (XLA, TorchScript, by hand).");
  s.optional("fuse_epilogue", &Kernels::fuse_epilogue, "Bias and activation run inside the matrix product's kernel.");
  s.choice(
      "attention", &Kernels::attention,
      {{"unfused", AttentionKernels::unfused},
       {"fused_softmax", AttentionKernels::fused_softmax},
       {"flash", AttentionKernels::flash}},
      "Attention: separate kernels; or scale, mask and softmax as one kernel (Megatron-LM); or one kernel that never writes the scores to memory (16 bits only).");
  s.choice(
      "flash_library", &Kernels::flash_library,
      {{"best", graph::AttentionLibrary::best},
       {"flash1", graph::AttentionLibrary::flash1},
       {"flash2", graph::AttentionLibrary::flash2},
       {"flash3", graph::AttentionLibrary::flash3},
       {"flash4", graph::AttentionLibrary::flash4},
       {"cudnn", graph::AttentionLibrary::cudnn}},
      "attention: flash: whose kernels: FlashAttention 1 to 4 or cuDNN's; best: cuDNN's on Hopper and Blackwell, else FlashAttention 2, or 1 on Turing.");
  s.optional("fuse_gradient_accumulation", &Kernels::fuse_gradient_accumulation,
             "Language models: products of weight gradients add to fp32 gradients themselves.");
  s.optional(
      "fuse_loss", &Kernels::fuse_loss,
      "Language models: cross-entropy in one kernel each way; otherwise logits are cast to fp32, and softmax and loss are separate.");
  s.optional("chunked_loss", &Kernels::chunked_loss,
             "Language models: logits are made chunk by chunk and not kept (Liger kernels).");
  s.optional("compiled", &Kernels::compiled,
             "Language models: norms, casts and elementwise chains are fused by a compiler (torch.compile, XLA).");
  s.choice(
      "convolution_layout", &Kernels::convolution_layout,
      {{"model", ConvLayout::model}, {"nchw_in_32_bit", ConvLayout::nchw_in_32_bit}, {"nchw", ConvLayout::nchw}},
      "Image layout: as the model specifies, or NCHW in fp32 and tf32, or always NCHW; for tensor cores NCHW must be reordered.");
  s.optional("fused_optimizer", &Kernels::fused_optimizer,
             "The dense optimizer updates all tensors in a few kernels; otherwise one set of kernels per tensor.");
  s.optional(
      "cast_weights", &Kernels::cast_weights,
      "Mixed precision casts fp32 weights before use in every micro-step; otherwise the optimizer writes a 16-bit copy.");
  s.moved(kMovedOfKernels);
  return s;
}

Schema<Gradients> gradient_schema() {
  Schema<Gradients> s("gradients", "How dense gradients are all-reduced.");
  s.choice(
      "sync", &Gradients::sync,
      {{"ddp_buckets", GradientSync::ddp_buckets},
       {"fusion_buffer", GradientSync::fusion_buffer},
       {"one_shot", GradientSync::one_shot},
       {"per_tensor", GradientSync::per_tensor}},
      "How gradients are grouped: buckets in reverse order of registration, the first one small (PyTorch DDP); tensors that become ready within a cycle fused up to a buffer size (Horovod); all in one; each tensor by itself.");
  s.optional("bucket_size", &Gradients::bucket_size, kBufferSize,
             "ddp_buckets: a bucket closes at this size. fusion_buffer: size of the buffer.");
  s.optional("first_bucket_size", &Gradients::first_bucket_size, kBufferSize,
             "ddp_buckets: the first bucket closes at this size.");
  s.optional("fusion_cycle", &Gradients::fusion_cycle, {1e-6, 1},
             "fusion_buffer: gradients that become ready within this time are reduced together.");
  s.choice(
      "all_reduce", &Gradients::all_reduce,
      {{"nccl", GradientReduction::nccl}, {"one_shot", GradientReduction::one_shot}},
      "Who sums them: NCCL; or one kernel of the framework over NVSwitch, across nodes with SHARP and GPUDirect (HugeCTR), NCCL where the cluster has not all of these. collectives.all_reduce overrides it.");
  s.optional("overlap", &Gradients::overlap, "The all-reduce starts while the backward pass still runs.");
  s.optional("half_precision", &Gradients::half_precision, "Mixed precision sends gradients in 16 bits.");
  s.optional(
      "each_micro_step", &Gradients::each_micro_step,
      "shard: weights: gradients are scattered in every micro-step and summed in their shard; otherwise whole ones are summed on each GPU until the last (no_sync).");
  s.optional("separate_stream", &Gradients::separate_stream,
             "Gradients are reduced on a stream of their own; otherwise on that of the embedding exchange.");
  return s;
}

Schema<FrameworkSpec::Parallel> framework_parallel_schema() {
  using Parallel = FrameworkSpec::Parallel;
  Schema<Parallel> s("parallel", "Language models: what the framework does where the section parallel leaves it open.");
  s.choice("shard", &Parallel::shard,
           {{"none", StateSplit::none},
            {"optimizer", StateSplit::optimizer},
            {"gradients", StateSplit::gradients},
            {"weights", StateSplit::weights}},
           "What it splits over data-parallel GPUs.");
  s.optional("gather_16_bit", &Parallel::gather_16_bit, "Split weights are gathered in 16 bits; otherwise in 32.");
  s.optional("overlap_parameters", &Parallel::overlap_parameters,
             "shard: optimizer: updated weights are gathered during the next forward pass.");
  s.choice(
      "overlap_tensor", &Parallel::overlap_tensor,
      {{"none", TensorOverlap::none}, {"bulk", TensorOverlap::bulk}, {"ring", TensorOverlap::ring}},
      "Collectives of tensor parallelism: in turn with products; bulk: those of the backward pass beside products that do not need them; ring: all, in chunks.");
  s.choice(
      "overlap_expert", &Parallel::overlap_expert,
      {{"false", ExpertOverlap::never},
       {"between_nodes", ExpertOverlap::between_nodes},
       {"true", ExpertOverlap::always}},
      "All-to-alls of experts overlap with the computation of another micro-batch; between_nodes: where experts are spread over several NVLink domains.");
  s.choice(
      "expert_dispatch", &Parallel::expert_dispatch,
      {{"all_to_all", ExpertDispatch::all_to_all}, {"deepep", ExpertDispatch::deepep}},
      "How tokens reach experts: a copy for each expert; or one for each NVLink domain that has some of them, which hands it on (DeepEP).");
  s.optional(
      "expert_host_wait", &Parallel::expert_host_wait, kCallTime,
      "Time that the GPU waits for the host in each pass of an expert layer, because numbers of tokens are copied to the host before the experts' kernels are launched; not with a capacity or one CUDA graph.");
  s.choice("lora_targets", &Parallel::lora_targets,
           {{"all", LoraTargets::all}, {"attention", LoraTargets::attention}, {"qkv", LoraTargets::qkv}},
           "Linear layers that low-rank adapters are added to.");
  s.optional("overlap_pipeline", &Parallel::overlap_pipeline,
             "Messages between pipeline stages overlap with computation, where the schedule is interleaved.");
  s.optional("keep_gathered", &Parallel::keep_gathered,
             "shard: weights: weights gathered for the forward pass are kept for the backward pass.");
  s.optional("fp8_parameters", &Parallel::fp8_parameters,
             "With fp8 products weights are stored and gathered in 8 bits.");
  s.optional(
      "master_weights", &Parallel::master_weights,
      "16-bit weights have fp32 copies, which the optimizer updates; false: it updates the 16-bit weights themselves, and its state takes half the memory.");
  s.optional("main_gradient_bytes", &Parallel::main_gradient_bytes, {0, 4},
             "Bytes of a gradient in which micro-steps are summed, besides the 16-bit one; 0: there is only that one.");
  s.choice(
      "offloads", &Parallel::offloads,
      {{"none", Offload::none}, {"optimizer", Offload::optimizer}, {"activations", Offload::activations}},
      "What is moved first to the host's memory where a job does not fit and parallel.offload is left open; more follows where that does not suffice.");
  s.optional(
      "layer_by_layer", &Parallel::layer_by_layer,
      "Dense models with attention to all tokens, layer norms, biases, a table of positions and tied embeddings (BERT, GPT-2) that are not split are launched and reduced layer by layer; otherwise the kernels of a micro-step are counted together.");
  s.optional("selective_blocks", &Parallel::selective_blocks,
             "parallel.recompute: selective is of whole blocks, as few as fit, instead of attention's scores.");
  return s;
}

Schema<Memory> framework_memory_schema() {
  Schema<Memory> s(
      "memory",
      "Language models: what the framework holds on a GPU besides weights, gradients, optimizer state and activations.");
  s.optional(
      "logit_bytes", &Memory::logit_bytes, {0, 64},
      "Bytes of a logit, its softmax and its gradient while the loss runs backward; 0: 4 with fuse_loss or compiled (16 bits each), otherwise 12 (log-softmax and two gradients in fp32, as in PyTorch's cross_entropy).");
  s.optional("buffers", &Memory::buffers, {0, 1e12}, "Buckets for collectives that are allocated once.");
  s.optional(
      "bf16_sums_in_fp32", &Memory::bf16_sums_in_fp32,
      "With bf16 and a pipeline every rank also holds a sum of all its gradients in fp32, whatever is split (DeepSpeed's BF16_Optimizer).");
  s.optional(
      "step_bytes", &Memory::step_bytes, {0, 64},
      "Bytes that the optimizer's step takes for a parameter of a rank's share, when activations are gone: copies, and temporaries of an optimizer that is not fused.");
  s.optional(
      "keeps_narrow", &Memory::keeps_narrow,
      "Products of 8 or 4 bits keep their inputs in 8 bits for the backward pass; otherwise in 16, and cast them again.");
  s.optional("keeps_outputs", &Memory::keeps_outputs,
             "Pipeline: a stage keeps the output that it has sent until the gradient of it arrives.");
  return s;
}

Schema<Embedding> embedding_schema() {
  Schema<Embedding> s("embedding", "Recommenders: embedding tables, their exchange and what overlaps with it.");
  s.optional("table_batched", &Embedding::table_batched,
             "All tables of a rank are looked up in one kernel; otherwise one kernel per table.");
  s.choice(
      "sparse_update", &Embedding::sparse_update,
      {{"fused", graph::SparseUpdate::fused},
       {"sort_dedup", graph::SparseUpdate::sort_dedup},
       {"atomic", graph::SparseUpdate::atomic},
       {"block_per_row", graph::SparseUpdate::block_per_row}},
      "Kernels that apply embedding gradients. fused: sorted by row, summed and updated by one kernel (FBGEMM); sort_dedup: TensorFlow's unique, unsorted_segment_sum and sparse optimizer; atomic: each gradient is added to its row; block_per_row: sorted by row, a thread block sums and updates each distinct row (HugeCTR's hash tables).");
  s.optional("fused_interaction", &Embedding::fused_interaction, "DLRM's dot interaction is one kernel.");
  s.optional(
      "hybrid", &Embedding::hybrid,
      "One-hot tables with SGD: rows that are frequent in a batch are replicated and all-reduced, the others are split by rows over all ranks.");
  s.choice(
      "exchange", &Embedding::exchange,
      {{"nccl", EmbeddingExchange::nccl},
       {"hierarchical", EmbeddingExchange::hierarchical},
       {"rdma", EmbeddingExchange::rdma}},
      "Exchange of pooled vectors on several nodes: NCCL between all pairs; hierarchical: tables are assigned to nodes and split over their GPUs, vectors are exchanged within the node first, then along rails; rdma: hierarchical, and the rows of a hybrid embedding go across nodes by the framework's own RDMA writes.");
  s.optional("overlap_exchange", &Embedding::overlap_exchange,
             "The exchange of pooled vectors overlaps with the bottom MLP.");
  s.optional(
      "async_mlp_wgrad", &Embedding::async_mlp_wgrad,
      "Weight gradients of the top MLP are deferred until the exchange of embedding gradients has started, and overlap with it; their all_reduce then starts later.");
  s.optional(
      "bottom_mlp_on_one_rank", &Embedding::bottom_mlp_on_one_rank,
      "With more than 4 ranks, rank 0 runs the bottom MLP for the whole batch and holds no tables; not with a hybrid embedding, whose rows are on all ranks.");
  return s;
}

Schema<Input> input_schema() {
  Schema<Input> s("input", "The input pipeline.");
  s.optional("per_sample", &Input::per_sample, {0, 1}, "Host time per sample; 0: hidden.");
  s.optional(
      "decode_rate", &Input::decode_rate, {0, 1e12},
      "Samples that the CPU cores of a node decode in a second, for all its GPUs together, in processes of their "
      "own that run ahead; 0: no limit.");
  s.optional("overlap", &Input::overlap, "The next batch is prepared and copied while this one is computed.");
  s.optional("pipeline_distribution", &Input::pipeline_distribution,
             "Recommenders: the ids of the next batch are exchanged during this iteration; nothing waits for them.");
  s.optional(
      "sequence_bin", &Input::sequence_bin, {0, 1 << 20},
      "Samples of similar length share a batch, padded to a multiple of this many tokens; 0: every sample is padded to the full sequence.");
  return s;
}

}  // namespace

Schema<FrameworkSpec> framework_schema() {
  Schema<FrameworkSpec> s(
      "framework", "A training framework: host time, kernels, gradient bucketing, embedding exchange, input pipeline.");
  s.optional("name", &FrameworkSpec::name, "Name in reports.");
  s.nested("host", &FrameworkSpec::host, host_schema());
  s.nested("kernels", &FrameworkSpec::kernels, kernel_schema());
  s.nested("gradients", &FrameworkSpec::gradients, gradient_schema());
  s.nested("parallel", &FrameworkSpec::parallel, framework_parallel_schema());
  s.nested("memory", &FrameworkSpec::memory, framework_memory_schema());
  s.nested("embedding", &FrameworkSpec::embedding, embedding_schema());
  s.nested("input", &FrameworkSpec::input, input_schema());
  s.optional(
      "uncertainty", &FrameworkSpec::uncertainty, {0, 1},
      "Half-width of [low, high], relative to the iteration, for what a profile cannot know: kernel versions, host, input pipeline.");
  s.nested("evidence", &FrameworkSpec::evidence, topology::fit_evidence_schema());
  s.optional("source", &FrameworkSpec::source, "Where the figures come from.");
  s.moved(kMoved);
  return s;
}

}  // namespace distsim::workload
