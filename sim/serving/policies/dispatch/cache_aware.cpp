#include "sim/serving/policies/dispatch/dispatch.hpp"
#include "sim/serving/policies/registry.hpp"

namespace distsim::serving {
namespace {

class CacheAware : public DispatchPolicy {
 public:
  using DispatchPolicy::DispatchPolicy;

 protected:
  /// A queued request of the model will have loaded the weights, too.
  std::uint32_t choose(const View& view, const Request& r) override {
    return least(r.model, [&](std::uint32_t g) {
      const bool there =
          view.resident(g, r.model) || (!queues_[g].empty() && view.request(queues_[g].back()).model == r.model);
      return wrapped_sum(work_.value(g), there ? 0 : kFar);
    });
  }

 private:
  static constexpr std::int64_t kFar = std::int64_t{1} << 61;  ///< more than any work
};

}  // namespace

const PolicyEntry cache_aware_policy{
    "cache_aware", "each request goes to the least loaded of the GPUs that hold its weights, or else of all",
    make_policy<CacheAware>};

}  // namespace distsim::serving
