// LlmPlan: an iteration of a language model split over GPUs, before any task is written.
//
// Which rank is where: LlmPlan::grid.
//
// llm_plan.cpp divides ranks, layers and samples, llm_chunks.cpp adds up the blocks of a stage, llm_memory.cpp counts bytes,
// llm_emission.hpp writes the tasks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/workload/family.hpp"
#include "sim/workload/graph/rank_grid.hpp"
#include "sim/workload/llm/llm_work.hpp"
#include "sim/workload/llm/pipeline/pipeline_schedule.hpp"

namespace distsim::workload {

/// A chunk of consecutive blocks of one stage.
struct LlmChunk {
  PartWork work;
  std::int64_t blocks = 0;
  double largest_block = 0;  ///< weights of a rank in the largest of its units (block, embedding or head)
  double most_trained = 0;   ///< of a unit's weights, those that have gradients, at most
  double most_kept = 0;      ///< bytes that one of its blocks keeps, at most
  double most_passing = 0;   ///< bytes of activations that are there while a block or an end of the model runs, at most
};

struct LlmPlan {
  const ModelSpec& model;
  LlmSpec spec;             ///< as_batched
  FrameworkSpec framework;  ///< with what the section parallel says otherwise
  ParallelSpec parallel;    ///< with nothing left automatic
  ClusterShape cluster;
  Numerics numerics;
  std::uint32_t tensor = 1, context = 1, stages = 1, data = 1, expert = 1, expert_tensor = 1;
  RankGrid grid;
  std::uint32_t shard_group = 1;     ///< ranks that a dense weight's state is spread over
  std::int64_t micro_steps = 1;      ///< of a replica
  double offloaded_activations = 0;  ///< share that waits for the backward pass in the host's memory
  double offloaded_weights = 0;      ///< share that lives there, with its gradients
  PipelineShape pipeline;
  std::vector<LlmChunk> kinds;           ///< chunks that differ
  std::vector<std::uint32_t> kind_of;    ///< by chunk of the model: index into `kinds`
  std::vector<std::string> assumptions;  ///< what was decided for the user

