// Trials: how far the iteration time may scatter, by drawing what is uncertain and playing the program again.
#pragma once

#include <cstdint>
#include <functional>

#include "sim/pipeline/pipeline.hpp"

namespace distsim::study {

struct TrialOptions {
  std::uint32_t trials = 0;
  std::uint64_t seed = 1;
};

/// One trial draws, from a stream that depends on the seed and the trial's number alone:
///   for each op kind and basis, and for each kind of collective and basis, one normal value: costs move along their
///   own [low, high], taken as the 10th and 90th percentile (mean + z / 1.2816 x (high - mean) for z > 0, (mean - low)
///   below), at least to a twentieth of the mean; for each rank one more: its kernels take (1 + speed_variation x z)
///   times as long, at least half.
/// The program is then played on all ranks; what is counted is the steady period, as in the report. Kernels are first
/// freed of the factor for the slowest rank, which the draws replace; what kernels lose to collectives beside them
/// stays. What the framework's profile cannot know (`uncertainty`) is not drawn: it does not change from one iteration
/// to the next. Of a folded accumulation (Prediction of the micro-steps played) the times are stretched to the whole
/// iteration: x report.iteration / period played. Cost: one play a trial, after which `on_trial` is called. Where an early end
/// is asked for (base/system/signals.hpp), the times are those of the trials played until then.
Result<report::TrialTimes> run_trials(
    const pipeline::Prediction& prediction, const TrialOptions& options, const std::function<void()>& on_trial = [] {});

}  // namespace distsim::study
