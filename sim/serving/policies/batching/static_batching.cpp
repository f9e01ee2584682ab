#include "sim/serving/policies/batching/batching.hpp"
#include "sim/serving/policies/registry.hpp"

namespace distsim::serving {
namespace {

class StaticBatching : public Batching {
 public:
  StaticBatching(const Scenario& s, const PolicyOptions& options) : Batching(s, options, kNever) {}
};

}  // namespace

const PolicyEntry static_batching_policy{
    .name = "static_batching",
    .sentence = "a batch starts when it is full, however long that takes",
    .make = make_policy<StaticBatching>,
    .batches = true,
    .waits_for_full_batches = true,
};

}  // namespace distsim::serving
