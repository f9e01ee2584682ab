#include "sim/serving/policies/central.hpp"
#include "sim/serving/policies/registry.hpp"

namespace distsim::serving {
namespace {

struct ByDeadline {
  std::int64_t operator()(const View&, const Request& r, std::uint32_t) const { return r.deadline_ps; }
};

}  // namespace

const PolicyEntry edf_policy{"edf", "a free GPU takes the request with the earliest deadline",
                             make_policy<CentralPolicy<ByDeadline>>};

}  // namespace distsim::serving
