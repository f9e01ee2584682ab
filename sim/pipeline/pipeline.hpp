// The pipeline, from config text to report: pipeline.cpp is one page of passes (passes/pass_list.hpp).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/config.hpp"
#include "sim/pipeline/cost_model_cache.hpp"
#include "sim/pipeline/lower.hpp"
#include "sim/pipeline/passes/passes.hpp"
#include "sim/pipeline/price.hpp"
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
  report::Played played() const;
};

/// Iterations that are played; the last one is reported, when host and GPU have found their rhythm. Twice as many until
/// they have (report::is_settled), up to kMostIterations: where a stream that waits a little longer in each iteration
/// will hold the others up later on.
inline constexpr std::uint16_t kPlayedIterations = 3, kMostIterations = 48;

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

/// What a table shows of predict() with Detail::figures, to the picosecond, in three quarters of its time: no timeline, no
/// digest, no critical path, no assumptions.
Result<report::Report> predict_for_table(const config::Experiment& experiment, CostModelCache& cache);

/// The least of it.
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
