// An execution trace, which has no times, priced from its shapes on an experiment's cluster: `distsim replay TRACE --priced` and
// the library's replay(). It is the prediction of that experiment with the trace as its model (model.kind: graph), so that
// both agree.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "sim/report/report.hpp"

namespace distsim::api {

/// Errors: other than one trace, no experiment; those of predict().
Result<report::Report> priced_trace(const std::vector<std::string>& traces, const std::string& config,
                                    const std::vector<std::string>& sets);

}  // namespace distsim::api
