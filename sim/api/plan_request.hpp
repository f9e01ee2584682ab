// What is asked of a plan, from words to what the study takes: for `distsim plan` and the library's plan().
#pragma once

#include <string>

#include "base/result.hpp"
#include "sim/api/public/studies.hpp"
#include "sim/study/plan/plan.hpp"

namespace distsim::api {

/// `path`: of the experiment, in place of that in `request`. Errors: unknown words (nearest spelling), keys that are both held
/// and varied, two objectives at once, tokens and samples at once, numbers that are out of range or none.
Result<study::PlanRequest> plan_request(const PlanRequest& request, const std::string& path);

}  // namespace distsim::api
