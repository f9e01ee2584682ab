#include "sim/workload/graph/data_parallel.hpp"

#include <algorithm>
#include <utility>

#include "base/text/counted.hpp"
#include "sim/workload/graph/gradient_sync.hpp"
#include "sim/workload/graph/input.hpp"
#include "sim/workload/graph/memory.hpp"
#include "sim/workload/graph/micro_steps.hpp"
#include "sim/workload/specs/step_mode.hpp"

namespace distsim::workload {
namespace {

/// First layer of the checkpointed block that ends with layer `last`.
std::size_t block_start(const std::vector<Layer>& layers, std::size_t last) {
  std::size_t first = last;
  while (first > 0 && layers[first - 1].block == layers[last].block) --first;
  return first;
}

/// Operations that kernels of layers have for each of `samples`; those of checkpointed blocks are repeated.
SampleFlops flops_of_kernels(const std::vector<Layer>& layers, std::int64_t samples) {
  double repeated = 0;
  for (const Layer& layer : layers) repeated += layer.block == Layer::kNoBlock ? 0 : matrix_flops(layer.forward);
  const auto n = static_cast<double>(samples);
  return {forward_matrix_flops(layers) / n, repeated / n};
}

/// With checkpointing a block keeps only its input, and one block at a time is recomputed in full.
std::int64_t activation_bytes(const std::vector<Layer>& layers) {
  std::int64_t kept = 0, largest_block = 0;
  for (std::size_t end = layers.size(); end > 0;) {
    const bool checkpointed = layers[end - 1].block != Layer::kNoBlock;
    const std::size_t first = checkpointed ? block_start(layers, end - 1) : end - 1;
    std::int64_t whole = 0;
    for (std::size_t i = first; i < end; ++i) whole += layers[i].saved_bytes;
    kept += checkpointed ? layers[first].input_bytes : whole;
    if (checkpointed) largest_block = std::max(largest_block, whole);
    end = first;
  }
  return kept + largest_block;
}

/// Of inference: what two neighbouring layers hold, of which one writes what the other reads.
std::int64_t passing_bytes(const std::vector<Layer>& layers) {
  std::int64_t most = 0, before = 0;
  for (const Layer& layer : layers) {
    most = std::max(most, before + layer.saved_bytes);
    before = layer.saved_bytes;
  }
  return most;
}

/// A forward pass that nothing is learned from: no loss, and batch norms that scale and shift by what they have learned.
std::vector<Layer> without_training(std::vector<Layer> layers) {
  for (Layer& layer : layers) {
    std::erase_if(layer.forward, [](const LayerOp& op) { return std::holds_alternative<graph::Loss>(op.op); });
    for (LayerOp& op : layer.forward) {
      const auto* norm = std::get_if<graph::Normalization>(&op.op);
      if (norm != nullptr && norm->kind == graph::NormKind::batch)
        op.op = graph::Elementwise{norm->rows * norm->cols, 1, 1, 2, norm->dtype};
    }
    layer.backward.clear();
  }
  return layers;
}

LayerFactory in_mode(const LayerFactory& layers, StepMode mode) {
  if (mode != StepMode::inference) return layers;
  return [layers](std::int64_t samples) { return without_training(layers(samples)); };
}

class DataParallelIteration {
 public:
  DataParallelIteration(const ModelSpec& model, const FrameworkSpec& framework, const SamplePlan& samples,
                        const DataParallelModel& parts)
      : model_(model),
        samples_(samples),
        parts_(parts),
        it_(samples.ranks, framework, numerics_of(model.precision, framework)),
        stacks_(in_mode(parts.layers, mode_of(model))) {}

  Result<Workload> build(const ClusterShape& cluster) {
    const std::vector<Layer>& layers = stacks_.of(samples_.micro_step(0)).largest();
    TRY(fill_memory(layers, cluster));
    describe(layers);
    std::size_t tasks = 0;
    for (const Layer& layer : layers) tasks += layer.forward.size() + layer.backward.size();
    TRY(check_micro_steps(samples_.micro_steps, tasks));
    run(layers);
    TRY_ASSIGN(out_.graph, std::move(it_).finish());
    return std::move(out_);
  }

 private:
  Result<void> fill_memory(const std::vector<Layer>& layers, const ClusterShape& cluster) {
    out_.memory = {memory_of_layers(layers, model_, it_.framework(), it_.ranks())};
    out_.memory.front().weights += parts_.kept_bytes;
    return check_or_assume(out_, model_, samples_.ranks, cluster.memory_per_gpu);
  }

