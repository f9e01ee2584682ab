// A captured graph whose weights, gradients and optimizer state are split over the ranks.
#include "sim/workload/graph/gradient_sync.hpp"
#include "sim/workload/graph/input.hpp"
#include "sim/workload/graph/memory.hpp"
#include "sim/workload/graph/micro_steps.hpp"
#include "sim/workload/opgraph/split/sharded_weights.hpp"
#include "sim/workload/specs/step_mode.hpp"

namespace distsim::workload {
namespace {

class ShardedIteration {
 public:
  ShardedIteration(const CapturedModel& m, WeightSplit split)
      : m_(m),
        state_(m, m.graph, m.checkpoints, split),
        parts_(m.spec, m.graph, m.checkpoints, state_.ends()),
        it_(m.samples.ranks, m.framework, numerics_of(m.model.precision, m.framework)),
        weights_(m, state_, it_),
        stacks_([this](std::int64_t n) { return parts_.layers(n, it_.context(), coverage_); }) {}

  Result<Workload> build() {
    const std::vector<Layer>& layers = stacks_.of(m_.samples.micro_step(0)).largest();
    out_.memory = {state_.memory(it_.numerics())};
    out_.memory.front().activations = saved_bytes_of(layers);
    TRY(check_or_assume(out_, m_.model, m_.samples.ranks, m_.cluster.memory_per_gpu));
    describe(layers);
    std::size_t tasks = 2 * state_.units().size();
    for (const Layer& layer : layers) tasks += layer.forward.size() + layer.backward.size();
    TRY(check_micro_steps(m_.samples.micro_steps, tasks));
    for (std::int64_t step = 0; step < m_.samples.micro_steps; ++step) micro_step(step);
    if (mode_of(m_.model) == StepMode::train)
      add_optimizer(it_, m_.model.optimizer, state_.share_of(state_.parameters()), state_.tensors(),
                    m_.model.precision == Precision::fp16);
    TRY_ASSIGN(out_.graph, std::move(it_).finish());
    m_.describe(out_, coverage_);
    return std::move(out_);
  }

 private:
  void micro_step(std::int64_t step) {
    const SampleSplit split = m_.samples.micro_step(step);
    const LayerStack& stack = stacks_.of(split);
    add_input(it_, split, m_.input_bytes);
    weights_.begin_step();
    for (std::size_t p = 0; p < parts_.parts().size(); ++p) {
      const GraphPart& part = parts_.parts()[p];
      weights_.before(part);
      if (part.forward)
        it_.add_forward(stack, p, split);
      else
        it_.add_backward(stack, p, split);
      weights_.after(part);
    }
    weights_.end_step(step > 0);
  }

  void describe(const std::vector<Layer>& layers) {
    const double per_sample = forward_matrix_flops(layers) / static_cast<double>(m_.samples.micro_step(0).largest());
    out_.samples = static_cast<double>(m_.samples.total);
    out_.model_flops = coverage_.work_of_forward() * per_sample * out_.samples;
    out_.precision = m_.model.precision;
    out_.dense_parameters = state_.parameters();
    out_.assumptions.push_back({graph::AssumptionKind::batch, m_.samples.describe()});
    out_.placement = state_.text() + "\n";
    if (state_.units().size() == 1)
      out_.assumptions.push_back(
          {graph::AssumptionKind::workload,
           "graph: all weights are one unit, gathered at once: model.graph.units names the modules of others"});
  }

  const CapturedModel& m_;
  ShardedState state_;
  GraphParts parts_;
  GraphCoverage coverage_;
  Iteration it_;
  ShardedWeights weights_;
  LayerStacks stacks_;
  Workload out_;
};

}  // namespace

Result<Workload> build_sharded(const CapturedModel& model, StateSplit state) {
  TRY_ASSIGN(const WeightSplit split, weight_split(model, state));
  return ShardedIteration(model, split).build();
}

}  // namespace distsim::workload
