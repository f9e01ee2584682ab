// Policies with one queue for all GPUs: a free GPU takes the whole request with the least key among those it may execute;
// of equal keys the earlier one. A queue for each model and class of service suffices where the key of an earlier request
// of both is never greater than that of a later one, so no request is looked at twice.
#pragma once

#include <vector>

#include "sim/serving/policies/eligibility.hpp"
#include "sim/serving/policies/policy.hpp"
#include "sim/serving/policies/queues.hpp"

namespace distsim::serving {

/// Key: std::int64_t operator()(const View&, const Request&, gpu).
template <class Key>
class CentralPolicy : public Policy {
 public:
  CentralPolicy(const Scenario& s, const PolicyOptions& options)
      : eligible_(s, options), classes_(s.class_count()), queues_(s.models.size() * s.class_count()) {}

  std::uint32_t arrived(const View& view, RequestSlot slot) override {
    const Request& r = view.request(slot);
    queues_[r.model * classes_ + r.service_class].push(slot);
    ++waiting_;
    return kAnyGpu;
  }

  Answer next(const View& view, std::uint32_t gpu, Assignment& out, std::int64_t&) override {
    if (waiting_ == 0) return Answer::nobody;
    Fifo* best = nullptr;
    std::int64_t best_key = 0;
    std::uint64_t best_number = 0;
    for (std::uint32_t m = 0; m < queues_.size(); ++m) {
      if (queues_[m].empty() || !eligible_(m / classes_, gpu)) continue;
      const Request& r = view.request(queues_[m].front());
      const std::int64_t key = Key{}(view, r, gpu);
      if (best != nullptr && (key > best_key || (key == best_key && r.number > best_number))) continue;
      best = &queues_[m];
      best_key = key;
      best_number = r.number;
    }
    if (best == nullptr) return Answer::nothing;
    out.requests.push_back(best->pop());
    --waiting_;
    return Answer::work;
  }

 private:
  Eligibility eligible_;
  std::uint32_t classes_;
  std::vector<Fifo> queues_;
  std::size_t waiting_ = 0;
};

template <class P>
std::unique_ptr<Policy> make_policy(const Scenario& scenario, const PolicyOptions& options) {
  return std::make_unique<P>(scenario, options);
}

}  // namespace distsim::serving
