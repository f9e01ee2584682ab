#include "sim/workload/opgraph/split/sharded_weights.hpp"

#include <algorithm>

#include "base/text/counted.hpp"
#include "sim/workload/graph/gradient_sync.hpp"
#include "sim/workload/graph/memory.hpp"
#include "sim/workload/specs/step_mode.hpp"

namespace distsim::workload {

using graph::CollectiveKind;

Result<WeightSplit> weight_split(const CapturedModel& model, StateSplit state) {
  const std::uint32_t ranks = model.samples.ranks;
  const std::int64_t asked = model.model.parallel.shard_group;
  if (asked > ranks || (asked > 0 && ranks % asked != 0))
    return Error{"model.parallel.shard_group: found " + std::to_string(asked) + ", expected a divisor of " +
                     std::to_string(ranks) + ", the GPUs of the job",
                 "", ""};
  return WeightSplit{state, asked == 0 ? ranks : static_cast<std::uint32_t>(asked)};
}

ShardedState::ShardedState(const CapturedModel& model, const opgraph::OpGraph& graph, const Checkpoints& checkpoints,
                           WeightSplit split)
    : m_(model), nodes_(graph.nodes.size()), split_(split), units_(shard_units(graph, model.spec.units, checkpoints)) {
  for (const ShardUnit& u : units_) parameters_ += u.parameters, frozen_ += u.frozen, tensors_ += u.tensors;
  prefetch_ =
      m_.model.parallel.overlap_parameters == Switch::off ? 0 : static_cast<std::size_t>(m_.model.parallel.prefetch);
}

std::vector<bool> ShardedState::ends() const {
  std::vector<bool> ends(nodes_, false);
  for (const ShardUnit& u : units_) {
    for (const std::uint32_t need : {u.forward, u.backward}) {
      if (need != ShardUnit::kNever && need > 0) ends[need - 1] = true;
    }
  }
  return ends;
}

std::vector<std::size_t> ShardedState::order_of(std::uint32_t ShardUnit::*when) const {
  std::vector<std::size_t> out;
  for (std::size_t u = 0; u < units_.size(); ++u) {
    if (units_[u].*when != ShardUnit::kNever) out.push_back(u);
  }
  std::ranges::stable_sort(out, {}, [&](std::size_t u) { return units_[u].*when; });
  return out;
}

std::int64_t ShardedState::gathered_width(const Numerics& numerics) const {
  return numerics.mixed && m_.spec.amp == Amp::half && m_.framework.parallel.gather_16_bit ? 2 : 4;
}

/// What is gathered at the same time: the root, and of the others a unit with those that are gathered ahead.
std::int64_t ShardedState::most_gathered() const {
  if (split_.state != StateSplit::weights || m_.framework.parallel.keep_gathered) return parameters_ + frozen_;
  std::int64_t root = 0, most = 0;
  std::vector<std::int64_t> others;
  for (const std::size_t u : order_of(&ShardUnit::forward)) {
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

RankMemory ShardedState::memory(const Numerics& n) const {
  const std::int64_t width = graph::size_of(n.gradient);
  std::int64_t largest = 0;
  for (const ShardUnit& u : units_) largest = std::max(largest, u.parameters);
  RankMemory m;
  m.weights = 4 * share_of(parameters_ + frozen_) + m_.kept.buffer_bytes +
              (split_.group > 1 ? most_gathered() * gathered_width(n) : 0);
  if (n.mixed && m_.spec.amp == Amp::autocast) m.weights += 2 * parameters_;  // casts that autograd keeps
  m.gradients = (split_.state == StateSplit::optimizer ? parameters_ : share_of(parameters_) + largest) * width;
  if (mode_of(m_.model) == StepMode::train)
    m.optimizer = share_of(parameters_) * state_bytes_per_parameter(m_.model.optimizer);
  return m;
}

std::string ShardedState::text() const {
  const char* what = split_.state == StateSplit::weights     ? "weights, gradients and optimizer state"
                     : split_.state == StateSplit::gradients ? "gradients and optimizer state"
                                                             : "optimizer state";
  return std::string(what) + " of " + counted(parameters_, "parameter") + " split over " +
         counted(split_.group, "rank") + ", in " + counted(units_.size(), "unit");
}

ShardedWeights::ShardedWeights(const CapturedModel& model, const ShardedState& state, Iteration& iteration)
    : m_(model),
      state_(state),
      it_(iteration),
      forward_(state.order_of(&ShardUnit::forward)),
      backward_(state.order_of(&ShardUnit::backward)),
      gathered_(state.units().size()) {}

/// Weights are gathered anew for the backward pass; those of the root never.
bool ShardedWeights::gathers_again(std::size_t unit) const {
  return state_.split().state == StateSplit::weights && !m_.framework.parallel.keep_gathered && !state_.is_root(unit);
}

void ShardedWeights::begin_step() {
  std::ranges::fill(gathered_, TaskId{});
  ahead_forward_ = ahead_backward_ = 0;
  last_ = {};
  it_.begin_after_last_iteration();  // whose optimizer has updated what is gathered
}

void ShardedWeights::before(const GraphPart& part) {
  if (part.forward)
    gather_for(part.begin, forward_, &ShardUnit::forward, ahead_forward_);
  else
    gather_for(part.begin, backward_, &ShardUnit::backward, ahead_backward_);
}

void ShardedWeights::after(const GraphPart& part) {
  for (std::size_t u = 0; u < state_.units().size(); ++u) {
    if (state_.units()[u].complete != ShardUnit::kNever && state_.units()[u].complete + 1 == part.end) reduce(u);
  }
}

void ShardedWeights::end_step(bool accumulate) {
  it_.compute_waits_for(last_);
  if (accumulate)
    it_.add("gradients.accumulate", {graph::Stream::compute, graph::Phase::backward, {0, capped(state_.tensors())}},
            {graph::Elementwise{state_.share_of(state_.parameters()), 2, 1, 1, it_.numerics().gradient}});
}

/// The unit that the node is the first to need, and as many of those that follow it as are gathered ahead.
void ShardedWeights::gather_for(std::uint32_t node, const std::vector<std::size_t>& order,
                                std::uint32_t ShardUnit::*when, std::size_t& ahead) {
  const bool again = when == &ShardUnit::backward;
  for (std::size_t k = 0; k < order.size(); ++k) {
    if (state_.units()[order[k]].*when != node) continue;
    for (; ahead < std::min(order.size(), k + 1 + state_.prefetch()); ++ahead) {
      const std::size_t unit = order[ahead];
      if (!again || gathers_again(unit)) gathered_[unit] = gather(unit);
    }
    it_.compute_waits_for(gathered_[order[k]]);
    gathered_[order[k]] = {};
  }
}

TaskId ShardedWeights::gather(std::size_t unit) {
  const std::int64_t width = state_.gathered_width(it_.numerics());
  return exchange("weights.gather." + state_.units()[unit].name, it_.exchange_stream(), graph::Phase::exchange,
                  CollectiveKind::all_gather, state_.units()[unit].gathered() * width,
                  width == 2 ? it_.numerics().activation : graph::DType::fp32);
}

TaskId ShardedWeights::exchange(const std::string& name, graph::Stream stream, graph::Phase phase, CollectiveKind kind,
                                std::int64_t bytes, graph::DType dtype) {
  const std::uint32_t group = state_.split().group;
  if (group < 2) return {};
  graph::Collective op;
  op.kind = kind, op.bytes = bytes, op.dtype = dtype;
  return it_.add_collective(name, stream, phase, std::move(op), graph::Partition::strided(group, 1));
}

/// Divided by the ranks before they are summed; where a group is smaller than all ranks, shards are summed over its
/// copies.
void ShardedWeights::reduce(std::size_t unit) {
  const graph::DType dtype = it_.numerics().gradient;
  const ShardUnit& u = state_.units()[unit];
  const std::uint32_t group = state_.split().group;
  const std::string name = "gradients." + u.name;
  it_.add(name + ".divide", {graph::Stream::compute, graph::Phase::gradient_sync, {1, 1}},
          {graph::Elementwise{u.parameters, 1, 1, 1, dtype}});
  const TaskId scattered = exchange(name + ".reduce_scatter", it_.gradient_stream(), graph::Phase::gradient_sync,
                                    CollectiveKind::reduce_scatter, u.parameters * graph::size_of(dtype), dtype);
  if (scattered.valid()) last_ = scattered;
  if (group < m_.samples.ranks) {
    graph::Collective sum;
    sum.kind = CollectiveKind::all_reduce, sum.bytes = state_.share_of(u.parameters) * graph::size_of(dtype);
    sum.dtype = dtype;
    last_ = it_.add_collective(name + ".all_reduce", it_.gradient_stream(), graph::Phase::gradient_sync, std::move(sum),
                               graph::Partition::strided(m_.samples.ranks / group, group));
  }
  if (!is_on(m_.model.parallel.overlap_gradients, m_.framework.gradients.overlap)) it_.compute_waits_for(last_);
}

}  // namespace distsim::workload
