// What the ranks of a recommender hold.
#include <algorithm>

#include "sim/workload/dlrm/dlrm_plan.hpp"
#include "sim/workload/dlrm/embedding_ops.hpp"
#include "sim/workload/graph/memory.hpp"

namespace distsim::workload {
namespace {

/// What an update of every row touches is there: weights and Adam's two moments, in fp32, of all rows that there is room for.
std::int64_t swept_bytes(const DlrmPlan& plan) {
  constexpr std::int64_t kBytes = 3 * 4, kMost = std::int64_t{1} << 60;
  return plan.placement.any_sharded() ? std::min(plan.spec.swept_parameters, kMost / kBytes) * kBytes : 0;
}

RankMemory with_tables(const DlrmPlan& plan, const ShardSet& set, const RankMemory& replicated) {
  RankMemory m = plan.dense;
  m.embeddings = std::max(set.bytes, swept_bytes(plan)) + replicated.weights;
  m.gradients += replicated.gradients;
  m.optimizer += replicated.optimizer;
  m.buffers += replicated.buffers;
  const std::int64_t pooled = plan.first.total() * set.width * plan.exchanged_element_bytes();
  m.buffers += plan.ranks() > 1 ? pooled : 0;  // vectors to send; their gradients come back into the same buffer
  m.buffers += plan.first.total() / plan.cluster.gpus_per_node * set.width_in_node *
               plan.exchanged_element_bytes();  // the node's sums, before they go along the rails
  m.buffers += rounded(static_cast<double>(plan.first.total()) * set.ids) * kIndexBytes;
  return m;
}

}  // namespace

RankMemory dense_rank_memory(const DlrmPlan& plan) {
  const std::vector<Layer> dense = plan.dense_layers();
  RankMemory m = dense_memory(parameters_of(dense), plan.model.optimizer, plan.numerics, plan.ranks());
  m.activations = saved_bytes_of(dense);
  const std::int64_t pooled = plan.first.largest() * plan.shape.embedding_width * plan.exchanged_element_bytes();
  m.buffers += 2 * pooled;  // received vectors, and their gradients
  return m;
}

std::vector<RankMemory> memory_of(const DlrmPlan& plan) {
  const RankMemory replicated =
      dense_memory(plan.replicated_parameters(), plan.model.optimizer, plan.numerics, plan.ranks());
  std::vector<RankMemory> of_set;
  for (const ShardSet& set : plan.placement.sets) of_set.push_back(with_tables(plan, set, replicated));
  if (of_set.size() == 1) return of_set;
  std::vector<RankMemory> out;
  out.reserve(plan.ranks());
  for (const std::uint32_t set : plan.placement.set_of_rank) out.push_back(of_set[set]);
  return out;
}

}  // namespace distsim::workload
