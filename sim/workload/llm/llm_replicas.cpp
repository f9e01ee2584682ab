// What the replicas of a weight exchange: its gradients, and where it is split the weight itself; and the update.
#include <algorithm>
#include <cmath>

#include "sim/workload/llm/llm_emission.hpp"
#include "sim/workload/specs/step_mode.hpp"

namespace distsim::workload {
namespace {

using graph::CollectiveKind;

double width_of(graph::DType dtype) { return static_cast<double>(graph::size_of(dtype)); }

}  // namespace

double gathered_width(const LlmPlan& plan) {
  if (!plan.numerics.mixed) return 4;
  const bool narrow = plan.numerics.scaling != graph::Scaling::none && plan.framework.parallel.fp8_parameters;
  if (plan.splits(StateSplit::weights) && !plan.framework.parallel.gather_16_bit) return 4;
  return narrow ? 1 : 2;
}

SharedWeights gathered_weights(const LlmPlan& plan, std::uint32_t stage) {
  SharedWeights out;
  for (std::uint32_t c = 0; c < plan.pipeline.chunks(); ++c) {
    const PartWork& work = plan.chunk_of_stage(stage, c).work;
    const bool whole = plan.splits(StateSplit::weights);
    out.dense += whole ? work.dense : work.trained_dense;
    out.expert += whole ? work.expert : work.trained_expert;
  }
  return out;
}

LlmEmission::Group LlmEmission::group_of(bool experts) const {
  Group group;
  if (experts) {
    group.partition = plan_.grid.groups(plan_.expert_replicas(), plan_.expert * plan_.expert_tensor);
    return group;
  }
  group.partition = plan_.grid.groups(plan_.shard_group, plan_.tensor);
  group.has_copies = plan_.shard_group < plan_.replicas();
  if (group.has_copies)
    group.copies = plan_.grid.groups(plan_.replicas() / plan_.shard_group, plan_.tensor * plan_.shard_group);
  return group;
}

/// Where a shard group is smaller than all replicas, reduced shards are summed over its copies.
void LlmEmission::over_replicas(std::string_view name, CollectiveKind kind, double bytes, double times, bool experts,
                                std::uint32_t table, std::span<const TaskId> deps, std::vector<TaskId>& out,
                                graph::Phase phase) {
  if (bytes <= 0) return;
  const Group group = group_of(experts);
  const auto add = [&](const graph::Partition& groups, CollectiveKind of_kind, double size) {
    const auto n = static_cast<std::int64_t>(std::max(1.0, std::round(times)));
    if (groups.size < 2 || size * times / static_cast<double>(n) < 1) return;
    graph::Collective op{of_kind, std::llround(size * times / static_cast<double>(n)), plan_.numerics.gradient, {}, {}};
    op.times = n;
    graph::TaskGraphBuilder::Options options{kReplicaStream, phase, {1, 1}};
    options.skipped_where_absent = table != graph::Task::kUniform;
    out.push_back(graph_.add_collective(name, options, op, graph_.add_partition(groups), deps, table));
  };
  const bool sums = kind != CollectiveKind::all_gather;
  if (experts && plan_.framework.gradients.sync == GradientSync::per_tensor) times = std::max(times, 1.0);
  add(group.partition, kind, bytes);
  if (!group.has_copies || !sums) return;
  const double share = kind == CollectiveKind::reduce_scatter ? bytes / plan_.shard_group : bytes;
  add(group.copies, CollectiveKind::all_reduce, share);
}

std::uint32_t LlmEmission::table_of(const std::vector<bool>& stages) { return messages_.table_of(stages); }

/// All buckets but one overlap.
double LlmEmission::hidden_share(double parameters) const {
  const double bucket = static_cast<double>(plan_.framework.gradients.bucket_size.value()) / 4;
  return 1 - 1 / std::max(1.0, std::ceil(parameters / bucket));
}

/// Split optimizers have updated shards of the weights: the others' are gathered, in whole or the first bucket.
void LlmEmission::gather_parameters(bool first_part) {
  const bool kept_whole = mode_of(plan_.model) != StepMode::train && !plan_.splits(StateSplit::weights);
  if (!plan_.splits(StateSplit::optimizer) || kept_whole) return;
  const bool overlaps = plan_.framework.parallel.overlap_parameters;
  std::map<SharedWeights, std::vector<bool>> alike;
  for (std::uint32_t s = 0; s < plan_.stages; ++s)
    alike.try_emplace(gathered_weights(plan_, s), plan_.stages, false).first->second[s] = true;
  std::vector<TaskId> gathered;
  const std::vector<TaskId> before = now();
  for (const auto& [weights, stages] : alike) {
    for (const bool experts : {false, true}) {
      const double parameters = experts ? weights.expert : weights.dense;
      const double hidden = overlaps ? hidden_share(parameters) : 0;
      over_replicas(experts ? "weights.gather.experts" : "weights.gather", CollectiveKind::all_gather,
                    parameters * gathered_width(plan_) * (first_part ? 1 - hidden : hidden), 1, experts,
                    table_of(stages), before, gathered, graph::Phase::exchange);
    }
  }
  if (first_part)
    waits_.insert(waits_.end(), gathered.begin(), gathered.end());
  else
    synced_.insert(synced_.end(), gathered.begin(), gathered.end());
}

/// The rest of the weights, while the first micro-batch passes.
void LlmEmission::first_parameters(std::span<const TaskId>) {
  if (plan_.framework.parallel.overlap_parameters) gather_parameters(false);
}

/// Gradients of chunks, `share` of them, `times` over.
void LlmEmission::reduce(const Chunks& chunks, double share, double times, std::span<const TaskId> deps) {
  if (share <= 0) return;
  const bool scatters = plan_.splits(StateSplit::optimizer);
  std::map<std::uint32_t, std::vector<bool>> alike;
  for (std::uint32_t s = 0; s < plan_.stages; ++s) {
    if (chunks[s] < 0) continue;
    alike.try_emplace(plan_.kind_of[static_cast<std::size_t>(chunks[s])], plan_.stages, false).first->second[s] = true;
  }
  for (const auto& [kind, stages] : alike) {
    const PartWork& work = plan_.kinds[kind].work;
    for (const bool experts : {false, true}) {
      over_replicas(experts ? "gradients.experts" : "gradients",
                    scatters ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce,
                    (experts ? work.trained_expert : work.trained_dense) * width_of(plan_.numerics.gradient) * share,
                    times, experts, table_of(stages), deps, synced_);
    }
  }
}

/// Of the gradients of the last backward pass of chunks, what is reduced during it.
double LlmEmission::hidden_gradients(const Chunks& chunks) const {
  if (!plan_.framework.gradients.overlap) return 0;
  double parameters = 0;
  for (const std::int64_t chunk : chunks)
    if (chunk >= 0) parameters = std::max(parameters, plan_.chunk(static_cast<std::uint32_t>(chunk)).work.trained());
  return hidden_share(parameters);
}

/// The last `times` backward passes, whose gradients are complete, and the reductions of these: buckets beside them, which the
/// host launches while it launches the passes, and the rest after.
void LlmEmission::last_pass(Way way, const Chunks& chunks, const Chunks& complete, double times,
                            const std::vector<bool>& paired) {
  const double hidden = hidden_gradients(complete);
  reduce(complete, hidden, times, now());
  pass(way, chunks, {times}, paired);
  // The last gradients follow the last exchange of the tensor-parallel group.
  reduce(complete, 1 - hidden, times, now());
}

void LlmEmission::sharded_exchange(const LlmChunk& chunk, CollectiveKind kind, double share, double times,
                                   std::span<const TaskId> deps, std::vector<TaskId>& out) {
  const bool gathers = kind == CollectiveKind::all_gather;
  const double dense = gathers ? chunk.work.dense : chunk.work.trained_dense;
  const double expert = gathers ? chunk.work.expert : chunk.work.trained_expert;
  const double width = gathers ? gathered_width(plan_) : width_of(plan_.numerics.gradient);
  // One call a block.
  const double calls = std::max(1.0, std::round(share * static_cast<double>(chunk.blocks)));
  for (const bool experts : {false, true}) {
    const double bytes = (experts ? expert : dense) * width * share / calls;
    const std::string name = std::string(gathers ? "weights.gather" : "gradients") + (experts ? ".experts" : "");
    over_replicas(name, kind, bytes, times * calls, experts, graph::Task::kUniform, deps, out,
                  gathers ? graph::Phase::exchange : graph::Phase::gradient_sync);
  }
}

/// Each block is gathered while the one before computes; gradients are reduced while the next one computes.
void LlmEmission::sharded_micro_steps(double times, bool reduces) {
  const LlmChunk& chunk = plan_.kinds.front();
  const double blocks = static_cast<double>(chunk.blocks + 1), most = 1 - 1 / blocks;
  const bool overlaps = plan_.parallel.prefetch > 0 && plan_.parallel.overlap_parameters != Switch::off;
  const Chunks chunks{0};
  const auto gather = [&](double share, std::span<const TaskId> deps, std::vector<TaskId>& out) {
    sharded_exchange(chunk, CollectiveKind::all_gather, share, times, deps, out);
  };
  const auto passes = [&](Way way, bool gathers) {
    const std::vector<TaskId> start = now();
    if (gathers) {
      std::vector<TaskId> first;
      gather(overlaps ? 1 - most : 1, start, first);
      waits_.insert(waits_.end(), first.begin(), first.end());
    }
    const std::vector<TaskId> begin = now();
    if (way == Way::backward) last_backward_ = begin;
    std::vector<TaskId> beside;
    if (gathers && overlaps) gather(most, begin, beside);
    if (way == Way::backward && reduces && overlaps)
      sharded_exchange(chunk, CollectiveKind::reduce_scatter, most, times, begin, synced_);
    pass(way, chunks, {times, 0, most});
    waits_.insert(waits_.end(), beside.begin(), beside.end());
    pass(way, chunks, {times, most, 1});
  };
  passes(Way::forward, true);
  if (infers()) return;
  passes(Way::backward, !plan_.framework.parallel.keep_gathered);
  if (reduces) sharded_exchange(chunk, CollectiveKind::reduce_scatter, overlaps ? 1 - most : 1, times, now(), synced_);
}

void LlmEmission::sum_word_embedding() {
  const graph::DType dtype = plan_.numerics.gradient;
  const graph::Collective op{
      CollectiveKind::all_reduce, std::llround(plan_.tied_elements() * width_of(dtype)), dtype, {}, {}};
  synced_.push_back(messages_.sum_of_ends("gradients.word_embedding", kReplicaStream, op, now()));
}

/// Gradients of chunks that two stages hold: what reductions have left of them on a rank.
void LlmEmission::sum_copies() {
  const bool split = plan_.splits(StateSplit::optimizer);
  const graph::DType dtype = plan_.numerics.gradient;
  const std::vector<TaskId> deps = all();
  for (std::uint32_t s = 0; s < plan_.stages / 2; ++s) {
    double elements = 0;
    for (std::uint32_t c = 0; c < plan_.pipeline.chunks(); ++c) {
      const PartWork& w = plan_.chunk_of_stage(s, c).work;
      elements += w.trained_dense / (split ? plan_.shard_group : 1) +
                  w.trained_expert / (split ? std::max(1u, plan_.expert_replicas()) : 1);
    }
    const graph::Collective sum{CollectiveKind::all_reduce, std::llround(elements * width_of(dtype)), dtype, {}, {}};
    if (sum.bytes > 0)
      synced_.push_back(messages_.sum_of_two("gradients.copies", kReplicaStream, sum, {s, plan_.stages - 1 - s}, deps));
  }
}

/// Those of a chunk that the rank's optimizer updates.
double LlmEmission::owned_parameters(const PartWork& w) const {
  if (!plan_.splits(StateSplit::optimizer)) return w.trained();
  const double groups = static_cast<double>(plan_.replicas()) / plan_.shard_group;
  const double copies = plan_.pipeline.copies();
  const double expert_owners = copies * std::max(1.0, plan_.expert_replicas() / groups);
  return w.trained_dense / (copies * plan_.shard_group) + w.trained_expert / expert_owners;
}

/// What was scattered to a rank is added to its sum of earlier micro-steps, block by block.
void LlmEmission::add_to_shards(double times, std::span<const TaskId> deps) {
  const LlmChunk& chunk = plan_.kinds.front();
  const auto n = std::llround(owned_parameters(chunk.work));
  if (n < 1) return;
  const graph::DType dtype =
      plan_.framework.parallel.main_gradient_bytes == 4 ? graph::DType::fp32 : plan_.numerics.gradient;
  const std::pair<graph::Op, double> sum{graph::Elementwise{n, 2, 1, 1, dtype}, times};
  const std::uint32_t calls = static_cast<std::uint32_t>(times * static_cast<double>(chunk.blocks + 1));
  const auto options = compute_options(Way::backward, {calls, calls});
  compute_ = graph_.add("gradients.accumulate", options, graph_.add_sequence({&sum, 1}), deps);
  waits_.clear();
}

UpdateKernels update_kernels(const ModelSpec& model, const FrameworkSpec& framework, std::int64_t parameters,
                             std::int64_t tensors) {
  const Numerics numerics = numerics_of(model.precision, framework);
  const bool narrow = numerics.mixed && !framework.parallel.master_weights;
  const graph::DType weight = narrow ? numerics.activation : graph::DType::fp32;
  const double reads = framework.parallel.main_gradient_bytes == 0 ? 0.5 : 1.0;
  return {{parameters, reads, 0, 2, graph::DType::fp32},
          {model.optimizer, parameters, tensors, weight, numerics.mixed && !narrow, weight}};
}

/// Norm of the gradients, overflow check in fp16, update: shares of the stages.
void LlmEmission::update() {
  std::vector<graph::Op> norms, updates;
  std::vector<double> parameters_of_stage;
  std::vector<std::uint32_t> variant_of_stage;
  std::map<std::pair<double, double>, std::uint32_t> known;
  for (std::uint32_t s = 0; s < plan_.stages; ++s) {
    double parameters = 0, tensors = 0;
    for (std::uint32_t c = 0; c < plan_.pipeline.chunks(); ++c) {
      const PartWork& w = plan_.chunk_of_stage(s, c).work;
      parameters += owned_parameters(w);
      tensors += w.tensors;
    }
    parameters_of_stage.push_back(parameters);
    const auto [it, is_new] = known.try_emplace({parameters, tensors}, static_cast<std::uint32_t>(updates.size()));
    variant_of_stage.push_back(it->second);
    if (!is_new) continue;
    const auto n = std::max<std::int64_t>(1, std::llround(parameters));
    const UpdateKernels kernels =
        update_kernels(plan_.model, plan_.framework, n, std::max<std::int64_t>(1, std::llround(tensors)));
    norms.emplace_back(kernels.norm);
    updates.emplace_back(kernels.step);
  }
  graph::TaskGraphBuilder::Options options{graph::Stream::compute, graph::Phase::optimizer, {4, 4}};
  const auto add = [&](std::string_view name, std::vector<graph::Op> ops, std::span<const TaskId> deps) {
    if (!plan_.pipelined()) return graph_.add(name, options, std::move(ops.front()), deps);
    return graph_.add_per_rank(name, options, std::move(ops), messages_.table_of(variant_of_stage), deps);
  };
  const TaskId norm = add("optimizer.norm", std::move(norms), all());
  std::vector<TaskId> before{norm};
  if (plan_.ranks() > 1) {
    const graph::Collective sum{CollectiveKind::all_reduce, 8, graph::DType::fp32, {}, {}};
    graph::TaskGraphBuilder::Options of_sum{kReplicaStream, graph::Phase::optimizer, {1, 1}};
    of_sum.between_stages = plan_.pipelined();
    before.push_back(graph_.add_collective("optimizer.norm.sum", of_sum, sum,
                                           graph::Partition::strided(plan_.ranks(), 1), std::vector<TaskId>{norm}));
  }
  if (plan_.model.precision == Precision::fp16 && plan_.framework.host.loss_scale_sync) {
    graph::TaskGraphBuilder::Options check{graph::Stream::compute, graph::Phase::optimizer, {1, 1}, true};
    before.push_back(graph_.add("optimizer.overflow_check", check, graph::Copy{graph::CopyKind::d2h, 4}, before));
  }
  if (plan_.optimizer_on_host()) return update_on_host(parameters_of_stage, before);
  add("optimizer.update", std::move(updates), before);
}

}  // namespace distsim::workload
