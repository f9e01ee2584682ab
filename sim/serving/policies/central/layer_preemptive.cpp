#include "sim/serving/policies/central.hpp"
#include "sim/serving/policies/registry.hpp"

namespace distsim::serving {
namespace {

/// One layer at a time, so that a request of higher priority, or of an earlier deadline, waits for a layer and not for a
/// model. A request goes on where it was, unless another GPU is free before.
class LayerPreemptive : public Policy {
 public:
  LayerPreemptive(const Scenario& s, const PolicyOptions& options)
      : eligible_(s, options), classes_(s.class_count()), queues_(s.models.size() * s.class_count()) {}

  std::uint32_t arrived(const View& view, RequestSlot slot) override {
    const Request& r = view.request(slot);
    queues_[r.model * classes_ + r.service_class].push(r.deadline_ps, r.number, slot);
    ++waiting_;
    return r.place == kHost ? kAnyGpu : kHereFirst;
  }

  Answer next(const View& view, std::uint32_t gpu, Assignment& out, std::int64_t&) override {
    if (waiting_ == 0) return Answer::nobody;
    KeyedQueue* best = nullptr;
    for (std::uint32_t m = 0; m < queues_.size(); ++m) {
      if (queues_[m].empty() || !eligible_(m / classes_, gpu)) continue;
      if (best == nullptr || before(view.request(queues_[m].front()), view.request(best->front()))) best = &queues_[m];
    }
    if (best == nullptr) return Answer::nothing;
    out.requests.push_back(best->pop());
    out.layers = 1;
    --waiting_;
    return Answer::work;
  }

 private:
  static bool before(const Request& a, const Request& b) {
    if (a.priority != b.priority) return a.priority > b.priority;
    if (a.deadline_ps != b.deadline_ps) return a.deadline_ps < b.deadline_ps;
    return a.number < b.number;
  }

  Eligibility eligible_;
  std::uint32_t classes_;
  std::vector<KeyedQueue> queues_;
  std::size_t waiting_ = 0;
};

}  // namespace

const PolicyEntry layer_preemptive_policy{
    .name = "layer_preemptive",
    .sentence = "highest priority, then earliest deadline; a request in progress gives way after a layer",
    .make = make_policy<LayerPreemptive>,
    .heeds_priority = true,
    .splits = true,
};

}  // namespace distsim::serving
