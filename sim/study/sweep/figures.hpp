// What a sweep keeps of a prediction: the figures of its table, as a Row.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/config/config.hpp"
#include "sim/pipeline/cost_model_cache.hpp"
#include "sim/report/report.hpp"
#include "sim/study/points/row.hpp"

namespace distsim::study {

/// Whether the GPUs have room for it.
enum class Fits : std::uint8_t { unknown, yes, no };

struct SweepFigures {
  double nodes = 0, gpus = 0, global_batch = 0;
  double iteration_ms = 0, low_ms = 0, high_ms = 0;
  double samples_per_s = 0, tokens_per_s_per_gpu = 0;  ///< tokens: 0 where samples are no sequences
  double compute_ms = 0, comm_ms = 0, exposed_comm_ms = 0, waiting_ms = 0, host_bound_ms = 0, idle_ms = 0;
  double mfu = 0;
  double memory_gb = 0,
         capacity_gb = 0;  ///< of the fullest GPU, 10^9 bytes; also of a point that does not fit, where known
  double fingerprint = 0;  ///< 53 bits of all that is known of a prediction, every rank's times included
  Fits fits = Fits::unknown;
  std::string limited_by;
};

SweepFigures figures_of(const config::Experiment& experiment, const report::Report& report);

/// Of an experiment that cannot be predicted for `refusal`: whether that is for lack of memory, and how much it would
/// take. Of a cluster that cannot be, memory is no matter.
SweepFigures figures_without_prediction(const config::Experiment& experiment, const Error& refusal,
                                        pipeline::CostModelCache& cache);

/// "23.53 M", "18830", "152.8".
std::string rate_text(double per_second);

Row row_of(const SweepFigures& figures, std::string error);
SweepFigures figures_in(const Row& row);

}  // namespace distsim::study