  std::uint32_t ranks() const { return cluster.ranks(); }
  std::uint32_t ranks_per_stage() const { return ranks() / stages; }
  bool pipelined() const { return stages > 1; }
  std::uint32_t replicas() const { return data * context; }  ///< of a dense weight
  std::uint32_t expert_replicas() const { return ranks_per_stage() / (expert * expert_tensor); }
  bool optimizer_on_host() const { return parallel.offload == Offload::optimizer || parallel.offload == Offload::all; }
  bool splits(StateSplit what) const { return parallel.shard >= what && replicas() > 1; }
  /// Split weights are gathered for every pass. With a pipeline a stage gathers them once an iteration, and keeps them.
  bool gathers_each_pass() const { return splits(StateSplit::weights) && !pipelined(); }
  /// Gradients belong to the ranks that they are scattered to. Stages of a pipeline scatter when all micro-batches are added up.
  bool owns_gradients() const { return splits(StateSplit::gradients) && !pipelined(); }
  /// They are scattered in every micro-step and summed there, or all of them summed on each rank first.
  bool scatters_each_micro_step() const { return owns_gradients() && framework.gradients.each_micro_step; }
  bool sums_whole_gradients() const { return micro_steps > 1 && !scatters_each_micro_step(); }
  /// Without an optimizer gradients are added to those that are there.
  bool keeps_gradients() const;
  const LlmChunk& chunk(std::uint32_t index) const { return kinds[kind_of[index]]; }
  const LlmChunk& chunk_of_stage(std::uint32_t stage, std::uint32_t c) const {
    return chunk(pipeline.position(stage, c));
  }
  double tied_elements() const;  ///< of a word embedding that first and last stage have copies of
};

/// Bytes of a gathered weight.
double gathered_width(const LlmPlan& plan);

/// Weights of a rank, of those that all replicas share and of experts.
struct SharedWeights {
  double dense = 0, expert = 0;
  auto operator<=>(const SharedWeights&) const = default;
};
/// Of a stage, what its replicas gather where they split more than gradients: all weights where these are split, else what
/// is trained: frozen ones are whole everywhere.
SharedWeights gathered_weights(const LlmPlan& plan, std::uint32_t stage);

/// What a stage sends the next one of a micro-batch.
std::int64_t message_bytes(const LlmPlan& plan);

/// The model as its samples reach a GPU. Those of an encoder are padded to the full sequence, or, where the framework
/// batches by length, with bins of b tokens by b / 2 on average, and never beyond it. Errors: more predictions than tokens
/// are left.
Result<LlmSpec> as_batched(LlmSpec spec, const FrameworkSpec& framework);
/// The model with samples of an encoder as long as they are on average, before anything pads them.
LlmSpec without_padding(LlmSpec spec);
/// "model.llm.mean_tokens of 600 is above the sequence of 512: samples are taken as full", of a decoder "as one document each";
/// nothing where it is not.
std::optional<std::string> too_many_mean_tokens(const LlmSpec& spec);

/// GPUs that a matrix of an expert is split over: where the layout leaves it open (0), those of `tensor` without expert parallelism.
std::int64_t settled_expert_tensor(const ParallelSpec& layout);

/// Errors: GPUs, heads, experts or layers that the degrees do not divide; a batch that replicas and micro-batch do not
/// divide; sizes beyond int64.
Result<LlmPlan> plan_llm(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& cluster,
                         std::int64_t batch);
/// The errors of plan_llm alone, which cost far less than a plan.
Result<void> check_layout(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& cluster,
                          std::int64_t batch);

/// Errors: an EiB or more of weights, or of activations of a micro-step of `samples` out of a `batch` of all GPUs; what
/// makes so many is blamed: the model's sizes, the micro-batch or the batch.
Result<void> check_weights_and_activations(const ModelSpec& model, const LlmSpec& spec, std::int64_t samples,
                                           std::int64_t batch);

/// NVLink domains that hold the experts of a layer.
std::int64_t expert_domains(const LlmPlan& plan);

/// Of the whole model: its own operations, whatever splits, pads, masks or launches them. Of tokens that go to experts those
/// count that a capacity below 1 does not drop, of an encoder's samples the tokens before they are padded.
struct ModelFlops {
  double forward = 0;
  double repeated = 0;  ///< of these, what the backward pass computes again
};
/// Of `samples`, with `blocks` in each chunk. `parallel`: with nothing left automatic.
ModelFlops model_flops(const ModelSpec& model, const FrameworkSpec& framework, const ParallelSpec& parallel,
                       std::int64_t samples, const std::vector<std::int64_t>& blocks);
/// Of a micro-batch.
ModelFlops model_flops(const LlmPlan& plan);

/// Fills in plan.kinds and plan.kind_of: chunks with the same kinds of blocks are one. `layers`: of each chunk, in the model's
/// order.
void make_chunks(LlmPlan& plan, const std::vector<std::int64_t>& layers);

/// Where recompute states a number of blocks of each stage, how many of the first blocks of each chunk of the model are
/// computed again: they are divided among the chunks of a stage that have as many, the earlier ones have what is left over.
/// `blocks`: of each chunk. None where no number is stated.
std::vector<std::int64_t> recomputed_blocks(const ParallelSpec& parallel, const std::vector<std::int64_t>& blocks);

/// Whether a batch is cut into the micro-steps that the model states: no micro-batch and no pipeline says otherwise, and the
/// framework launches models layer by layer.
bool keeps_stated_steps(const ModelSpec& model, const FrameworkSpec& framework);

Batching batching_of(const ParallelSpec& parallel, std::uint32_t ranks);

/// Where whole gradients that the last micro-step alone scatters do not fit, each scatters its own. Gives back whether that
/// changes the plan.
bool settle_scatter(LlmPlan& plan);

/// Of a rank of each stage.
std::vector<RankMemory> memory_of_stages(const LlmPlan& plan);
/// Of every rank, or a single one where there is no pipeline.
std::vector<RankMemory> memory_of(const LlmPlan& plan);
/// Whether every rank has that much.
bool fits(const LlmPlan& plan);

}  // namespace distsim::workload
