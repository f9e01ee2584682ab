// The pipeline, from config text to report: pipeline.cpp is one page of passes (passes/pass_list.hpp).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/config.hpp"
#include "sim/pipeline/cost_model_cache.hpp"
#include "sim/pipeline/figures/steady_loop.hpp"
#include "sim/pipeline/lower.hpp"
#include "sim/pipeline/passes/passes.hpp"
#include "sim/pipeline/price.hpp"
#include "sim/report/loop/transfers.hpp"
#include "sim/report/report.hpp"
#include "sim/workload/workload.hpp"

namespace distsim::pipeline {

/// Everything that a prediction produced, kept so that writers can look at the result of any pass.
struct Prediction {
  std::shared_ptr<const graph::CostedGraph> costed;
  std::shared_ptr<const Lowered> lowered;
  std::shared_ptr<const engine::Timeline> timeline;
  report::Report report;
  double slowest = 1;          ///< KernelTime::slowest of the kernels' costs
  double speed_variation = 0;  ///< of the device
  std::int64_t stretch = 1;    ///< times as much was played as a fold begins with (folds.hpp)
  report::Played played() const;
};

/// Micro-steps of a gradient accumulation that are played; of more, the rest is folded (sim/report/fold.hpp).
inline constexpr std::int64_t kPlayedMicroSteps = 4;

/// config text -> report. Pure: the same experiment gives the same prediction to the bit.
Result<Prediction> predict(const std::string& config, const std::vector<std::string>& sets, Passes& passes);

/// The same from a resolved experiment.
Result<Prediction> predict(const config::Experiment& experiment, Passes& passes);

/// The same with cost models that may have been made before. Accumulations over `played_micro_steps` (at least 2) are
/// folded. Studies of many experiments read figures only.
Result<Prediction> predict(const config::Experiment& experiment, Passes& passes, CostModelCache& cache,
                           std::int64_t played_micro_steps = kPlayedMicroSteps,
                           report::Detail detail = report::Detail::report);

/// The figures of predict() that tables and plans show, to the last bit, in milliseconds of work: context, iteration, low,
/// high, the rates, compute, comm and hidden_comm where `transfers` says so, exposed_comm, waiting, host_bound and idle (as
/// means over ranks), limits.limited_by and memory. Not the tables by op, collective and rank, nor the critical path, what would limit next, or the passes' own
/// assumptions. For many predictions with one cache: a first one of a cluster reads its files and makes its models. May be
/// called from several threads. A refusal for memory says how much is missing, without what would fit.
Result<report::Report> predict_figures(const config::Experiment& experiment, CostModelCache& cache,
                                       report::Transfers transfers = report::Transfers::summed);

/// What is known of an iteration before its work is written down, in microseconds: to leave out what cannot be the best.
struct LayoutBounds {
  workload::RankMemory memory;  ///< of the fullest rank
  bool fits = true;             ///< on its GPU
  Duration least;  ///< the iteration takes no less: products and attention of the busiest rank, without the pipeline's
                   ///< bubble, at the device's peak. 0: the family does not say
};
/// Errors: those of predict() for what does not divide or is out of range; not to fit is none.
Result<LayoutBounds> layout_bounds(const config::Experiment& experiment);

/// What a table shows of a prediction.
struct Figures {
  Duration iteration;
  double samples_per_second = 0;
  std::optional<report::Limiter> limited_by;
};

/// The tasks of an experiment, as far as they are played: those of every experiment that differs from it in links, GPUs
/// or the host's speed.
struct FixedWork {
  std::optional<workload::Workload> shorter;  ///< where micro-steps are folded: with fewer of them
  workload::Workload longer;
  double samples = 0;  ///< of the whole iteration
};
Result<FixedWork> fixed_work_of(const config::Experiment& experiment);

/// The figures of predict(), to the picosecond, without timeline and report. `work`: that of this experiment.
Result<Figures> predict_figures(const config::Experiment& experiment, CostModelCache& cache, const FixedWork& work);

}  // namespace distsim::pipeline
