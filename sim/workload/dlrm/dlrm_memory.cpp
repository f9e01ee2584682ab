// What the ranks of a recommender hold.
#include <algorithm>

#include "sim/workload/dlrm/dlrm_plan.hpp"
#include "sim/workload/dlrm/embedding_ops.hpp"
#include "sim/workload/graph/memory.hpp"

namespace distsim::workload {
namespace {

/// What an update of every row touches is there: weights and the optimizer's state, in fp32, of all rows that there is
/// room for.
std::int64_t swept_bytes(const DlrmPlan& plan) {
  constexpr std::int64_t kFloat = 4, kMost = std::int64_t{1} << 60;
  const std::int64_t bytes = swept_floats(plan.spec) * kFloat;
  return plan.placement.any_sharded() && bytes > 0 ? std::min(plan.spec.swept_parameters, kMost / bytes) * bytes : 0;
}

/// Elements that a rank with these shards sends. The vectors of a hybrid embedding are whole: each comes from one rank,
/// whatever number of ranks share the table.
std::int64_t sent_elements(const DlrmPlan& plan, const ShardSet& set) {
  if (!plan.hybrid) return plan.first.total() * set.width;
  return rounded(static_cast<double>(plan.first.total()) / plan.ranks() * plan.hybrid->infrequent_ids) *
         plan.hybrid->dim;
}

/// Of the bottom MLP where one rank runs it: for the samples of all ranks, and nobody else has its gradients.
RankMemory bottom_memory(const DlrmPlan& plan) {
  const std::vector<Layer> layers = bottom_layers(plan.spec, plan.first.total(), plan.context());
  RankMemory m = dense_memory(parameters_of(layers), plan.model.optimizer, plan.numerics, 1);
  m.activations = saved_bytes_of(layers);
  return m;
}

RankMemory with_tables(const DlrmPlan& plan, const ShardSet& set, const RankMemory& replicated) {
  RankMemory m = plan.dense;
  m.embeddings = std::max(set.bytes, swept_bytes(plan)) + replicated.weights;
  m.gradients += replicated.gradients;
  m.optimizer += replicated.optimizer;
  m.buffers += replicated.buffers;
  if (plan.replicated_parameters() > 0) m.copies = replicated_memory(plan, plan.replicated_parameters()).total();
  const std::int64_t pooled = sent_elements(plan, set) * plan.exchanged_element_bytes();
  m.buffers += plan.ranks() > 1 ? pooled : 0;  // vectors to send; their gradients come back into the same buffer
  m.buffers += plan.first.total() / plan.cluster.gpus_per_node * set.width_in_node *
               plan.exchanged_element_bytes();  // the node's sums, before they go along the rails
  m.buffers += rounded(static_cast<double>(plan.first.total()) * set.ids) * kIndexBytes;
  return m;
}

}  // namespace

RankMemory dense_rank_memory(const DlrmPlan& plan) {
  const std::vector<Layer> dense = plan.summed_layers();
  RankMemory m = dense_memory(parameters_of(dense), plan.model.optimizer, plan.numerics, plan.ranks());
  m.activations = saved_bytes_of(dense);
  const std::int64_t width = plan.shape.embedding_width + (plan.bottom_on_one_rank ? plan.shape.bottom_width : 0);
  const std::int64_t pooled = plan.first.largest() * width * plan.exchanged_element_bytes();
  m.buffers += 2 * pooled;  // received vectors, and their gradients
  return m;
}

RankMemory replicated_memory(const DlrmPlan& plan, std::int64_t parameters) {
  RankMemory m;
  if (!plan.frozen()) m = dense_memory(parameters, plan.model.optimizer, plan.numerics, plan.ranks());
  m.weights = parameters * graph::size_of(plan.spec.embedding_dtype);  // looked up as they are stored, never cast
  return m;
}

std::vector<RankMemory> memory_of(const DlrmPlan& plan) {
  const RankMemory replicated = replicated_memory(plan, plan.replicated_parameters() + plan.frequent_parameters());
  std::vector<RankMemory> of_set;
  for (const ShardSet& set : plan.placement.sets) of_set.push_back(with_tables(plan, set, replicated));
  if (plan.bottom_on_one_rank) of_set[plan.placement.set_of_rank.front()] += bottom_memory(plan);
  if (of_set.size() == 1) return of_set;
  std::vector<RankMemory> out;
  out.reserve(plan.ranks());
  for (const std::uint32_t set : plan.placement.set_of_rank) out.push_back(of_set[set]);
  return out;
}

}  // namespace distsim::workload
