#include "sim/serving/policies/batching/batching.hpp"
#include "sim/serving/policies/registry.hpp"

namespace distsim::serving {
namespace {

class StaticBatching : public Batching {
 public:
  StaticBatching(const Scenario& s, const PolicyOptions& options) : Batching(s, options, kNever) {}
};

}  // namespace

const PolicyEntry static_batching_policy{"static_batching",
                                         "a batch starts when it is full, however long that takes",
                                         make_policy<StaticBatching>,
                                         nullptr,
                                         false,
                                         false,
                                         false,
                                         true};

}  // namespace distsim::serving
