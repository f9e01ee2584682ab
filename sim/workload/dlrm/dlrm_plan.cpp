#include "sim/workload/dlrm/dlrm_plan.hpp"

#include <initializer_list>
#include <utility>

#include "sim/workload/dlrm/embedding_ops.hpp"
#include "sim/workload/placement/placement_sets.hpp"

namespace distsim::workload {
namespace {

constexpr double kFloatBytes = 4;  // of a dense feature, and of the label

std::vector<Layer> joined(std::initializer_list<const std::vector<Layer>*> parts) {
  std::vector<Layer> out;
  for (const std::vector<Layer>* part : parts) out.insert(out.end(), part->begin(), part->end());
  return out;
}

/// Of the tables that are not replicated whole.
std::optional<HybridSplit> hybrid_of(const DlrmPlan& plan) {
  if (!hybrid_applies(plan.spec, plan.tables(), plan.framework, plan.ranks())) return std::nullopt;
  Placement copies;
  copies.tables = expand_tables(plan.spec);
  std::vector<ModelTable> others;
  for (const std::uint32_t t :
       replicate_small(copies, plan.spec, plan.tables(), {.ranks = plan.ranks(), .nodes = plan.cluster.nodes}))
    others.push_back(copies.tables[t]);
  if (others.empty()) return std::nullopt;
  return hybrid_split(others, plan.first.total(), plan.ranks());
}

bool has_bottom_on_one_rank(const DlrmPlan& plan) {
  return plan.framework.embedding.bottom_mlp_on_one_rank && plan.ranks() > kMostRanksThatShareTheBottom &&
         plan.tables().by_planner() && !plan.bottom.empty() && !plan.hybrid;
}

bool exchanges_by_rails(const DlrmPlan& plan) {
  return plan.framework.embedding.exchange != EmbeddingExchange::nccl && plan.cluster.nodes > 1 &&
         plan.cluster.gpus_per_node > 1;
}

/// The infrequent rows of a hybrid embedding are split over all ranks; their vectors are whole.
Result<Placement> place_hybrid(const DlrmPlan& plan, const PlacementBudget& budget) {
  TableSplit by_rows = plan.tables();
  by_rows.sharding = Sharding::row_wise;
  return place_tables(plan.spec, by_rows, budget);
}

/// Rank 0 holds no tables, but yields the bottom MLP's output for every sample.
Result<Placement> place_besides_rank_zero(const DlrmPlan& plan, PlacementBudget budget) {
  budget.ranks -= 1;
  budget.whole_nodes = false;
  TRY_ASSIGN(Placement others, place_tables(plan.spec, plan.tables(), budget));
  ShardSet bottom;
  bottom.width = bottom.width_besides = plan.shape.bottom_width;
  others.set_of_rank.insert(others.set_of_rank.begin(), static_cast<std::uint32_t>(others.sets.size()));
  others.sets.push_back(bottom);
  return others;
}

Result<Placement> place(const DlrmPlan& plan) {
  const std::int64_t room = plan.cluster.memory_per_gpu.value() - plan.dense.total() - 2 * plan.dense.buffers -
                            replicated_memory(plan, plan.frequent_parameters()).total();
  const PlacementBudget budget{plan.ranks(), plan.cluster.nodes, room, plan.by_rails,
                               replicated_memory(plan, 1).total()};
  if (plan.hybrid) return place_hybrid(plan, budget);
  return plan.bottom_on_one_rank ? place_besides_rank_zero(plan, budget)
                                 : place_tables(plan.spec, plan.tables(), budget);
}

}  // namespace

std::vector<Layer> DlrmPlan::dense_layers() const { return joined({&bottom, &interaction, &top}); }
std::vector<Layer> DlrmPlan::summed_layers() const {
  return bottom_on_one_rank ? joined({&interaction, &top}) : dense_layers();
}
std::int64_t DlrmPlan::dense_parameters() const {
  return parameters_of(bottom) + parameters_of(interaction) + parameters_of(top);
}
std::int64_t DlrmPlan::replicated_parameters() const {
  std::int64_t sum = 0;
  for (const std::uint32_t t : placement.replicated) sum += placement.tables[t].rows * placement.tables[t].dim;
  return sum;
}
std::int64_t DlrmPlan::exchanged_element_bytes() const { return graph::size_of(exchange_dtype(spec, numerics)); }

Result<DlrmPlan> plan_dlrm(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& cluster,
                           const SamplePlan& samples) {
  const DlrmSpec& spec = model.as<DlrmSpec>();
  TRY_ASSIGN(const DlrmShape shape, dlrm_shape(spec));
  DlrmPlan plan{.model = model,
                .spec = spec,
                .framework = framework,
                .samples = samples,
                .cluster = cluster,
                .shape = shape,
                .numerics = numerics_of(model.precision, framework),
                .first = samples.micro_step(0)};
  plan.bottom = bottom_layers(spec, plan.first.largest(), plan.context());
  plan.interaction = interaction_layers(spec, shape, plan.first.largest(), plan.context());
  plan.top = top_layers(spec, shape, plan.first.largest(), plan.context());
  plan.input_bytes = kFloatBytes * static_cast<double>(spec.dense_features + 1);
  plan.dense = dense_rank_memory(plan);
  TRY(plan_tables(plan));
  return plan;
}

Result<void> plan_tables(DlrmPlan& plan) {
  plan.hybrid = hybrid_of(plan);
  const bool on_one_before = plan.bottom_on_one_rank;
  plan.bottom_on_one_rank = has_bottom_on_one_rank(plan);
  if (plan.bottom_on_one_rank != on_one_before) plan.dense = dense_rank_memory(plan);
  plan.by_rails = exchanges_by_rails(plan);
  TRY_ASSIGN(plan.placement, place(plan));
  return {};
}

}  // namespace distsim::workload
