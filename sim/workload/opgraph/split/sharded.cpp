// Weights, gradients and optimizer state split over the ranks, as PyTorch's FSDP does it: a unit's weights are gathered
// before its part of a pass, and its gradients reduced to shards after its part of the backward pass.
#include <algorithm>
#include <cmath>

#include "base/text/counted.hpp"
#include "base/text/quantity_text.hpp"
#include "sim/workload/graph/data_parallel.hpp"
#include "sim/workload/graph/gradient_sync.hpp"
#include "sim/workload/graph/input.hpp"
#include "sim/workload/graph/memory.hpp"
#include "sim/workload/graph/micro_steps.hpp"
#include "sim/workload/opgraph/captured_model.hpp"
#include "sim/workload/opgraph/split/shard_units.hpp"
#include "sim/workload/specs/step_mode.hpp"

namespace distsim::workload {
namespace {

using graph::CollectiveKind;

std::vector<bool> ends_before_needs(const std::vector<ShardUnit>& units, std::size_t nodes) {
  std::vector<bool> ends(nodes, false);
  for (const ShardUnit& u : units) {
    for (const std::uint32_t need : {u.forward, u.backward}) {
      if (need != ShardUnit::kNever && need > 0) ends[need - 1] = true;
    }
  }
  return ends;
}

/// Places of the units, in the order in which a pass needs them; those that it never needs are left out.
std::vector<std::size_t> order_of(const std::vector<ShardUnit>& units, std::uint32_t ShardUnit::*when) {
  std::vector<std::size_t> out;
  for (std::size_t u = 0; u < units.size(); ++u) {
    if (units[u].*when != ShardUnit::kNever) out.push_back(u);
  }
  std::ranges::stable_sort(out, {}, [&](std::size_t u) { return units[u].*when; });
  return out;
}

class ShardedIteration {
 public:
  ShardedIteration(const CapturedModel& m, StateSplit split, std::uint32_t group)
      : m_(m),
        split_(split),
        group_(group),
        units_(shard_units(m.graph, m.spec.units, m.checkpoints)),
        parts_(m.spec, m.graph, m.checkpoints, ends_before_needs(units_, m.graph.nodes.size())),
        it_(m.samples.ranks, m.framework, numerics_of(m.model.precision, m.framework)),
        stacks_([this](std::int64_t n) { return parts_.layers(n, it_.context(), coverage_); }),
        gathered_(units_.size()) {
    for (const ShardUnit& u : units_) parameters_ += u.parameters, frozen_ += u.frozen, tensors_ += u.tensors;
    prefetch_ =
        m.model.parallel.overlap_parameters == Switch::off ? 0 : static_cast<std::size_t>(m.model.parallel.prefetch);
  }

  Result<Workload> build() {
    const std::vector<Layer>& layers = stacks_.of(m_.samples.micro_step(0)).largest();
    out_.memory = {memory_of(layers)};
    TRY(check_or_assume(out_, m_.model, m_.samples.ranks, m_.cluster.memory_per_gpu));
    describe(layers);
    std::size_t tasks = 2 * units_.size();
    for (const Layer& layer : layers) tasks += layer.forward.size() + layer.backward.size();
    TRY(check_micro_steps(m_.samples.micro_steps, tasks));
    for (std::int64_t step = 0; step < m_.samples.micro_steps; ++step) micro_step(step);
    if (mode_of(m_.model) == StepMode::train)
      add_optimizer(it_, m_.model.optimizer, share_of(parameters_), tensors_, m_.model.precision == Precision::fp16);
    TRY_ASSIGN(out_.graph, std::move(it_).finish());
    m_.describe(out_, coverage_);
    return std::move(out_);
  }

 private:
  std::int64_t share_of(std::int64_t n) const { return (n + group_ - 1) / group_; }
  bool is_root(std::size_t unit) const { return units_[unit].name == "root"; }
  /// Weights are gathered anew for the backward pass; those of the root never.
  bool gathers_again(std::size_t unit) const {
    return split_ == StateSplit::weights && !m_.framework.parallel.keep_gathered && !is_root(unit);
  }
  /// Autocasting casts what has been gathered.
  std::int64_t gathered_width() const {
    return it_.numerics().mixed && m_.spec.amp == Amp::half && m_.framework.parallel.gather_16_bit ? 2 : 4;
  }

