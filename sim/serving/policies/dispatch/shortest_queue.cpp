#include "sim/serving/policies/dispatch/dispatch.hpp"
#include "sim/serving/policies/registry.hpp"

namespace distsim::serving {
namespace {

/// Counts requests, as controllers do that predict nothing.
class ShortestQueue : public DispatchPolicy {
 public:
  using DispatchPolicy::DispatchPolicy;

 protected:
  std::uint32_t choose(const View&, const Request& r) override { return least_loaded(r.model); }
  std::int64_t load_of(const View&, const Request&, std::uint32_t) const override { return 1; }
};

}  // namespace

const PolicyEntry shortest_queue_policy{"shortest_queue", "each request goes to the GPU with the fewest requests",
                                        make_policy<ShortestQueue>};

}  // namespace distsim::serving
