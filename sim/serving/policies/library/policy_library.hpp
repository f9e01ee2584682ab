// Policies of the user's own, from shared objects (distsim_policy.hpp).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "sim/serving/policies/policy.hpp"

namespace serving_policy {
class Policy;
}

namespace distsim::serving {

/// The policy of a library, named after its file; it stays loaded. Errors: no shared object, one without
/// distsim_create_policy, one for another version of the interface.
Result<const PolicyEntry*> load_policy(const std::string& path);

/// A policy of a program that calls distsim.
class CallersPolicy {
 public:
  using Make = std::function<std::unique_ptr<serving_policy::Policy>()>;
  /// `make`: a policy for each run, perhaps on several threads at a time.
  CallersPolicy(std::string name, Make make, bool takes_branches);
  ~CallersPolicy();
  CallersPolicy(const CallersPolicy&) = delete;
  CallersPolicy& operator=(const CallersPolicy&) = delete;
  const PolicyEntry& entry() const { return entry_; }

 private:
  std::string name_;
  std::unique_ptr<PolicyFactory> factory_;
  PolicyEntry entry_;
};

}  // namespace distsim::serving