  void micro_step(std::int64_t step) {
    const SampleSplit split = m_.samples.micro_step(step);
    const LayerStack& stack = stacks_.of(split);
    add_input(it_, split, m_.input_bytes);
    std::ranges::fill(gathered_, TaskId{});
    last_ = {};
    const std::vector<std::size_t> forward = order_of(units_, &ShardUnit::forward),
                                   backward = order_of(units_, &ShardUnit::backward);
    std::size_t ahead_forward = 0, ahead_backward = 0;
    for (std::size_t p = 0; p < parts_.parts().size(); ++p) {
      const GraphPart& part = parts_.parts()[p];
      if (part.forward) {
        gather_for(part.begin, forward, &ShardUnit::forward, ahead_forward);
        it_.add_forward(stack, p, split);
      } else {
        gather_for(part.begin, backward, &ShardUnit::backward, ahead_backward);
        it_.add_backward(stack, p, split);
      }
      for (std::size_t u = 0; u < units_.size(); ++u) {
        if (units_[u].complete + 1 == part.end) reduce(u);
      }
    }
    it_.compute_waits_for(last_);
    if (step > 0)
      it_.add("gradients.accumulate", {graph::Stream::compute, graph::Phase::backward, {0, capped(tensors_)}},
              {graph::Elementwise{share_of(parameters_), 2, 1, 1, it_.numerics().gradient}});
  }

  /// The unit that the node is the first to need, and as many of those that follow it as are gathered ahead.
  void gather_for(std::uint32_t node, const std::vector<std::size_t>& order, std::uint32_t ShardUnit::*when,
                  std::size_t& ahead) {
    const bool again = when == &ShardUnit::backward;
    for (std::size_t k = 0; k < order.size(); ++k) {
      if (units_[order[k]].*when != node) continue;
      for (; ahead < std::min(order.size(), k + 1 + prefetch_); ++ahead) {
        const std::size_t unit = order[ahead];
        if (!again || gathers_again(unit)) gathered_[unit] = gather(unit);
      }
      it_.compute_waits_for(gathered_[order[k]]);
      gathered_[order[k]] = {};
    }
  }

  TaskId gather(std::size_t unit) {
    return exchange("weights.gather." + units_[unit].name, it_.exchange_stream(), graph::Phase::exchange,
                    CollectiveKind::all_gather, units_[unit].gathered() * gathered_width(),
                    gathered_width() == 2 ? it_.numerics().activation : graph::DType::fp32);
  }

  TaskId exchange(const std::string& name, graph::Stream stream, graph::Phase phase, CollectiveKind kind,
                  std::int64_t bytes, graph::DType dtype) {
    if (group_ < 2) return {};
    graph::Collective op;
    op.kind = kind, op.bytes = bytes, op.dtype = dtype;
    return it_.add_collective(name, stream, phase, std::move(op), graph::Partition::strided(group_, 1));
  }

  /// Divided by the ranks before they are summed; where a group is smaller than all ranks, shards are summed over its
  /// copies.
  void reduce(std::size_t unit) {
    const graph::DType dtype = it_.numerics().gradient;
    const ShardUnit& u = units_[unit];
    const std::string name = "gradients." + u.name;
    it_.add(name + ".divide", {graph::Stream::compute, graph::Phase::gradient_sync, {1, 1}},
            {graph::Elementwise{u.parameters, 1, 1, 1, dtype}});
    const TaskId scattered = exchange(name + ".reduce_scatter", it_.gradient_stream(), graph::Phase::gradient_sync,
                                      CollectiveKind::reduce_scatter, u.parameters * graph::size_of(dtype), dtype);
    if (scattered.valid()) last_ = scattered;
    if (group_ < m_.samples.ranks) {
      graph::Collective sum;
      sum.kind = CollectiveKind::all_reduce, sum.bytes = share_of(u.parameters) * graph::size_of(dtype);
      sum.dtype = dtype;
      last_ = it_.add_collective(name + ".all_reduce", it_.gradient_stream(), graph::Phase::gradient_sync,
                                 std::move(sum), graph::Partition::strided(m_.samples.ranks / group_, group_));
    }
    if (!is_on(m_.model.parallel.overlap_gradients, m_.framework.gradients.overlap)) it_.compute_waits_for(last_);
  }

