// Training the learned correction of graphs on the measured iterations of a case file, and what it is worth on GPUs and
// models that it has not seen.
#pragma once

#include <string>
#include <vector>

#include "opmodels/graph/graph_network.hpp"
#include "sim/study/validate/case_file.hpp"

namespace distsim::study {

/// A measured case with its composed prediction.
struct GraphCase {
  const Case* source = nullptr;
  std::string failure;  ///< empty: predicted
  std::string device, model;
  double composed_ms = 0, measured_ms = 0;
  opmodels::GraphFacts facts;
  double error() const { return composed_ms / measured_ms - 1; }
};

/// Predicts every measured case without the correction; one that repeats the job and the time of another is left out. `jobs`
/// threads; the result does not depend on their number.
std::vector<GraphCase> graph_cases(const CaseFile& file, unsigned jobs);

/// "a and b are one job, measured as 10 ms and 25 ms", for each job whose times are further apart than runs of one job are.
std::vector<std::string> contradictions(const std::vector<GraphCase>& cases);

/// By network, trained on all of them. Errors: as GraphNetwork::train.
Result<opmodels::GraphNetwork> train_on(const std::vector<GraphCase>& cases, const opmodels::GraphTraining& how);

/// What cases are left out of training when one is predicted.
enum class LeftOut : std::uint8_t { device, model, device_and_model };
std::string_view name_of(LeftOut what);

/// The predictions in ms of all cases, each by a network that has seen none of its device, or model, or either; where too few
/// cases are left to train on, or the case is outside of what they span, the composed one.
std::vector<double> left_out(const std::vector<GraphCase>& cases, LeftOut what, const opmodels::GraphTraining& how);

/// Mean, median and worst absolute error, composed and corrected, by what was left out; and whether the correction is better
/// on devices and on models left out.
std::string correction_table(const std::vector<GraphCase>& cases, const opmodels::GraphTraining& how);
/// The same case by case.
std::string correction_csv(const std::vector<GraphCase>& cases, const opmodels::GraphTraining& how);

}  // namespace distsim::study
