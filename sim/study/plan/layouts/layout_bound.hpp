// LayoutBound: how long an iteration takes at least, from the plan of a layout, without a task being written.
//
//   compute    m micro-batches through the chunks of each stage: kernels and the collectives that nothing hides (LayerTimes)
//   pipeline   stage s works from when the first micro-batch has passed the stages before it until the last one has passed
//              them on its way back: sum over i < s of forward_i + m x (forward_s + backward_s) + sum of backward_i, of
//              the stage for which that is most; i counts first chunks
//   replicas   on the first stage: updated weights gathered before (beside the update, as it is played), gradients reduced after, as far as neither a
//              kernel nor the last collectives of the backward pass hide them; norm and update
// A step without an optimizer (model.mode) has neither norm, update nor a gather after it; one of inference has the forward
// passes alone, and a stage that is done begins the next iteration: m x forward_s of the slowest stage.
// Launches, messages between stages, waiting and everything that may overlap take no time here. An iteration of which
// only the first rounds of micro-batches are played is bound by that of all of them: further rounds are taken to add at
// least what the slowest stage takes (tests/study/plan/layouts/layout_bound_test.cpp).
#pragma once

#include "sim/study/plan/layouts/layer_times.hpp"
#include "sim/study/plan/layouts/layout_space.hpp"

namespace distsim::study {

class LayoutBound {
 public:
  LayoutBound(const config::Experiment& experiment, const LayoutSpace& space,
              std::shared_ptr<const pipeline::CostModels> models);

  /// Seconds of compute and pipeline, whatever the order of ranks. `settled`: a plan of the same grid.
  Result<double> of_shape(const workload::LlmPlan& settled, const workload::ParallelSpec& shape);
  /// Seconds that replicas add. `plan`: that of the layout's shape, in its order of ranks.
  Result<double> of_replicas(const workload::LlmPlan& plan, const workload::ParallelSpec& layout);

 private:
  std::int64_t micro_steps_of(const workload::ParallelSpec& shape) const;
  Result<const LayerTimes*> times_of(const workload::LlmPlan& settled, const workload::ParallelSpec& shape,
                                     std::int64_t casts, bool sums);
  Result<double> optimizer_share(const workload::LlmPlan& settled, const workload::ParallelSpec& shape,
                                 std::int64_t micro_steps, const std::vector<std::int64_t>& blocks, double kernels);
  struct Exchanged;
  Result<double> over_replicas(const Exchanged& what, graph::CollectiveKind kind, double dense, double expert);

  const config::Experiment& experiment_;
  const LayoutSpace& space_;
  LayerPricer pricer_;
  double parameters_ = 0;  ///< of the whole model
};

}  // namespace distsim::study
