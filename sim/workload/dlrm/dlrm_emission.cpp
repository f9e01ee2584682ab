#include "sim/workload/dlrm/dlrm_emission.hpp"

#include <algorithm>
#include <utility>

namespace distsim::workload {
namespace {

/// The bottom MLP on rank 0 for all samples; nobody else needs its gradients.
void add_bottom_on_rank_zero(DlrmEmission& e, const SampleSplit& split, graph::Pass pass) {
  const bool forward = pass == graph::Pass::forward;
  const std::vector<Layer> layers = bottom_layers(e.plan.spec, split.total(), e.plan.context());
  std::vector<std::uint32_t> others(e.plan.ranks(), 1);
  others[0] = 0;
  const std::uint32_t table = e.it.table_of(std::move(others));
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Layer& layer = layers[forward ? i : layers.size() - 1 - i];
    for (const LayerOp& op : forward ? layer.forward : layer.backward)
      e.it.add(op.name, {graph::Stream::compute, phase_of(pass), op.dispatch}, {op.op, graph::Absent{}}, table);
  }
}

void add_bottom(DlrmEmission& e, const SampleSplit& split, graph::Pass pass, bool accumulate,
                GradientSynchronizer* sync) {
  if (e.plan.bottom_on_one_rank) return add_bottom_on_rank_zero(e, split, pass);
  if (pass == graph::Pass::forward) return e.it.add_forward(e.bottoms.of(split), split);
  add_backward_pass(e.it, e.bottoms.of(split), split, accumulate, sync);
}

void add_forward(DlrmEmission& e, const SampleSplit& split) {
  const bool overlap = e.plan.framework.embedding.overlap_exchange;
  add_ids(e, split);
  add_lookups(e, split);
  if (e.plan.bottom_on_one_rank) add_bottom(e, split, graph::Pass::forward, false, nullptr);
  const TaskId pooled = add_exchange(e, split, Direction::owners_to_samples);
  if (!overlap) e.it.compute_waits_for(pooled);
  if (!e.plan.bottom_on_one_rank) add_bottom(e, split, graph::Pass::forward, false, nullptr);
  add_replicated(e, split, graph::Pass::forward, nullptr);
  if (overlap) e.it.compute_waits_for(pooled);
  add_unpacking(e, split, "embedding.unpack", graph::Phase::forward);
  e.it.add_forward(e.interactions.of(split), split);
  e.it.add_forward(e.tops.of(split), split);
}

/// Horovod takes what is ready once a cycle, on one stream: sums do not go before the exchange that the rest of the
/// backward pass waits for.
bool exchange_goes_first(const DlrmEmission& e) {
  const FrameworkSpec::Gradients& g = e.plan.framework.gradients;
  return g.sync == GradientSync::fusion_buffer && !g.separate_stream;
}

/// Down to the gradients of the pooled vectors, which travel while the weight gradients that were held back are
/// computed.
TaskId add_backward_to_vectors(DlrmEmission& e, const SampleSplit& split, bool accumulate, GradientSynchronizer* sync) {
  // An accumulated gradient is added to right after it is computed.
  const bool hold = e.plan.framework.embedding.async_mlp_wgrad && !accumulate;
  if (hold) e.it.hold_weight_gradients_back();
  const bool exchange_first = sync != nullptr && exchange_goes_first(e);
  if (exchange_first) sync->hold();
  add_backward_pass(e.it, e.tops.of(split), split, accumulate, hold ? nullptr : sync);
  add_backward_pass(e.it, e.interactions.of(split), split, accumulate, hold ? nullptr : sync);
  add_unpacking(e, split, "embedding.pack.dgrad", graph::Phase::backward);
  const TaskId pooled = add_exchange(e, split, Direction::samples_to_owners);
  if (exchange_first) sync->let_go();
  if (!hold) return pooled;
  e.it.add_held_back();
  if (sync != nullptr)
    sync->ready(static_cast<std::size_t>(tensors_of(e.tops.of(split).largest()) +
                                         tensors_of(e.interactions.of(split).largest())));
  return pooled;
}

void add_backward(DlrmEmission& e, const SampleSplit& split, bool accumulate, GradientSynchronizer* sync) {
  const TaskId pooled = add_backward_to_vectors(e, split, accumulate, sync);
  const bool overlap = e.plan.framework.embedding.overlap_exchange && !e.plan.bottom_on_one_rank;
  if (!overlap) e.it.compute_waits_for(pooled);
  add_bottom(e, split, graph::Pass::backward, accumulate, sync);
  add_replicated(e, split, graph::Pass::backward, sync);
  add_frequent_gradients(e, split, sync);
  if (overlap) e.it.compute_waits_for(pooled);
  add_sparse_update(e, split, sync != nullptr);
}

/// In the order of the backward pass: top, interaction, bottom, replicated tables.
std::vector<PendingGradient> gradients_of(const DlrmPlan& plan) {
  std::vector<PendingGradient> out;
  append_gradients(out, plan.summed_layers());
  const double flops = out.empty() ? 0 : out.back().flops_before;
  append_table_gradients(plan, flops, out);
  return out;
}

}  // namespace

DlrmEmission::DlrmEmission(const DlrmPlan& p)
    : plan(p),
      it(p.ranks(), p.framework, p.numerics),
      bottoms([&p](std::int64_t n) { return bottom_layers(p.spec, n, p.context()); }),
      interactions([&p](std::int64_t n) { return interaction_layers(p.spec, p.shape, n, p.context()); }),
      tops([&p](std::int64_t n) { return top_layers(p.spec, p.shape, n, p.context()); }) {
  if (p.placement.sets.size() > 1) set_table = it.table_of(p.placement.set_of_rank);
}

Result<graph::TaskGraph> emit_dlrm(const DlrmPlan& plan) {
  DlrmEmission e(plan);
  return emit_micro_steps(e, gradients_of(plan), plan.dense_parameters(), add_forward, add_backward);
}

}  // namespace distsim::workload
