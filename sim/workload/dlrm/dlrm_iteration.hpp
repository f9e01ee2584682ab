// A hybrid-parallel recommender iteration: tables belong to ranks, everything else is replicated. One micro-step:
//   copy     input copy
//   comm     ids to owners .......... pooled vectors ...................... gradients of pooled vectors, buckets of
//   dense gradients compute  lookups of owned tables, bottom MLP, interaction, top MLP, loss, backward in reverse,
//   update of tables, dense optimizer
//
// dlrm.cpp has the order of a step, dlrm_lookups.cpp what happens on tables, dlrm_exchange.cpp how vectors travel,
// dlrm_memory.cpp what it all takes.
#pragma once

#include <optional>

#include "sim/workload/dlrm/dlrm_layers.hpp"
#include "sim/workload/dlrm/embedding_ops.hpp"
#include "sim/workload/dlrm/hybrid_embedding.hpp"
#include "sim/workload/graph/exchange.hpp"
#include "sim/workload/graph/gradient_sync.hpp"
#include "sim/workload/graph/input.hpp"
#include "sim/workload/graph/memory.hpp"
#include "sim/workload/registry.hpp"

namespace distsim::workload {

/// Samples to the nearest whole one, bytes and picoseconds likewise.
inline std::int64_t rounded(double x) { return static_cast<std::int64_t>(x + 0.5); }

class DlrmIteration {
 public:
  DlrmIteration(const ModelSpec& model, const FrameworkSpec& framework, const SamplePlan& samples,
                const DlrmShape& shape)
      : model_(model),
        spec_(model.dlrm),
        shape_(shape),
        samples_(samples),
        it_(samples.ranks, framework, numerics_of(model.precision, framework)),
        first_(samples.micro_step(0)),
        bottoms_([this](std::int64_t n) { return bottom_layers(spec_, n, it_.context()); }),
        interactions_([this](std::int64_t n) { return interaction_layers(spec_, shape_, n, it_.context()); }),
        tops_([this](std::int64_t n) { return top_layers(spec_, shape_, n, it_.context()); }) {}

  Result<Workload> build(const ClusterShape& cluster);

 private:
  void plan_memory(const std::vector<Layer>& dense);
  void run(const std::vector<PendingGradient>& pending);
  void describe(const std::vector<Layer>& dense);
  void fill_memory();
  void micro_step(std::int64_t step, GradientSynchronizer* sync);
  void input(const SampleSplit& split);
  void lookups(const SampleSplit& split);
  void infrequent(const SampleSplit& split, graph::Pass pass);
  void frequent(const SampleSplit& split, graph::Pass pass);
  void frequent_gradients(const SampleSplit& split, GradientSynchronizer* sync);
  graph::EmbeddingBag hybrid_bag(double rows, double lookups, double alpha, graph::Pass pass) const;
  void sparse_update(const SampleSplit& split);
  TaskId send_pooled(const SampleSplit& split, Direction direction);
  TaskId send_by_rails(const SampleSplit& split, Direction direction);
  TaskId staged(const std::string& name, graph::Collective collective);
  void sum_in_node(const SampleSplit& split);
  void bottom(const SampleSplit& split, graph::Pass pass, bool accumulate, GradientSynchronizer* sync);
  Result<Placement> place(std::int64_t room) const;
  /// Vectors of a node meet on the GPU of the receiver's rail and cross once.
  bool by_rails() const {
    return it_.framework().embedding.exchange != EmbeddingExchange::nccl && !spec_.exchange_through_host &&
           nodes_ > 1 && gpus_per_node_ > 1 && (hybrid_ || spec_.sharding == Sharding::planner);
  }
  /// Rank 0 runs the bottom MLP for all; its output travels with the pooled vectors.
  bool lone_bottom() const {
    return it_.framework().embedding.bottom_mlp_on_one_rank && it_.ranks() > 4 && spec_.sharding == Sharding::planner &&
           !spec_.bottom_mlp.empty();
  }
  std::int64_t hybrid_bytes(const SampleSplit& split) const;
  std::int64_t vectors_received() const;  ///< elements a sample, partial sums counted each
  void unpack(const SampleSplit& split, const char* name, graph::Phase phase);
  TaskId backward_to_vectors(const SampleSplit& split, bool accumulate, GradientSynchronizer* sync);
  void backward(const SampleSplit& split, bool accumulate, GradientSynchronizer* sync);
  void replicated(const SampleSplit& split, graph::Pass pass, GradientSynchronizer* sync);
  std::vector<PendingGradient> gradients(const std::vector<Layer>& dense) const;
  std::vector<Layer> layers_of(
      std::initializer_list<LayerStacks*> stacks);  ///< of the largest micro-step, in forward order
  std::int64_t replicated_parameters() const;

  const ModelSpec& model_;
  const DlrmSpec& spec_;
  const DlrmShape& shape_;
  const SamplePlan& samples_;
  Iteration it_;
  Placement placement_;
  std::uint32_t set_table_ = graph::Task::kUniform;
  SampleSplit first_;  ///< the largest micro-step
  std::uint32_t nodes_ = 1, gpus_per_node_ = 1;
  std::optional<HybridSplit> hybrid_;
  LayerStacks bottoms_, interactions_, tops_;
  RankMemory dense_;  ///< of a rank without tables
  Workload out_;
};

}  // namespace distsim::workload
