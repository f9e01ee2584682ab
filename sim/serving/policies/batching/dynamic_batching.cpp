#include "sim/serving/policies/batching/batching.hpp"
#include "sim/serving/policies/registry.hpp"

namespace distsim::serving {
namespace {

class DynamicBatching : public Batching {
 public:
  DynamicBatching(const Scenario& s, const PolicyOptions& options) : Batching(s, options, options.delay_ps) {}
};

}  // namespace

const PolicyEntry dynamic_batching_policy{
    .name = "dynamic_batching",
    .sentence = "a batch starts when it is full, or when its oldest request has waited for the maximum delay",
    .make = make_policy<DynamicBatching>,
    .batches = true,
    .delays = true,
};

}  // namespace distsim::serving
