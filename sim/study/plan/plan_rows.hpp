// Rows of a plan, as every kind of planner fills them.
#pragma once

#include <string>
#include <vector>

#include "sim/pipeline/pipeline.hpp"
#include "sim/study/plan/plan.hpp"

namespace distsim::study {

/// What a row shows of an experiment.
Result<report::Report> predicted_report(const config::Experiment& experiment, pipeline::CostModelCache& cache);

/// Whether it is memory alone that an experiment lacks.
bool lacks_memory(config::Experiment experiment, pipeline::CostModelCache& cache);

/// Bytes on the fullest GPU; 0 where memory is not known.
std::int64_t fullest_gpu(const report::Report& report);

/// Cost, energy and the goal's values, from the row's report.
void fill_costs(PlanRow& row, const PlanRequest& request, const config::Experiment& experiment);

/// Whether the framework would launch the row's layout layer by layer, and its kernels are counted block by block (kLayerByLayer).
bool is_by_blocks(const PlanRow& row);

/// Model and machine.
std::string subject_text(const config::Experiment& experiment);

/// The experiment as it is, for the table; predicted if it can be.
PlanRow baseline_row(const PlanRequest& request, const config::Experiment& experiment, pipeline::CostModelCache& cache);

/// Fills in what the first row decides, and sorts the baseline into its place.
void finish_rows(Plan& plan);

/// Those of the varied keys that change no figure of any row. At most a prediction for each row and value. REQUIRES: `experiment`.
std::vector<std::string> axes_without_effect(const PlanRequest& request, const Plan& plan);

/// Threads, or the journal that the request names.
Result<Plays> plays_of(const PlanRequest& request);

}  // namespace distsim::study
