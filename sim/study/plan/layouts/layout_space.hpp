// LayoutSpace: the layouts of a language model on some GPUs that a search chooses from, in three steps, so that what is
// common is worked out once:
//   grid    tensor, context, pipeline, expert: which GPUs do what
//   shape   micro-batch, chunks and blocks of stages, recomputation: what a GPU computes and keeps
//   layout  what replicas share, and where they are: order of ranks, levels and groups of sharding, overlaps
// A key holds the values that the user gave; else those that the framework offers (layout_offer.hpp), and that of the
// experiment, which the framework may not be listed with, wherever it divides:
//   degrees      divisors of the GPUs; expert: of the experts
//   micro_batch  powers of two up to 16 that divide a replica's samples
//   virtual_stages, stage_layers  chunks of equal numbers of blocks; where the framework can, also those whose largest
//                chunk is least, embedding and head counted by their FLOPs
//   recompute    what is offered, and 1/4, 1/2 and 3/4 of a stage's blocks
//   shard_group  all replicas; those of a node, and of four
//   order        with several stages, replicas and NVLink domains, where the GPUs that split experts keep together
//   expert_tensor  of values that split experts alike one: the experiment's own, else the first
//   offload      left open in the experiment: none, and left open with frameworks that move what does not fit; where a layout
//                fits without, the two are one
// Everything else is as in the experiment, recompute left open there being none. Steps that do not divide are counted, not
// visited: a space may have 10^18 layouts.
#pragma once

#include <functional>

#include "sim/study/plan/layouts/layout_keys.hpp"
#include "sim/study/plan/layouts/layout_offer.hpp"
#include "sim/workload/llm/llm_plan.hpp"

namespace distsim::study {

/// Numbers of layouts; real, for they may be beyond 64 bits.
struct SpaceCounts {
  double considered = 0, undivided = 0;
};

class LayoutSpace {
 public:
  /// `base`: the model with the layout that the search starts from: its values are tried too, and its other keys hold.
  LayoutSpace(workload::ModelSpec base, workload::FrameworkSpec framework, workload::ClusterShape cluster,
              std::int64_t batch, LayoutOffer offer, HeldValues held);

  /// Grids whose degrees divide; adds what lies below those that do not to `counts`.
  std::vector<workload::ParallelSpec> grids(SpaceCounts& counts) const;
  std::vector<workload::ParallelSpec> shapes(const workload::ParallelSpec& grid) const;
  std::vector<workload::ParallelSpec> layouts(const workload::ParallelSpec& shape) const;

  const workload::ModelSpec& model() const { return base_; }
  const workload::FrameworkSpec& framework() const { return framework_; }
  const workload::ClusterShape& cluster() const { return cluster_; }
  std::int64_t batch() const { return batch_; }
  /// Levels of sharding that are tried among so many replicas of a weight.
  std::vector<workload::StateSplit> levels(std::int64_t replicas) const;

  const std::vector<double>& block_weights() const { return block_weights_; }
  double embedding_weight() const { return embedding_weight_; }
  double head_weight() const { return head_weight_; }

 private:
  using P = workload::ParallelSpec;
  const std::vector<P>* held(std::string_view key) const;
  template <class T>
  std::vector<T> values(std::string_view key, T P::*member, std::vector<T> otherwise) const;
  std::vector<std::int64_t> degrees(std::int64_t of, std::int64_t most, bool offered, std::int64_t own) const;
  std::vector<workload::PipelineSchedule> schedules(const P& shape) const;
  bool splits_experts_alike(const P& a, const P& b) const;
  void add_exchanges(P grid, std::vector<P>& out) const;
  void add_experts(const P& grid, std::vector<P>& out, SpaceCounts& counts) const;
  void add_stages(const P& shape, std::vector<P>& out) const;
  void add_recomputation(const P& shape, std::vector<P>& out) const;
  void add_levels(const P& shape, std::vector<P>& out) const;
  void add_groups(const P& layout, std::vector<P>& out) const;
  workload::RankOrder usual_order() const;
  std::vector<workload::RankOrder> orders(const P& shape) const;
  double below_grid() const;  ///< layouts below a grid, at most, of the keys that were given

  workload::ModelSpec base_;
  P own_;  ///< the layout of `base` as it was given
  workload::FrameworkSpec framework_;
  workload::ClusterShape cluster_;
  std::int64_t batch_ = 0;
  LayoutOffer offer_;
  HeldValues held_;
  std::vector<workload::Offload> offloads_;
  std::vector<double> block_weights_;  ///< FLOPs of each block, of one sample
  double embedding_weight_ = 0, head_weight_ = 0;
  std::vector<std::vector<std::int64_t>> balanced_;  ///< by number of chunks
};

/// Whether the plan of a shape's layout can become that of another one: what goes to the host is settled for each by itself.
bool can_replan_as(const workload::LlmPlan& plan, const workload::ParallelSpec& layout);
/// Makes of the plan of a shape's layout that of another one, as far as memory and replicas go. False where its groups do
/// not divide, or its order parts experts.
bool replan_as(workload::LlmPlan& plan, const workload::ParallelSpec& layout);

/// Blocks of `chunks` consecutive chunks with the least largest sum of `weights`, at least one in each; `first` and `last`
/// are added to the ends. The earliest chunks take as many as they can.
std::vector<std::int64_t> balanced_chunks(const std::vector<double>& weights, std::int64_t chunks, double first,
                                          double last);

}  // namespace distsim::study
