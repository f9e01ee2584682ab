// `distsim replay TRACE --priced`: an execution trace, which has no times, priced from its shapes on an experiment's
// cluster. It is the prediction of that experiment with the trace as its model (model.kind: graph), so that both agree.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace distsim::app {

struct PricedReplay {
  std::vector<std::string> traces;  ///< one: that of a rank, which stands for all
  std::string config;
  std::vector<std::string> sets;
  std::string csv, json;
};

Result<void> replay_priced(const PricedReplay& replay);

}  // namespace distsim::app
