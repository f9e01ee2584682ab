#include "sim/serving/policies/dispatch/dispatch.hpp"
#include "sim/serving/policies/registry.hpp"

namespace distsim::serving {
namespace {

class WorkStealing : public DispatchPolicy {
 public:
  using DispatchPolicy::DispatchPolicy;

 protected:
  std::uint32_t choose(const View&, const Request& r) override { return least_loaded(r.model); }

  /// The last request of the GPU with the most work.
  Answer steal(const View& view, std::uint32_t gpu, Assignment& out) override {
    std::uint32_t victim = kNoGpu;
    for (std::uint32_t g = 0; g < queues_.size(); ++g) {
      if (queues_[g].empty() || !eligible_(view.request(queues_[g].back()).model, gpu)) continue;
      if (victim == kNoGpu || work_.value(g) > work_.value(victim)) victim = g;
    }
    if (victim == kNoGpu) return Answer::nothing;
    const RequestSlot slot = queues_[victim].pop_back();
    move(view, slot, victim, gpu);
    out.requests.push_back(slot);
    return Answer::work;
  }
};

}  // namespace

const PolicyEntry work_stealing_policy{
    "work_stealing", "least_loaded, and a GPU without work takes the last request of the one with the most",
    make_policy<WorkStealing>};

}  // namespace distsim::serving
