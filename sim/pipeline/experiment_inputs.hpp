// What the passes take from an experiment.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "base/config/config_path.hpp"
#include "collectives/collective_models.hpp"
#include "sim/config/config.hpp"
#include "sim/pipeline/contention/interference.hpp"
#include "sim/pipeline/kernel_time.hpp"
#include "sim/pipeline/lower.hpp"
#include "sim/pipeline/price.hpp"
#include "sim/report/report.hpp"
#include "sim/workload/workload.hpp"

namespace distsim::pipeline {

/// Of one GPU for a model's products; 0 where its file does not say.
double peak_flops(const topology::DeviceSpec& device, workload::Precision precision);

workload::ClusterShape shape_of(const config::Experiment& experiment);

/// A framework's own exchange, unless the experiment names one.
collectives::CollectiveOptions collective_options_of(const config::Experiment& experiment);

KernelTime kernel_time_of(const config::Experiment& experiment, const workload::Workload& workload);

LaunchModel launch_model_of(const config::Experiment& experiment);

SharedDevice shared_device_of(const CostModels& models);

/// Without assumptions, which the passes add.
report::ReportContext report_context_of(const config::Experiment& experiment, const workload::Workload& workload);

/// Where the GPU does not multiply the types of the experiment's precision: that, at its key, with what it could say instead.
std::optional<Error> precision_error(const config::Experiment& experiment, const CostModels& models);

/// Why an experiment cannot be played: where its GPU does not multiply the types of its precision, that, for what is said of
/// its memory would not help; else `why`.
Error first_reason(const config::Experiment& experiment, const CostModels& models, Error why);

/// price(), with an error about a type that the experiment's precision asks for at that key.
Result<graph::CostedGraph> price_experiment(const config::Experiment& experiment, graph::TaskGraph graph,
                                            const std::shared_ptr<const CostModels>& models);

/// An error about a key of the experiment names the place where it was written.
template <class T>
Result<T> at_its_place(Result<T> result, const config::Experiment& experiment) {
  return result.ok() ? std::move(result) : Result<T>(distsim::at_its_place(result.error(), experiment.merged));
}

}  // namespace distsim::pipeline
