// What an iteration takes and yields: memory, placement, figures for the report.
#include <utility>

#include "sim/workload/dlrm/dlrm_iteration.hpp"

namespace distsim::workload {

std::int64_t DlrmIteration::replicated_parameters() const {
  std::int64_t sum = 0;
  for (const std::uint32_t t : placement_.replicated) sum += placement_.tables[t].rows * placement_.tables[t].dim;
  return sum;
}

/// What a rank needs beside tables and the exchange buffers that depend on them.
void DlrmIteration::plan_memory(const std::vector<Layer>& dense) {
  dense_ = dense_memory(parameters_of(dense), model_.optimizer, it_);
  dense_.activations = saved_bytes_of(dense);
  const std::int64_t pooled =
      first_.largest() * shape_.embedding_width * graph::size_of(exchange_dtype(spec_, it_.numerics()));
  dense_.buffers += 2 * pooled;  // received vectors, and their gradients
}

void DlrmIteration::fill_memory() {
  const RankMemory replicated = dense_memory(replicated_parameters(), model_.optimizer, it_);
  std::vector<RankMemory> of_set;
  for (const ShardSet& set : placement_.sets) {
    RankMemory m = dense_;
    m.embeddings = set.bytes + replicated.weights;
    m.gradients += replicated.gradients;
    m.optimizer += replicated.optimizer;
    m.buffers += replicated.buffers;
    const std::int64_t pooled = first_.total() * set.width * graph::size_of(exchange_dtype(spec_, it_.numerics()));
    m.buffers += it_.ranks() > 1 ? pooled : 0;  // vectors to send; their gradients come back into the same buffer
    m.buffers += rounded(static_cast<double>(first_.total()) * set.ids) * kIndexBytes;
    of_set.push_back(m);
  }
  if (of_set.size() == 1) {
    out_.memory = of_set;
    return;
  }
  out_.memory.reserve(samples_.ranks);
  for (const std::uint32_t set : placement_.set_of_rank) out_.memory.push_back(of_set[set]);
}

Result<Placement> DlrmIteration::place(std::int64_t room) const {
  PlacementBudget budget{it_.ranks(), nodes_, room, by_rails()};
  if (hybrid_) {
    DlrmSpec by_rows = spec_;
    by_rows.sharding = Sharding::row_wise;
    TRY_ASSIGN(Placement split, place_tables(by_rows, budget));
    split.row_wise_everywhere = false;  // vectors of the hybrid embedding are whole
    return split;
  }
  if (!lone_bottom()) return place_tables(spec_, budget);
  budget.ranks -= 1;
  budget.whole_nodes = false;
  TRY_ASSIGN(Placement others, place_tables(spec_, budget));
  ShardSet bottom;
  bottom.width = shape_.bottom_width;
  others.set_of_rank.insert(others.set_of_rank.begin(), static_cast<std::uint32_t>(others.sets.size()));
  others.sets.push_back(bottom);
  return others;
}

void DlrmIteration::describe(const std::vector<Layer>& dense) {
  const double flops_per_sample = forward_matrix_flops(dense) / static_cast<double>(first_.largest());
  out_.samples = static_cast<double>(samples_.total);
  out_.model_flops = 3 * flops_per_sample * out_.samples;  // backward: data and weight gradients
  out_.precision = graph::name_of(it_.numerics().matrix);
  out_.dense_parameters = parameters_of(dense);
  for (const ModelTable& t : placement_.tables) out_.embedding_parameters += t.rows * t.dim;
  out_.assumptions.push_back(samples_.describe());
  out_.placement = placement_.describe();
}

}  // namespace distsim::workload
