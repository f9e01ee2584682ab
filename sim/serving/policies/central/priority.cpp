#include "sim/serving/policies/central.hpp"
#include "sim/serving/policies/registry.hpp"

namespace distsim::serving {
namespace {

struct ByPriority {
  std::int64_t operator()(const View&, const Request& r, std::uint32_t) const { return -std::int64_t{r.priority}; }
};

}  // namespace

const PolicyEntry priority_policy{
    .name = "priority",
    .sentence = "a free GPU takes a request of the highest priority, the oldest first",
    .make = make_policy<CentralPolicy<ByPriority>>,
    .heeds_priority = true,
};

}  // namespace distsim::serving
