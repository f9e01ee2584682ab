// DlrmPlan: a hybrid-parallel recommender iteration before any task is written. Tables belong to ranks, everything else
// is replicated: which rank holds which tables, what each takes, how vectors are exchanged.
//
// dlrm_plan.cpp decides, dlrm_memory.cpp counts bytes, dlrm_emission.hpp writes the tasks. All but the last are pure.
#pragma once

#include <optional>
#include <vector>

#include "sim/workload/dlrm/dlrm_layers.hpp"
#include "sim/workload/dlrm/hybrid_embedding.hpp"
#include "sim/workload/placement/placement.hpp"
#include "sim/workload/specs/samples.hpp"
#include "sim/workload/workload.hpp"

namespace distsim::workload {

/// To the nearest whole sample, byte or picosecond.
inline std::int64_t rounded(double x) { return static_cast<std::int64_t>(x + 0.5); }

/// The device mapping of NVIDIA's PyTorch DLRM (DeepLearningExamples) gives the bottom MLP a GPU of its own if there are
/// more GPUs.
constexpr std::uint32_t kMostRanksThatShareTheBottom = 4;

/// The references live as long as the call of build that made the plan.
struct DlrmPlan {
  const ModelSpec& model;
  const DlrmSpec& spec;
  const FrameworkSpec& framework;
  const SamplePlan& samples;
  ClusterShape cluster;
  DlrmShape shape;
  Numerics numerics;
  SampleSplit first;  ///< of the largest micro-step
  /// Layers of the largest micro-step on one rank, in forward order.
  std::vector<Layer> bottom, interaction, top;
  std::optional<HybridSplit> hybrid;  ///< where the framework's hybrid embedding holds the tables
  /// Rank 0 runs the bottom MLP for all; its output travels with the pooled vectors.
  bool bottom_on_one_rank = false;
  /// Vectors of a node meet on the GPU of the receiver's rail and cross once.
  bool by_rails = false;
  double input_bytes = 0;  ///< of a sample, besides its ids
  RankMemory dense;        ///< of a rank without tables, and without the buffers that depend on them
  Placement placement;

  std::uint32_t ranks() const { return samples.ranks; }
  const TableSplit& tables() const { return model.parallel.tables; }
  LayerContext context() const { return {numerics, &framework}; }
  /// Bottom, interaction, top.
  std::vector<Layer> dense_layers() const;
  /// Those whose gradients all ranks sum.
  std::vector<Layer> summed_layers() const;
  std::int64_t dense_parameters() const;
  /// Tables have no gradients.
  bool frozen() const { return spec.embedding_optimizer == graph::EmbeddingOptimizer::none; }
  std::int64_t replicated_parameters() const;
  /// Of the rows that a hybrid embedding has copies of on every rank.
  std::int64_t frequent_parameters() const { return hybrid ? hybrid->frequent_rows * hybrid->dim : 0; }
  /// Of a pooled vector's element on the wire.
  std::int64_t exchanged_element_bytes() const;
};

/// Errors: a shape that is no recommender (dlrm_shape); tables that do not fit (place_tables).
Result<DlrmPlan> plan_dlrm(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& cluster,
                           const SamplePlan& samples);

/// What follows from the rest of the plan, `dense` included: hybrid embedding, who runs the bottom MLP, rails, and which rank holds
/// which tables.
Result<void> plan_tables(DlrmPlan& plan);

/// What a rank needs besides tables and the buffers that depend on them.
RankMemory dense_rank_memory(const DlrmPlan& plan);
/// What that many parameters of replicated tables take on every rank.
RankMemory replicated_memory(const DlrmPlan& plan, std::int64_t parameters);
/// Of every rank, or a single one where all are alike.
std::vector<RankMemory> memory_of(const DlrmPlan& plan);

}  // namespace distsim::workload
