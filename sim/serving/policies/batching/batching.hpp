// Policies that hand out whole requests of one model in batches, from a queue for each model.
#pragma once

#include <algorithm>
#include <vector>

#include "sim/serving/policies/central.hpp"
#include "sim/serving/policies/eligibility.hpp"
#include "sim/serving/policies/policy.hpp"
#include "sim/serving/policies/queues.hpp"

namespace distsim::serving {

/// A batch is ripe when it is full, or when its oldest request has waited for `delay`; where that is for ever, when nothing
/// more will come. Of the ripe ones the one with the oldest request is taken.
class Batching : public Policy {
 public:
  Batching(const Scenario& s, const PolicyOptions& options, std::int64_t delay_ps)
      : eligible_(s, options), delay_ps_(delay_ps), queues_(s.models.size()) {
    for (const Model& m : s.models) full_.push_back(std::min(options.batch, m.max_batch));
  }

  std::uint32_t arrived(const View& view, RequestSlot slot) override {
    const std::uint32_t model = view.request(slot).model;
    queues_[model].push(slot);
    ++waiting_;
    const std::size_t size = queues_[model].size();
    return size == 1 || size % full_[model] == 0 ? kAnyGpu : kNoGpu;  // the first one sets the timer
  }

  Answer next(const View& view, std::uint32_t gpu, Assignment& out, std::int64_t& wake_ps) override {
    if (waiting_ == 0) return Answer::nobody;
    std::uint32_t best = kNoGpu;
    bool any_ripe = false;
    wake_ps = kNever;
    for (std::uint32_t m = 0; m < queues_.size(); ++m) {
      if (queues_[m].empty()) continue;
      const std::int64_t ripe_at = ripe_ps(view, m);
      if (ripe_at > view.now_ps()) {
        wake_ps = std::min(wake_ps, ripe_at);
        continue;
      }
      any_ripe = true;
      if (!eligible_(m, gpu)) continue;
      if (best == kNoGpu || number_of(view, m) < number_of(view, best)) best = m;
    }
    if (best == kNoGpu) return any_ripe ? Answer::nothing : wake_ps == kNever ? Answer::nobody : Answer::later;
    const std::size_t size = std::min<std::size_t>(full_[best], queues_[best].size());
    for (std::size_t i = 0; i < size; ++i) out.requests.push_back(queues_[best].pop());
    waiting_ -= size;
    return Answer::work;
  }

 private:
  std::int64_t ripe_ps(const View& view, std::uint32_t model) const {
    const std::int64_t arrival = view.request(queues_[model].front()).arrival_ps;
    if (queues_[model].size() >= full_[model]) return arrival;
    if (delay_ps_ != kNever) return arrival + delay_ps_;
    return view.draining() ? arrival : kNever;
  }
  std::uint64_t number_of(const View& view, std::uint32_t model) const {
    return view.request(queues_[model].front()).number;
  }

  Eligibility eligible_;
  std::int64_t delay_ps_;
  std::vector<Fifo> queues_;
  std::vector<std::uint32_t> full_;
  std::size_t waiting_ = 0;
};

}  // namespace distsim::serving
