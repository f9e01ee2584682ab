// Which GPU may execute which model: it has times for it, and the placement, where one is given, names it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/serving/policies/policy.hpp"

namespace distsim::serving {

class Eligibility {
 public:
  Eligibility(const Scenario& s, const PolicyOptions& options)
      : gpus_(s.gpus.size()), may_(s.gpus.size() * s.models.size()) {
    for (std::uint32_t m = 0; m < s.models.size(); ++m) {
      for (std::uint32_t g = 0; g < gpus_; ++g) {
        const bool placed = options.placement.empty() || options.placement[m].empty() ||
                            std::ranges::find(options.placement[m], g) != options.placement[m].end();
        const bool may = placed && s.runs_on(s.gpus[g].kind, m);
        may_[m * gpus_ + g] = may ? 1 : 0;
        everything_ = everything_ && may;
      }
    }
  }
  bool operator()(std::uint32_t model, std::uint32_t gpu) const { return may_[model * gpus_ + gpu] != 0; }
  bool everything() const { return everything_; }

 private:
  std::size_t gpus_;
  std::vector<char> may_;
  bool everything_ = true;
};

/// Of queues by model, the one that a GPU may execute whose first request is the oldest; kNoGpu: none.
template <class Queue>
std::uint32_t oldest_queue(const View& view, const std::vector<Queue>& queues, const Eligibility& eligible,
                           std::uint32_t gpu) {
  std::uint32_t best = kNoGpu;
  for (std::uint32_t m = 0; m < queues.size(); ++m) {
    if (queues[m].empty() || !eligible(m, gpu)) continue;
    if (best == kNoGpu || view.request(queues[m].front()).number < view.request(queues[best].front()).number) best = m;
  }
  return best;
}

}  // namespace distsim::serving
