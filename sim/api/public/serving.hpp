// Serving: requests on several GPUs under scheduling policies, their latency tails and goodput. docs/serving.md
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "experiment.hpp"

namespace serving_policy {
class Policy;  // distsim_policy.hpp, which a program with a policy of its own includes
}

namespace distsim::api {

struct ServingRequest {
  Experiment experiment;  ///< of serving
  /// Makes a policy of the caller's for each run, perhaps on several threads at a time; empty: those of the experiment.
  std::function<std::unique_ptr<serving_policy::Policy>()> policy;
  std::string policy_name = "policy";
  bool takes_branches = false;  ///< as distsim_policy_takes_branches() of a library
  unsigned jobs = 1;            ///< threads, 1 to 256
  Stop stop;
};

class DISTSIM_API Serving {
 public:
  std::string json() const;  ///< what `distsim serving --json`, --csv and --html write, and what it prints
  std::string csv() const;
  std::string html() const;
  std::string text() const;
  /// The lines that the command writes before it begins: keys of the experiment that change nothing, and why ("x.yaml:9:12:
  /// models[0].priority: no effect, no policy goes by priority"), `sets` likewise, and what is doubtful in its files. The first
  /// call looks, which reads the experiment once more for each of its `sets`, and asks `stop` meanwhile.
  const std::vector<std::string>& without_effect(const Stop& stop = {}) const;

  class Parts;
  explicit Serving(std::shared_ptr<const Parts> parts);
  Serving(const Serving&);
  Serving& operator=(const Serving&);
  ~Serving();

 private:
  std::shared_ptr<const Parts> parts_;
};

/// Every policy at every rate of the experiment. Throws ConfigError, also where a policy does what cannot be done or leaves a
/// request waiting; Interrupted.
DISTSIM_API Serving serving(const ServingRequest& request);

}  // namespace distsim::api
