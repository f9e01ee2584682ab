// What a rank does on tables: input, lookups, replicated tables, sparse updates.
#include <algorithm>
#include <utility>

#include "sim/workload/dlrm/dlrm_emission.hpp"
#include "sim/workload/dlrm/embedding_ops.hpp"
#include "sim/workload/graph/input.hpp"

namespace distsim::workload {
namespace {

constexpr double kSweptFlops = 12;  // chosen: Adam's operations; memory-bound on every GPU

/// Lookups in `rows` rows of a hybrid embedding, or their gradients.
graph::EmbeddingBag hybrid_bag(const DlrmPlan& plan, double rows, double lookups, double alpha, graph::Pass pass) {
  graph::EmbeddingBag op = embedding_bag(plan.spec, std::max<std::int64_t>(1, rounded(lookups)), pass, plan.context());
  op.tables = {graph::EmbeddingTable{std::max<std::int64_t>(1, rounded(rows)), plan.hybrid->dim, 1, alpha}};
  return op;
}

/// Infrequent rows, by their owners for the whole batch.
void add_infrequent(DlrmEmission& e, const SampleSplit& split, graph::Pass pass) {
  const HybridSplit& hybrid = *e.plan.hybrid;
  const double ranks = e.plan.ranks(), rank_share = static_cast<double>(split.total()) / ranks;
  e.it.add(pass == graph::Pass::forward ? "embedding" : "embedding.update",
           {graph::Stream::compute, phase_of(pass), {1, 1}},
           {hybrid_bag(e.plan, static_cast<double>(hybrid.all_rows - hybrid.frequent_rows) / ranks,
                       rank_share * hybrid.infrequent_ids, 0, pass)});
}

/// Frequent rows, by every rank for its own samples.
void add_frequent(DlrmEmission& e, const SampleSplit& split, graph::Pass pass) {
  const HybridSplit& hybrid = *e.plan.hybrid;
  std::vector<graph::Op> own;
  for (const std::int64_t size : split.sizes()) {
    graph::EmbeddingBag op = hybrid_bag(e.plan, static_cast<double>(hybrid.frequent_rows),
                                        static_cast<double>(size) * hybrid.frequent_ids, hybrid.frequent_alpha, pass);
    op.optimizer = graph::EmbeddingOptimizer::none;
    own.push_back(std::move(op));
  }
  e.it.add(pass == graph::Pass::forward ? "embedding.frequent" : "embedding.frequent.wgrad",
           {graph::Stream::compute, phase_of(pass), {1, 1}}, std::move(own), e.it.table_of(split));
}

/// Lookups by the owners of the tables, or their update.
void add_owned(DlrmEmission& e, const SampleSplit& split, const char* name, graph::Pass pass) {
  std::vector<graph::Op> ops = embedding_ops(e.plan.spec, e.plan.placement, split.total(), pass, e.plan.context());
  const graph::Dispatch dispatch = embedding_dispatch(e.plan.framework, ops);
  e.it.add(name, {graph::Stream::compute, phase_of(pass), dispatch}, std::move(ops), e.set_table);
}

}  // namespace

void add_ids(DlrmEmission& e, const SampleSplit& split) {
  // Own ids of the local samples; with model-parallel input the owner reads its tables' ids of the whole batch instead.
  double local = e.plan.input_bytes;
  FixedBytes fixed;
  if (e.plan.tables().distribute_input) {
    for (const ModelTable& t : e.plan.placement.tables) local += t.pooling_factor * kIndexBytes;
  } else {
    for (const ShardSet& set : e.plan.placement.sets)
      fixed.of_set.push_back(set.ids * kIndexBytes * static_cast<double>(split.total()));
    fixed.set_of_rank = e.plan.placement.set_of_rank;
  }
  const TaskId copied = add_input(e.it, split, local, fixed);
  if (!e.plan.tables().distribute_input || !e.plan.placement.any_sharded() || e.plan.ranks() == 1) return;
  const TaskId sent = e.it.add_collective("input.distribute", e.it.exchange_stream(), graph::Phase::input,
                                          id_exchange(e.plan.placement, split, kIndexBytes), e.it.world(),
                                          copied.valid() ? std::vector<TaskId>{copied} : std::vector<TaskId>{});
  if (!e.plan.framework.input.pipeline_distribution) e.it.compute_waits_for(sent);
}

void add_lookups(DlrmEmission& e, const SampleSplit& split) {
  if (e.plan.hybrid) {
    add_infrequent(e, split, graph::Pass::forward);
    return add_frequent(e, split, graph::Pass::forward);
  }
  if (e.plan.placement.any_sharded()) add_owned(e, split, "embedding", graph::Pass::forward);
}

void add_replicated(DlrmEmission& e, const SampleSplit& split, graph::Pass pass, GradientSynchronizer* sync) {
  const Placement& placement = e.plan.placement;
  if (placement.replicated.empty() || (pass == graph::Pass::backward && e.plan.frozen())) return;
  std::vector<graph::Op> ops;
  for (const std::int64_t size : split.sizes())
    ops.push_back(replicated_embedding_op(e.plan.spec, placement, size, pass, e.plan.context()));
  const graph::Dispatch dispatch = embedding_dispatch(e.plan.framework, ops);
  e.it.add(pass == graph::Pass::forward ? "embedding.replicated" : "embedding.replicated.wgrad",
           {graph::Stream::compute, phase_of(pass), dispatch}, std::move(ops), e.it.table_of(split));
  if (sync != nullptr) sync->ready(placement.replicated.size());
}

void add_frequent_gradients(DlrmEmission& e, const SampleSplit& split, GradientSynchronizer* sync) {
  if (!e.plan.hybrid) return;
  add_frequent(e, split, graph::Pass::backward);
  if (sync != nullptr) sync->ready(1);
}

void append_table_gradients(const DlrmPlan& plan, double flops, std::vector<PendingGradient>& out) {
  if (plan.hybrid) out.push_back({std::max<std::int64_t>(1, plan.frequent_parameters()), flops});
  if (plan.frozen()) return;
  for (const std::uint32_t t : plan.placement.replicated)
    out.push_back({plan.placement.tables[t].rows * plan.placement.tables[t].dim, flops});
}

void add_sparse_update(DlrmEmission& e, const SampleSplit& split, bool last) {
  const DlrmSpec& spec = e.plan.spec;
  if (e.plan.hybrid) return add_infrequent(e, split, graph::Pass::backward);
  if (!e.plan.placement.any_sharded() || e.plan.frozen()) return;
  add_owned(e, split, "embedding.update", graph::Pass::backward);
  if (spec.swept_parameters == 0 || !last) return;
  const auto floats = static_cast<double>(swept_floats(spec));
  e.it.add("embedding.sweep", {graph::Stream::compute, graph::Phase::backward, {1, 2}},
           {graph::Elementwise{spec.swept_parameters, floats, floats, kSweptFlops, graph::DType::fp32}});
}

}  // namespace distsim::workload
