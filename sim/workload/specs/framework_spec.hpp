// FrameworkSpec: what a training framework adds to a model: host time per call, kernel choices, gradient bucketing,
// embedding exchange, input pipeline. configs/frameworks/<name>.yaml has the same sections and keys; what each key
// means is said once, in framework_schema.cpp.
#pragma once

#include <string>

#include "base/config/schema.hpp"
#include "base/units.hpp"
#include "sim/graph/op.hpp"
#include "sim/workload/specs/parallel_spec.hpp"
#include "topology/devices/fit_evidence.hpp"

namespace distsim::workload {

enum class GradientSync : std::uint8_t { ddp_buckets, fusion_buffer, one_shot, per_tensor };
enum class GradientReduction : std::uint8_t { nccl, one_shot };
enum class ConvLayout : std::uint8_t { model, nchw_in_32_bit, nchw };
enum class AttentionKernels : std::uint8_t { unfused, fused_softmax, flash };
enum class EmbeddingExchange : std::uint8_t { nccl, hierarchical, rdma };

/// bulk: collectives of the backward pass run beside the products that do not need them (Megatron-LM's asynchronous
/// all-reduce); ring: all are cut into chunks that follow each other with those of the product.
enum class TensorOverlap : std::uint8_t { none, bulk, ring };

struct FrameworkSpec {
  /// On the reference host; HostSpec::dispatch_scale scales all of them.
  struct Host {
    Duration per_op = Duration::microseconds(12);
    Duration per_op_backward = Duration::microseconds(14);
    double scale = 1;
    Duration per_launch = Duration::microseconds(5);
    Duration per_step = Duration::microseconds(100);
    bool eager = false;
    bool cuda_graph = false;
    Duration graph_launch = Duration::microseconds(20);
    bool loss_scale_sync = false;
    bool launch_blocking = false;
  };
  struct Kernels {
    double matrix = 1, memory = 1;
    bool fuse_elementwise = false;
    bool fuse_epilogue = false;
    AttentionKernels attention = AttentionKernels::unfused;
    graph::AttentionLibrary flash_library = graph::AttentionLibrary::best;
    bool fuse_gradient_accumulation = false;
    bool fuse_loss = false, chunked_loss = false;
    bool compiled = false;
    ConvLayout convolution_layout = ConvLayout::model;
    bool fused_optimizer = true;
    bool cast_weights = false;
  };
  struct Gradients {
    GradientSync sync = GradientSync::ddp_buckets;
    Bytes bucket_size = Bytes(25 * 1024 * 1024);
    Bytes first_bucket_size = Bytes(1024 * 1024);
    Duration fusion_cycle = Duration::milliseconds(1);
    bool overlap = true;
    bool half_precision = true;
    bool separate_stream = false;
    GradientReduction all_reduce = GradientReduction::nccl;
    bool each_micro_step = true;
  };
  /// Language models: what a framework does where parallel.* leaves it open.
  struct Parallel {
    StateSplit shard = StateSplit::none;
    bool gather_16_bit = true;
    bool overlap_parameters = false, overlap_pipeline = false;
    ExpertOverlap overlap_expert = ExpertOverlap::never;
    ExpertDispatch expert_dispatch = ExpertDispatch::all_to_all;
    Duration expert_host_wait;
    LoraTargets lora_targets = LoraTargets::all;
    TensorOverlap overlap_tensor = TensorOverlap::none;
    bool keep_gathered = false;
    bool fp8_parameters = false;
    bool master_weights = true;
    std::int64_t main_gradient_bytes = 4;
    Offload offloads = Offload::none;
    bool layer_by_layer = false, selective_blocks = false;
  };
  /// Language models: what a framework holds besides weights, gradients, optimizer state and activations.
  struct Memory {
    std::int64_t logit_bytes = 0;  ///< 0: as the loss's kernels suggest
    Bytes buffers{0};
    bool bf16_sums_in_fp32 = false;
    std::int64_t step_bytes = 0;
    bool keeps_narrow = true;
    bool keeps_outputs = false;
  };
  struct Embedding {
    bool table_batched = true;
    graph::SparseUpdate sparse_update = graph::SparseUpdate::fused;
    bool fused_interaction = false;
    bool hybrid = false;
    EmbeddingExchange exchange = EmbeddingExchange::nccl;
    bool overlap_exchange = true;
    bool async_mlp_wgrad = false;
    bool bottom_mlp_on_one_rank = false;
  };
  struct Input {
    Duration per_sample;
    double decode_rate = 0;      ///< samples per second and node; 0: nothing to decode
    Duration decode_per_sample;  ///< from it, by build_workload: of a rank's sample, with its share of the node
    bool overlap = true;
    bool pipeline_distribution = false;
    std::int64_t sequence_bin = 0;
  };

  std::string name;
  Host host;
  Kernels kernels;
  Gradients gradients;
  Parallel parallel;
  Memory memory;
  Embedding embedding;
  Input input;
  double uncertainty = 0.2;
  topology::FitEvidence evidence;  ///< behind host.scale and the two factors of kernels
  std::string source;
};

Schema<FrameworkSpec> framework_schema();

}  // namespace distsim::workload
