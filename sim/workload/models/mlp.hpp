// A plain MLP with a mean-squared-error loss, data parallel.
#pragma once

#include <vector>

#include "base/config/schema.hpp"

namespace distsim::workload {

struct MlpSpec {
  std::int64_t inputs = 1024;
  std::vector<std::int64_t> layers{4096, 4096, 1024};
};
Schema<MlpSpec> mlp_schema();

}  // namespace distsim::workload
