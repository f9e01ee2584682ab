// LayerTimes: the least that each block of a language model takes on a GPU, for one micro-batch, forward and backward:
// its kernels at the best clock that the device can hold under them, gaps between kernels, and the collectives of the
// block that do not overlap. Worked out once for all layouts whose blocks are alike.
//
// Never more than what is played. Kernels have the prices that a prediction gives them, scaled by the same factors; the
// clock depends on the mix of all kernels of an iteration, of which only the parts are known here. The clocks under
// which a mix can be held form a convex set, so the highest is that of one of its parts: each kind of block alone, with
// an end of the model, each with as much of the optimizer as there can be (topology::clock_of_mix).
#pragma once

#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "sim/config/config.hpp"
#include "sim/pipeline/kernel_time.hpp"
#include "sim/pipeline/price.hpp"
#include "sim/workload/llm/llm_plan.hpp"
#include "sim/workload/llm/llm_work.hpp"

namespace distsim::study {

/// Seconds. Prefix sums over the blocks: [i] are blocks 0 .. i - 1.
struct LayerTimes {
  std::vector<double> forward, backward, backward_again;  ///< again: with what is computed again
  double embedding_forward = 0, embedding_backward = 0, head_forward = 0, head_backward = 0;
  std::vector<double> forward_wires;   ///< of `forward`: collectives
  std::vector<double> backward_wires;  ///< of `backward_again` or of `backward`, whichever has more: collectives
  double end_wires = 0;                ///< of both ends, backward
  double end_forward_wires = 0;        ///< of both ends, forward
};

/// Prices parts of one experiment's model. Not to be shared between threads.
class LayerPricer {
 public:
  LayerPricer(const config::Experiment& experiment, std::shared_ptr<const pipeline::CostModels> models);
  ~LayerPricer();

  struct Parts;
  /// `settled`: any plan of the same grid. `casts`: micro-steps that share a weight which is gathered or cast once; 1 where
  /// replicas share the weights themselves. `sums`: whole gradients over micro-steps. Errors: what an op or a
  /// collective cannot be priced for.
  Result<Parts*> parts(const workload::LlmPlan& settled, const workload::ParallelSpec& shape, std::int64_t micro_steps,
                       std::int64_t casts, bool sums);
  /// Seconds of the kernels of a micro-batch, forward and backward (none in inference), before any factor and without
  /// what is computed again.
  static double kernel_seconds(const Parts& parts);
  /// `optimizer_share`: of an iteration's kernel time, at most.
  Result<const LayerTimes*> times(Parts& parts, double optimizer_share);

  /// Seconds of a collective over one group.
  Result<double> collective(graph::CollectiveKind kind, std::int64_t bytes, graph::DType dtype,
                            const workload::RankGroup& group);
  /// Seconds of one kernel at the clock before power limits.
  Result<double> kernel(const graph::Op& op);
  /// Of the optimizer, for so many weights on a GPU: the norm of the gradients, and the update.
  struct UpdateSeconds {
    double norm = 0, step = 0;
  };
  Result<UpdateSeconds> update(std::int64_t weights);

 private:
  using Key = std::tuple<std::int64_t, bool, std::int64_t, int, std::int64_t, std::int64_t, std::int64_t, int, int, int,
                         int, std::int64_t, bool, std::int64_t>;
  Result<void> price(const workload::LlmShape& shape, std::int64_t micro_steps, Parts& parts);
  struct Part;
  Result<void> add_part(const workload::LlmShape& shape, std::int64_t micro_steps, const workload::PartWork& work,
                        Parts& parts, Part& part);
  Result<LayerTimes> times_at(const Parts& parts, const pipeline::HeldClock& clock) const;
  Result<pipeline::HeldClock> best_clock(const Parts& parts, double optimizer_share) const;
  Result<double> wires(const workload::LlmShape& shape, std::int64_t micro_steps, const workload::PassWork& pass);

  const config::Experiment& experiment_;
  std::shared_ptr<const pipeline::CostModels> models_;
  pipeline::KernelTime factors_;
  double gap_ = 0;  ///< between kernels
  std::map<Key, std::unique_ptr<Parts>> known_;
  std::map<workload::RankGroup, topology::GroupFacts> facts_;
};

}  // namespace distsim::study
