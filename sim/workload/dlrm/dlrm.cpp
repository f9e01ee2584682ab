#include <algorithm>
#include <utility>

#include "sim/workload/dlrm/dlrm_iteration.hpp"

namespace distsim::workload {

/// The bottom MLP on every rank for its own samples, or on rank 0 for all (whose gradients nobody else needs).
void DlrmIteration::bottom(const SampleSplit& split, graph::Pass pass, bool accumulate, GradientSynchronizer* sync) {
  const bool forward = pass == graph::Pass::forward;
  if (!lone_bottom()) {
    if (forward)
      it_.add_forward(bottoms_.of(split), split);
    else
      add_backward_pass(it_, bottoms_.of(split), split, accumulate, sync);
    return;
  }
  const std::vector<Layer> layers = bottom_layers(spec_, split.total(), it_.context());
  std::vector<std::uint32_t> others(it_.ranks(), 1);
  others[0] = 0;
  const std::uint32_t table = it_.table_of(std::move(others));
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Layer& layer = layers[forward ? i : layers.size() - 1 - i];
    for (const LayerOp& op : forward ? layer.forward : layer.backward) {
      it_.add(op.name, {graph::Stream::compute, forward ? graph::Phase::forward : graph::Phase::backward, op.dispatch},
              {op.op, graph::Absent{}}, table);
    }
  }
}

void DlrmIteration::micro_step(std::int64_t step, GradientSynchronizer* sync) {
  const SampleSplit split = samples_.micro_step(step);
  input(split);
  lookups(split);
  if (lone_bottom()) bottom(split, graph::Pass::forward, false, nullptr);
  const TaskId pooled = send_pooled(split, Direction::owners_to_samples);
  if (!it_.framework().embedding.overlap_exchange) it_.compute_waits_for(pooled);
  if (!lone_bottom()) bottom(split, graph::Pass::forward, false, nullptr);
  replicated(split, graph::Pass::forward, nullptr);
  if (it_.framework().embedding.overlap_exchange) it_.compute_waits_for(pooled);
  unpack(split, "embedding.unpack", graph::Phase::forward);
  it_.add_forward(interactions_.of(split), split);
  it_.add_forward(tops_.of(split), split);
  backward(split, step > 0, sync);
}

/// Down to the gradients of the pooled vectors, which travel while the weight gradients that were held back are
/// computed.
TaskId DlrmIteration::backward_to_vectors(const SampleSplit& split, bool accumulate, GradientSynchronizer* sync) {
  const bool hold = it_.framework().embedding.async_mlp_wgrad &&
                    !accumulate;  // an accumulated gradient is added to right after it is computed
  if (hold) it_.hold_weight_gradients_back();
  add_backward_pass(it_, tops_.of(split), split, accumulate, hold ? nullptr : sync);
  add_backward_pass(it_, interactions_.of(split), split, accumulate, hold ? nullptr : sync);
  unpack(split, "embedding.pack.dgrad", graph::Phase::backward);
  const TaskId pooled = send_pooled(split, Direction::samples_to_owners);
  if (!hold) return pooled;
  it_.add_held_back();
  if (sync != nullptr)
    sync->ready(static_cast<std::size_t>(tensors_of(tops_.of(split).largest()) +
                                         tensors_of(interactions_.of(split).largest())));
  return pooled;
}

void DlrmIteration::backward(const SampleSplit& split, bool accumulate, GradientSynchronizer* sync) {
  const TaskId pooled = backward_to_vectors(split, accumulate, sync);
  const bool overlap = it_.framework().embedding.overlap_exchange && !lone_bottom();
  if (!overlap) it_.compute_waits_for(pooled);
  bottom(split, graph::Pass::backward, accumulate, sync);
  replicated(split, graph::Pass::backward, sync);
  frequent_gradients(split, sync);
  if (overlap && placement_.any_sharded() && spec_.embedding_optimizer != graph::EmbeddingOptimizer::none)
    it_.compute_waits_for(pooled);
  sparse_update(split);
}

std::vector<Layer> DlrmIteration::layers_of(std::initializer_list<LayerStacks*> all) {
  std::vector<Layer> out;
  for (LayerStacks* stacks : all) {
    const auto& layers = stacks->of(first_).largest();
    out.insert(out.end(), layers.begin(), layers.end());
  }
  return out;
}

/// In the order of the backward pass: top, interaction, bottom, replicated tables.
std::vector<PendingGradient> DlrmIteration::gradients(const std::vector<Layer>& dense) const {
  std::vector<PendingGradient> out;
  append_gradients(out, dense);
  const double flops = out.empty() ? 0 : out.back().flops_before;
  if (hybrid_) out.push_back({std::max<std::int64_t>(1, hybrid_->frequent_rows * hybrid_->dim), flops});
  for (const std::uint32_t t : placement_.replicated)
    out.push_back({placement_.tables[t].rows * placement_.tables[t].dim, flops});
  return out;
}

void DlrmIteration::run(const std::vector<PendingGradient>& pending) {
  GradientSynchronizer sync(it_, pending);
  for (std::int64_t step = 0; step < samples_.micro_steps; ++step)
    micro_step(step, step + 1 == samples_.micro_steps ? &sync : nullptr);
  sync.finish();
  add_optimizer(it_, model_.optimizer, out_.dense_parameters + replicated_parameters(),
                static_cast<std::int64_t>(pending.size()), model_.precision == Precision::fp16);
}

Result<Workload> DlrmIteration::build(const ClusterShape& cluster) {
  const std::vector<Layer> dense = layers_of({&bottoms_, &interactions_, &tops_});
  plan_memory(dense);
  const std::int64_t room = cluster.memory_per_gpu.value() - dense_.total() - 2 * dense_.buffers;
  nodes_ = cluster.nodes;
  gpus_per_node_ = cluster.gpus_per_node;
  if (hybrid_applies(spec_, it_.framework(), it_.ranks()))
    hybrid_ = hybrid_split(expand_tables(spec_), first_.total(), it_.ranks());
  TRY_ASSIGN(placement_, place(room));
  fill_memory();
  TRY(check_memory(out_.memory, samples_.ranks, cluster.memory_per_gpu));
  if (placement_.sets.size() > 1) set_table_ = it_.table_of(placement_.set_of_rank);
  describe(dense);
  run(gradients(lone_bottom() ? layers_of({&interactions_, &tops_}) : dense));
  TRY_ASSIGN(out_.graph, std::move(it_).finish());
  return std::move(out_);
}

Result<Workload> build_dlrm(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& shape,
                            const SamplePlan& samples) {
  TRY_ASSIGN(const DlrmShape sizes, dlrm_shape(model.dlrm));
  return DlrmIteration(model, framework, samples, sizes).build(shape);
}

}  // namespace distsim::workload
