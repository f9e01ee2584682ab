#include "sim/serving/policies/central.hpp"
#include "sim/serving/policies/registry.hpp"

namespace distsim::serving {
namespace {

struct ByPriority {
  std::int64_t operator()(const View&, const Request& r, std::uint32_t) const { return -std::int64_t{r.priority}; }
};

}  // namespace

const PolicyEntry priority_policy{"priority",
                                  "a free GPU takes a request of the highest priority, the oldest first",
                                  make_policy<CentralPolicy<ByPriority>>,
                                  nullptr,
                                  false,
                                  true};

}  // namespace distsim::serving
