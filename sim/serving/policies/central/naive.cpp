#include "sim/serving/policies/central.hpp"
#include "sim/serving/policies/registry.hpp"

namespace distsim::serving {
namespace {

struct ShortestOnFirst {
  std::int64_t operator()(const View& view, const Request& r, std::uint32_t gpu) const {
    const std::int64_t size = view.scenario().models[r.model].size_ps;
    return view.scenario().gpus[gpu].kind == 0 ? size : -size;
  }
};

}  // namespace

const PolicyEntry naive_policy{"naive", "the first kind of GPU takes the shortest request, the others the longest",
                               make_policy<CentralPolicy<ShortestOnFirst>>};

}  // namespace distsim::serving
