// The experiments of the points of a sweep.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "sim/config/variants.hpp"
#include "sim/study/sweep/sweep.hpp"

namespace distsim::study {

/// What is predicted at each point: the experiment with its values, and with the batch that SweepRequest::scaling gives it. All
/// that is said of a point is of this experiment. May be used by several threads.
class PointExperiments {
 public:
  /// `variants`: of the request's experiment.
  PointExperiments(SweepRequest request, std::shared_ptr<config::Variants> variants);
  Result<config::Experiment> at(std::size_t index);
  /// The same as --set on the experiment: sets_at(), and the batch where scaling gives another.
  std::vector<std::string> sets(std::size_t index);

 private:
  struct First {
    std::int64_t batch = 0, gpus = 0;
  };
  Result<First> on_first_gpus(std::size_t index);

  const SweepRequest request_;
  const std::shared_ptr<config::Variants> variants_;
  const std::vector<bool> counting_;  ///< by axis
  const bool scales_;                 ///< batches follow the number of GPUs
  std::mutex mutex_;
  std::unordered_map<std::size_t, First> firsts_;
};

/// Of the experiment that a request names, or of the one that it holds. Error: its file cannot be read or parsed.
Result<std::shared_ptr<config::Variants>> variants_of(const SweepRequest& request);

}  // namespace distsim::study
