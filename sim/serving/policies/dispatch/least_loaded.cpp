#include "sim/serving/policies/dispatch/dispatch.hpp"
#include "sim/serving/policies/registry.hpp"

namespace distsim::serving {
namespace {

class LeastLoaded : public DispatchPolicy {
 public:
  using DispatchPolicy::DispatchPolicy;

 protected:
  std::uint32_t choose(const View&, const Request& r) override { return least_loaded(r.model); }
};

}  // namespace

const PolicyEntry least_loaded_policy{"least_loaded", "each request goes to the GPU with the least predicted work",
                                      make_policy<LeastLoaded>};

}  // namespace distsim::serving
