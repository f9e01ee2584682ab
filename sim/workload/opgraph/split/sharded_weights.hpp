// Weights that are split over ranks as PyTorch's FSDP does it: a unit's are gathered before its part of a pass, and its
// gradients reduced to shards after its part of the backward pass.
#pragma once

#include <string>
#include <vector>

#include "sim/workload/graph/iteration.hpp"
#include "sim/workload/opgraph/captured_model.hpp"
#include "sim/workload/opgraph/split/shard_units.hpp"

namespace distsim::workload {

/// How weights are split, and over how many ranks that follow each other.
struct WeightSplit {
  StateSplit state = StateSplit::none;
  std::uint32_t group = 1;
};
/// Error: model.parallel.shard_group that does not divide the ranks.
Result<WeightSplit> weight_split(const CapturedModel& model, StateSplit state);

/// What a rank holds of the units, and what its optimizer updates.
class ShardedState {
 public:
  ShardedState(const CapturedModel& model, const opgraph::OpGraph& graph, const Checkpoints& checkpoints,
               WeightSplit split);

  const std::vector<ShardUnit>& units() const { return units_; }
  const WeightSplit& split() const { return split_; }
  /// Nodes after which a part of the graph ends, so that weights can be gathered before what needs them.
  std::vector<bool> ends() const;
  /// Without activations.
  RankMemory memory(const Numerics& numerics) const;
  std::int64_t share_of(std::int64_t n) const { return (n + split_.group - 1) / split_.group; }
  std::int64_t parameters() const { return parameters_; }
  std::int64_t tensors() const { return tensors_; }
  /// Units that follow the one that computes and are gathered meanwhile.
  std::size_t prefetch() const { return prefetch_; }
  bool is_root(std::size_t unit) const { return units_[unit].name == "root"; }
  /// Of a weight that travels. Autocasting casts what has been gathered.
  std::int64_t gathered_width(const Numerics& numerics) const;
  /// "weights, gradients and optimizer state of 7 parameters split over 8 ranks, in 3 units"
  std::string text() const;
  /// Places of the units, in the order in which a pass needs them; those that it never needs are left out.
  std::vector<std::size_t> order_of(std::uint32_t ShardUnit::*when) const;

 private:
  std::int64_t most_gathered() const;

  const CapturedModel& m_;
  std::size_t nodes_;
  WeightSplit split_;
  std::vector<ShardUnit> units_;
  std::size_t prefetch_ = 1;
  std::int64_t parameters_ = 0, frozen_ = 0, tensors_ = 0;
};

/// Its collectives in an iteration.
class ShardedWeights {
 public:
  ShardedWeights(const CapturedModel& model, const ShardedState& state, Iteration& iteration);

  void begin_step();
  void before(const GraphPart& part);
  void after(const GraphPart& part);
  /// Waits for the gradients; adds them to those of the steps before.
  void end_step(bool accumulate);

 private:
  void gather_for(std::uint32_t node, const std::vector<std::size_t>& order, std::uint32_t ShardUnit::*when,
                  std::size_t& ahead);
  TaskId gather(std::size_t unit);
  TaskId exchange(const std::string& name, graph::Stream stream, graph::Phase phase, graph::CollectiveKind kind,
                  std::int64_t bytes, graph::DType dtype);
  void reduce(std::size_t unit);
  bool gathers_again(std::size_t unit) const;

  const CapturedModel& m_;
  const ShardedState& state_;
  Iteration& it_;
  std::vector<std::size_t> forward_, backward_;  ///< units in the order in which the passes need them
  std::size_t ahead_forward_ = 0, ahead_backward_ = 0;
  std::vector<TaskId> gathered_;  ///< of each unit, where nothing has waited for it
  TaskId last_;
};

}  // namespace distsim::workload