  /// What is gathered at the same time: the root, and of the others a unit with those that are gathered ahead.
  std::int64_t most_gathered() const {
    if (split_ != StateSplit::weights || m_.framework.parallel.keep_gathered) return parameters_ + frozen_;
    std::int64_t root = 0, most = 0;
    std::vector<std::int64_t> others;
    for (const std::size_t u : order_of(units_, &ShardUnit::forward)) {
      if (is_root(u))
        root = units_[u].gathered();
      else
        others.push_back(units_[u].gathered());
    }
    for (std::size_t i = 0; i < others.size(); ++i) {
      std::int64_t sum = 0;
      for (std::size_t k = i; k < std::min(others.size(), i + 1 + prefetch_); ++k) sum += others[k];
      most = std::max(most, sum);
    }
    return root + most;
  }

  RankMemory memory_of(const std::vector<Layer>& layers) const {
    const Numerics& n = it_.numerics();
    const std::int64_t width = graph::size_of(n.gradient);
    std::int64_t largest = 0;
    for (const ShardUnit& u : units_) largest = std::max(largest, u.parameters);
    RankMemory m;
    m.weights = 4 * share_of(parameters_ + frozen_) + m_.kept.buffer_bytes +
                (group_ > 1 ? most_gathered() * gathered_width() : 0);
    if (n.mixed && m_.spec.amp == Amp::autocast) m.weights += 2 * parameters_;  // casts that autograd keeps
    m.gradients = (split_ == StateSplit::optimizer ? parameters_ : share_of(parameters_) + largest) * width;
    if (mode_of(m_.model) == StepMode::train)
      m.optimizer = share_of(parameters_) * state_bytes_per_parameter(m_.model.optimizer);
    m.activations = saved_bytes_of(layers);
    return m;
  }

  void describe(const std::vector<Layer>& layers) {
    const double per_sample = forward_matrix_flops(layers) / static_cast<double>(m_.samples.micro_step(0).largest());
    out_.samples = static_cast<double>(m_.samples.total);
    out_.model_flops = coverage_.work_of_forward() * per_sample * out_.samples;
    out_.precision = m_.model.precision;
    out_.dense_parameters = parameters_;
    out_.assumptions.push_back({graph::AssumptionKind::batch, m_.samples.describe()});
    const char* what = split_ == StateSplit::weights     ? "weights, gradients and optimizer state"
                       : split_ == StateSplit::gradients ? "gradients and optimizer state"
                                                         : "optimizer state";
    out_.placement = std::string(what) + " of " + counted(parameters_, "parameter") + " split over " +
                     counted(group_, "rank") + ", in " + counted(units_.size(), "unit") + "\n";
    if (units_.size() == 1)
      out_.assumptions.push_back(
          {graph::AssumptionKind::workload,
           "graph: all weights are one unit, gathered at once: model.graph.units names the modules of others"});
  }

  const CapturedModel& m_;
  StateSplit split_;
  std::uint32_t group_;
  std::vector<ShardUnit> units_;
  GraphParts parts_;
  GraphCoverage coverage_;
  Iteration it_;
  LayerStacks stacks_;
  std::vector<TaskId> gathered_;  ///< of each unit, where nothing has waited for it
  std::size_t prefetch_ = 1;
  std::int64_t parameters_ = 0, frozen_ = 0, tensors_ = 0;
  TaskId last_;
  Workload out_;
};

}  // namespace

Result<Workload> build_sharded(const CapturedModel& model, StateSplit split) {
  const std::uint32_t ranks = model.samples.ranks;
  const std::int64_t asked = model.model.parallel.shard_group;
  if (asked > ranks || (asked > 0 && ranks % asked != 0))
    return Error{"model.parallel.shard_group: found " + std::to_string(asked) + ", expected a divisor of " +
                     std::to_string(ranks) + ", the GPUs of the job",
                 "", ""};
  return ShardedIteration(model, split, asked == 0 ? ranks : static_cast<std::uint32_t>(asked)).build();
}

}  // namespace distsim::workload
