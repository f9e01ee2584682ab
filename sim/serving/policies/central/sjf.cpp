#include "sim/serving/policies/central.hpp"
#include "sim/serving/policies/registry.hpp"

namespace distsim::serving {
namespace {

struct BySize {
  std::int64_t operator()(const View& view, const Request& r, std::uint32_t) const {
    return view.scenario().models[r.model].size_ps;
  }
};

}  // namespace

const PolicyEntry sjf_policy{"sjf", "a free GPU takes the request with the shortest predicted time",
                             make_policy<CentralPolicy<BySize>>};

}  // namespace distsim::serving
