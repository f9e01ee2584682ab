// Writes the tasks of a planned iteration of a language model.
//
// A pass of a micro-batch through a chunk is one task of kernels (graph::Sequence: alike blocks are priced once and add
// up), followed by its collectives, each as one task of so many calls: what runs in turn within a block adds up to the
// same time in any order. Collectives that a block hides (Wire::hidden) start with the kernels instead, but for the part
// that cannot overlap: 1/t of what t ranks exchange in chunks.
//
// Without a pipeline alike micro-steps are one task too: all but the last, and the last. With one, the passes come in
// waves (pipeline_schedule.hpp); a stage posts what it sends and receives at the end of its turn, and goes on when both
// have arrived; with overlap_pipeline a pass waits only for messages of its own direction.
//
// Sharded data parallel (arXiv 1910.02054). optimizer, gradients: updated weights are gathered at the start of the
// iteration, where overlap_parameters is on all but the first bucket during the first forward pass; gradients are
// reduced after the last backward pass, or during it all but the last bucket; the host launches these before the kernels
// of the pass. weights, without a pipeline: each block is gathered while the one before computes, forward and backward,
// and its gradients are reduced while the next one computes: of L blocks the first gather and the last reduction are
// exposed. Without a pipeline both weights and gradients reduce in every micro-step and add what they reduced to the
// shard; frameworks that reduce in the last one only sum whole gradients until then. With a pipeline a stage keeps what
// it has gathered for the iteration. What replicas exchange never blocks the collectives of a tensor-parallel group.
//
// Iterations follow each other without a barrier: what a later pass of the iteration would wait for, the first pass of the
// next one must wait for, too. The optimizer does so, or an empty last task.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "sim/graph/pipeline_order.hpp"
#include "sim/workload/llm/llm_plan.hpp"
#include "sim/workload/llm/pipeline/pipeline_messages.hpp"

namespace distsim::workload {

/// The passes of the stages of a pipeline, in the order of the tasks that emit_llm writes for them.
graph::PipelineOrder order_of_tasks(const LlmPlan& plan);

Result<graph::TaskGraph> emit_llm(const LlmPlan& plan);

class LlmEmission {
 public:
  explicit LlmEmission(const LlmPlan& plan);
  Result<graph::TaskGraph> run();

 private:
  using Chunks = std::vector<std::int64_t>;  ///< by stage: the chunk of the model that it runs, or -1
  /// How many passes a task stands for, or which part of them.
  struct Passes {
    double all = 1, from = 0, to = 1;
    double number() const { return all * (to - from); }
    double calls(double of_each) const;  ///< whole ones: those of the parts add up to those of all
    auto operator<=>(const Passes&) const = default;
  };
  static constexpr graph::Stream kReplicaStream = graph::Stream::comm.lane(1);

  // llm_emission.cpp
  void micro_steps();
  bool infers() const;
  void forward_steps();
  void waves();
  void overlapping_waves();
  void split_waves();
  void wait_for_inputs(std::span<const StageTurn> turns, Way way);
  void send_each(std::span<const StageTurn> turns, Way way);
  graph::Collective message() const;
  void wave(std::span<const StageTurn> turns, Way way);
  void send(std::span<const StageTurn> turns, PipelineMessages::Ways ways, std::vector<TaskId>& waits);
  TaskId pass(Way way, const Chunks& chunks, const Passes& passes, const std::vector<bool>& paired = {});
  /// The tasks of a pass; those of the next one like it share their ops.
  struct Written {
    TaskId compute;
    std::vector<TaskId> hidden, exposed;  ///< collectives and copies beside it, collectives after it
  };
  Written pass_first(Way way, const Chunks& chunks, const Passes& passes, const std::vector<bool>& paired,
                     std::span<const TaskId> before);
  TaskId compute(Way way, const Chunks& chunks, double times, std::span<const TaskId> deps);
  std::vector<TaskId> exchange(Way way, const Chunks& chunks, const Passes& passes, const std::vector<bool>& paired,
                               bool hidden, std::span<const TaskId> deps);
  graph::Sequence sequence_of(Way way, std::uint32_t kind, double times);
  void input();
  void begin_after_last_iteration();
  void end(std::span<const TaskId> deps);

  // llm_offload.cpp
  struct HostTraffic {
    double to_gpu = 0, to_host = 0;
  };
  HostTraffic traffic_of(Way way, const PartWork& work) const;
  std::vector<TaskId> offload(Way way, const Chunks& chunks, double times, std::span<const TaskId> deps);
  void add_copies(std::string_view name, graph::CopyKind kind, graph::Phase phase,
                  const std::vector<std::int64_t>& bytes, std::span<const TaskId> deps, std::vector<TaskId>& out);
  void update_on_host(const std::vector<double>& parameters_of_stage, std::span<const TaskId> deps);

  // llm_replicas.cpp
  void gather_parameters(bool first_part);
  void first_parameters(std::span<const TaskId> deps);
  void reduce(const Chunks& chunks, double share, double times, std::span<const TaskId> deps);
  double hidden_gradients(const Chunks& chunks) const;
  void last_pass(Way way, const Chunks& chunks, const Chunks& complete, double times,
                 const std::vector<bool>& paired = {});
  void sharded_micro_steps(double times, bool reduces);
  void sharded_exchange(const LlmChunk& chunk, graph::CollectiveKind kind, double share, double times,
                        std::span<const TaskId> deps, std::vector<TaskId>& out);
  void sum_word_embedding();
  void sum_copies();
  double owned_parameters(const PartWork& work) const;
  void add_to_shards(double times, std::span<const TaskId> deps);
  void update();
  double hidden_share(double parameters) const;
  struct Group {
    graph::Partition partition, copies;  ///< copies: of what a shard group splits
    bool has_copies = false;
  };
  Group group_of(bool experts) const;
  void over_replicas(std::string_view name, graph::CollectiveKind kind, double bytes, double times, bool experts,
                     std::uint32_t table, std::span<const TaskId> deps, std::vector<TaskId>& out,
                     graph::Phase phase = graph::Phase::gradient_sync);

  graph::TaskGraphBuilder::Options compute_options(Way way, const graph::Dispatch& dispatch) const;
  std::uint32_t table_of(const std::vector<bool>& stages);
  std::vector<TaskId> now() const;  ///< what the next compute task waits for
  std::vector<TaskId> all() const;  ///< the same, and what the replicas exchange

  const LlmPlan& plan_;
  graph::TaskGraphBuilder graph_;
  PipelineMessages messages_;
  std::vector<TaskId> waits_;          ///< that the next compute task waits for, besides compute_
  TaskId compute_;                     ///< the latest compute task
  std::vector<TaskId> synced_;         ///< what the optimizer waits for
  std::vector<TaskId> last_backward_;  ///< what the last backward pass begins after, where there is no pipeline
  std::map<std::tuple<Way, std::uint32_t, double>, graph::Sequence> sequences_;
  std::map<std::tuple<Way, Passes, std::vector<std::uint32_t>, std::vector<bool>>, Written>
      written_;  ///< by the stages' kinds of chunks, and which of them run paired
  std::map<std::tuple<bool, std::uint32_t, std::int64_t>, TaskId>
      inputs_;  ///< messages of split_waves: by whether back, position that they go to, and micro-batch
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t>
      whole_;  ///< by stage and chunk: micro-batches whose gradients are complete
};

}  // namespace distsim::workload
