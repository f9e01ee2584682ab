// Policies of the user's own, from shared objects (distsim_policy.hpp).
#pragma once

#include <string>

#include "base/result.hpp"
#include "sim/serving/policies/policy.hpp"

namespace distsim::serving {

/// The policy of a library, named after its file; it stays loaded. Errors: no shared object, one without
/// distsim_create_policy, one for another version of the interface.
Result<const PolicyEntry*> load_policy(const std::string& path);

}  // namespace distsim::serving
