// Policies that give each request to a GPU when it comes, to a queue of that GPU's own.
#pragma once

#include <vector>

#include "sim/serving/policies/central.hpp"
#include "sim/serving/policies/eligibility.hpp"
#include "sim/serving/policies/policy.hpp"
#include "sim/serving/policies/queues.hpp"

namespace distsim::serving {

class DispatchPolicy : public Policy {
 public:
  DispatchPolicy(const Scenario& s, const PolicyOptions& options)
      : eligible_(s, options), queues_(s.gpus.size()), work_(static_cast<std::uint32_t>(s.gpus.size())) {}

  std::uint32_t arrived(const View& view, RequestSlot slot) override {
    const Request& r = view.request(slot);
    const std::uint32_t gpu = choose(view, r);
    queues_[gpu].push(slot);
    ++queued_;
    add(gpu, load_of(view, r, gpu));
    return gpu;
  }

  Answer next(const View& view, std::uint32_t gpu, Assignment& out, std::int64_t&) override {
    if (queued_ == 0) return Answer::nobody;
    if (queues_[gpu].empty()) return steal(view, gpu, out);
    out.requests.push_back(queues_[gpu].pop());
    --queued_;
    return Answer::work;
  }

  void executed(const View& view, std::uint32_t gpu, const std::vector<RequestSlot>& requests) override {
    for (const RequestSlot slot : requests) dropped(view, gpu, slot);
  }
  void dropped(const View& view, std::uint32_t gpu, RequestSlot slot) override {
    Request whole = view.request(slot);
    whole.next_layer = whole.begin_layer;
    add(gpu, -load_of(view, whole, gpu));
  }

 protected:
  /// A GPU that may execute the request.
  virtual std::uint32_t choose(const View& view, const Request& r) = 0;
  /// What a request counts in its GPU's outstanding work: its predicted time.
  virtual std::int64_t load_of(const View& view, const Request& r, std::uint32_t gpu) const {
    return view.predicted_ps(r, gpu);
  }
  virtual Answer steal(const View&, std::uint32_t, Assignment&) { return Answer::nothing; }

  /// The GPU with the least cost(gpu) of those that may execute the model, the first of equals.
  template <class Cost>
  std::uint32_t least(std::uint32_t model, const Cost& cost) const {
    std::uint32_t best = kNoGpu;
    std::int64_t best_cost = 0;
    for (std::uint32_t g = 0; g < queues_.size(); ++g) {
      if (!eligible_(model, g)) continue;
      const std::int64_t c = cost(g);
      if (best != kNoGpu && c >= best_cost) continue;
      best = g;
      best_cost = c;
    }
    return best;
  }
  std::uint32_t least_loaded(std::uint32_t model) const {
    if (eligible_.everything()) return work_.least();
    return least(model, [&](std::uint32_t g) { return work_.value(g); });
  }
  void add(std::uint32_t gpu, std::int64_t work) { work_.set(gpu, wrapped_sum(work_.value(gpu), work)); }
  void move(const View& view, RequestSlot slot, std::uint32_t from, std::uint32_t to) {
    const Request& r = view.request(slot);
    add(from, -load_of(view, r, from));
    add(to, load_of(view, r, to));
    --queued_;
  }

  Eligibility eligible_;
  std::vector<Fifo> queues_;
  LeastOf work_;  ///< outstanding: queued and being executed
  std::size_t queued_ = 0;
};

}  // namespace distsim::serving
