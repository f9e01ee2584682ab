// case_experiment: a measured case -> an Experiment, by the ids of its row alone.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "sim/config/config.hpp"
#include "sim/study/validate.hpp"

namespace distsim::study {

/// Looks up configs/systems, models and frameworks by a row's ids and applies its counts, batch and precision. Files
/// are read once: hundreds of cases share a few of them. May be used by several threads.
class CaseExperiments {
 public:
  Result<config::Experiment> of(const MeasuredCase& measured);

 private:
  template <class T, class Load>
  Result<T> remembered(std::map<std::string, T>& known, const std::string& name, const Load& load);

  std::mutex mutex_;
  std::map<std::string, topology::ClusterSpec> systems_;
  std::map<std::string, topology::DeviceSpec> devices_;
  std::map<std::string, workload::ModelSpec> models_;
  std::map<std::string, workload::FrameworkSpec> frameworks_;
};

/// "FP16 mixed", "TF32", "FP32/TF32 (not stated)", ... A precision that is not stated is what the framework takes by
/// default on that device: tf32 where the device has it, else fp32.
Result<workload::Precision> parse_precision(const std::string& text, const topology::DeviceSpec& device);

/// ModelSpec of an id: a file of configs/models, or a parametric id such as gpt_h1024_l16_a16_s1024 (hidden, layers,
/// heads, sequence).
Result<workload::ModelSpec> model_by_id(const std::string& id);

}  // namespace distsim::study