  void describe(const std::vector<Layer>& layers) {
    const SampleFlops of_sample =
        parts_.flops ? *parts_.flops : flops_of_kernels(layers, samples_.micro_step(0).largest());
    out_.samples = static_cast<double>(samples_.total);
    out_.model_flops = (infers() ? 1 : 3) * of_sample.forward * out_.samples;
    if (!infers()) out_.repeated_flops = of_sample.repeated * out_.samples;
    out_.precision = model_.precision;
    out_.dense_parameters = parameters_of(layers);
    out_.assumptions.push_back({graph::AssumptionKind::batch, samples_.describe()});
    const auto held = static_cast<std::uint64_t>(out_.dense_parameters + parts_.kept_parameters);
    out_.placement = "data parallel: every rank holds all " + counted(held, "parameter") + "\n";
  }

  bool infers() const { return mode_of(model_) == StepMode::inference; }

  void run(const std::vector<Layer>& layers) {
    if (infers()) {
      accumulate_all_but_last();
      return micro_step(samples_.micro_steps - 1, nullptr);
    }
    std::vector<PendingGradient> pending;
    append_gradients(pending, layers);
    GradientSynchronizer sync(it_, pending);
    accumulate_all_but_last();
    micro_step(samples_.micro_steps - 1, &sync);
    sync.finish();
    if (mode_of(model_) != StepMode::train) return end();
    add_optimizer(it_, model_.optimizer, out_.dense_parameters, static_cast<std::int64_t>(pending.size()),
                  model_.precision == Precision::fp16);
  }

  /// Nothing else may come after the last gradients: their sum holds back the next iteration.
  void end() {
    if (it_.ranks() > 1)
      it_.add("iteration.end", {graph::Stream::compute, graph::Phase::other, {0, 0}}, {graph::Absent{}});
  }

  /// Micro-steps from the second on are alike as long as they have the same samples; alike ones share their ops.
  void accumulate_all_but_last() {
    TaskId begin;
    for (std::int64_t step = 0; step + 1 < samples_.micro_steps; ++step) {
      if (step >= 2 && samples_.micro_step(step) == samples_.micro_step(step - 1)) {
        const TaskId next = it_.end_id();
        it_.repeat_since(begin);
        begin = next;
        continue;
      }
      begin = it_.end_id();
      micro_step(step, nullptr);
    }
  }

  void micro_step(std::int64_t step, GradientSynchronizer* sync) {
    const SampleSplit split = samples_.micro_step(step);
    const LayerStack& stack = stacks_.of(split);
    add_sampling(it_, split, parts_.sampling_per_sample, parts_.sampling_overlaps);
    add_input(it_, split, parts_.input_bytes_per_sample);
    it_.add_forward(stack, split);
    if (infers()) return;
    const std::vector<Layer>& layers = stack.largest();
    // Nothing clears gradients that no optimizer has used.
    const bool adds = step > 0 || mode_of(model_) == StepMode::forward_backward;
    for (std::size_t end = layers.size(); end > 0;) {
      const bool checkpointed = layers[end - 1].block != Layer::kNoBlock;
      const std::size_t first = checkpointed ? block_start(layers, end - 1) : end - 1;
      for (std::size_t i = first; checkpointed && i < end; ++i)
        it_.add_forward(stack, i, split, graph::Phase::backward);
      while (end > first) add_backward_of(it_, stack, --end, split, adds, sync);
    }
  }

  const ModelSpec& model_;
  const SamplePlan& samples_;
  const DataParallelModel& parts_;
  Iteration it_;
  LayerStacks stacks_;
  Workload out_;
};

}  // namespace

RankMemory memory_of_layers(const std::vector<Layer>& layers, const ModelSpec& model, const FrameworkSpec& framework,
                            std::uint32_t ranks) {
  const Numerics numerics = numerics_of(model.precision, framework);
  RankMemory memory = dense_memory(parameters_of(layers), model.optimizer, numerics, ranks);
  memory.activations = activation_bytes(layers);
  if (mode_of(model) != StepMode::train) memory.optimizer = 0;
  if (mode_of(model) != StepMode::inference) return memory;
  memory.gradients = memory.buffers = 0;
  // What the optimizer updates in fp32 is nothing that a forward pass reads, unless it casts that.
  if (numerics.mixed && !framework.kernels.cast_weights) memory.weights = 2 * parameters_of(layers);
  memory.activations = passing_bytes(layers);
  return memory;
}

LayerContext layer_context(const ModelSpec& model, const FrameworkSpec& framework) {
  return {numerics_of(model.precision, framework), &framework};
}

Result<Workload> build_data_parallel(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& shape,
                                     const SamplePlan& samples, const DataParallelModel& parts) {
  return DataParallelIteration(model, framework, samples, parts).build(shape);
}

}  // namespace distsim::workload
