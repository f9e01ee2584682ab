// The family of recommenders.
#include "sim/workload/dlrm/dlrm_emission.hpp"
#include "sim/workload/family.hpp"
#include "sim/workload/graph/memory.hpp"
#include "sim/workload/specs/step_mode.hpp"

namespace distsim::workload {
namespace {

bool is_dealt(const TableSplit& split) { return split.sharding == Sharding::planner && split.balance != Balance::cost; }

/// Constants that few measurements stand behind, where they matter.
void add_weak_constants(const DlrmPlan& plan, std::vector<graph::Assumption>& out) {
  const auto add = [&](const char* text) { out.push_back({graph::AssumptionKind::workload, text}); };
  if (plan.framework.gradients.all_reduce == GradientReduction::one_shot && plan.ranks() > 1)
    add("one-shot all-reduce where the cluster has NVSwitch and, across nodes, SHARP; latencies are estimates");
  if (plan.spec.interaction == InteractionKind::dcn_v2 && plan.spec.cross_rank < 0 &&
      cross_rank_of(plan.spec, plan.shape.interaction_width) == 0) {
    const std::string width = std::to_string(plan.shape.interaction_width);
    out.push_back({graph::AssumptionKind::workload, "cross layers of " + width + " x " + width +
                                                        " without low rank: no cross_rank is given, and they are no " +
                                                        "wider than its default, " + std::to_string(kUsualCrossRank)});
  }
  if (!plan.placement.any_exchanged()) return;
  if (through_host(plan))
    add("exchange through host memory: 10 GB/s between nodes, 150 us per GPU; fitted on 58 rows of 1 system");
  if (plan.framework.embedding.sparse_update == graph::SparseUpdate::sort_dedup)
    add("sparse updates by TensorFlow's kernels: bytes as counted in its sources, sort passes at 0.68 of the memory rate "
        "(20 passes on 2 A100); 18 executor nodes per table");
  if (by_horovod(plan)) add("Horovod: an exchange starts half a fusion_cycle late, and the host waits for it");
  if (is_dealt(plan.tables()) && plan.ranks() > 1)
    add("tables dealt as in distributed-embeddings, which does not look at memory; here those that do not fit move");
}

Workload described(const DlrmPlan& plan) {
  Workload out;
  const double flops_per_sample = forward_matrix_flops(plan.dense_layers()) / static_cast<double>(plan.first.largest());
  out.samples = static_cast<double>(plan.samples.total);
  out.model_flops = 3 * flops_per_sample * out.samples;  // backward: data and weight gradients
  out.precision = plan.model.precision;
  out.dense_parameters = plan.dense_parameters();
  for (const ModelTable& t : plan.placement.tables) out.embedding_parameters += t.rows * t.dim;
  out.assumptions.push_back({graph::AssumptionKind::batch, plan.samples.describe()});
  add_weak_constants(plan, out.assumptions);
  out.placement = out.table_places = plan.placement.describe();
  return out;
}

Result<Workload> build_dlrm(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& cluster,
                            const SamplePlan& samples) {
  TRY(only_training(model, "a recommender"));
  TRY_ASSIGN(const DlrmPlan plan, plan_dlrm(model, framework, cluster, samples));
  const std::vector<RankMemory> memory = memory_of(plan);
  TRY(check_memory(memory, plan.ranks(), cluster.memory_per_gpu));
  Workload out = described(plan);
  out.memory = memory;
  TRY_ASSIGN(out.graph, emit_dlrm(plan));
  return out;
}

constexpr Refusal kRefuses[] = {
    {"{tables: []}", "model.dlrm.tables"},
    {"{tables: [{rows: 10}], top_mlp: []}", "model.dlrm.top_mlp"},
    {"{tables: [{rows: 10, dim: 64}], embedding_dim: 128}", "dot needs vectors of equal length"},
    {"{tables: [{rows: 10}], bottom_mlp: [64]}", "dot needs vectors of equal length"},
    {"{tables: [{rows: 1000000000000}]}", "model.dlrm.tables: found 512 TB"},
};

}  // namespace

extern const ModelFamily dlrm_family;
constinit const ModelFamily dlrm_family{
    .name = "dlrm",
    .sentence = "Recommender: sharded embedding tables, MLPs, dot, DCN-v2 or concat interaction; hybrid parallel",
    .refuses = kRefuses,
    .add_section = [](Schema<ModelSpec>& s) { add_section(s, dlrm_schema()); },
    .build = build_dlrm,
    .has_hybrid_embedding =
        [](const ModelSpec& model, const FrameworkSpec& framework, std::uint32_t ranks) {
          return hybrid_applies(model.as<DlrmSpec>(), model.parallel.tables, framework, ranks);
        },
};

}  // namespace distsim::workload
