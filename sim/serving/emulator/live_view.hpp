// What the emulator lets policies see.
#pragma once

#include "sim/serving/emulator/branches.hpp"
#include "sim/serving/emulator/links.hpp"
#include "sim/serving/emulator/weights.hpp"
#include "sim/serving/policies/policy.hpp"

namespace distsim::serving {

class LiveView : public View {
 public:
  LiveView(const Scenario& s, const RequestPool& pool, const Weights& weights, const Branches& branches)
      : weights_(weights), branches_(branches) {
    scenario_ = &s;
    pool_ = &pool;
  }
  void set_now(std::int64_t now_ps) { now_ps_ = now_ps; }
  void set_draining(bool draining) { draining_ = draining; }
  bool resident(std::uint32_t gpu, std::uint32_t model) const override { return weights_.holds(gpu, model); }
  std::int64_t fetch_ps(const Request& r, std::uint32_t gpu) const override {
    const Scenario& s = *scenario_;
    std::int64_t total = 0;
    if (!resident(gpu, r.model)) total = transfer_ps(s, route_of(s, kHost, gpu), s.models[r.model].weight_bytes);
    for_each_fetch(s, branches_, r, gpu, [&](std::uint32_t from, std::int64_t bytes) {
      if (bytes > 0) total = later(total, transfer_ps(s, route_of(s, from, gpu), bytes));
    });
    return total;
  }

 private:
  const Weights& weights_;
  const Branches& branches_;
};

}  // namespace distsim::serving
