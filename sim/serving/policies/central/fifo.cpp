#include "sim/serving/policies/central.hpp"
#include "sim/serving/policies/registry.hpp"

namespace distsim::serving {
namespace {

struct ByAge {
  std::int64_t operator()(const View&, const Request&, std::uint32_t) const { return 0; }
};

}  // namespace

const PolicyEntry fifo_policy{"fifo", "a free GPU takes the oldest request", make_policy<CentralPolicy<ByAge>>};

}  // namespace distsim::serving
