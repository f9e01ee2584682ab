// A policy for `distsim serving`: a free GPU takes the request that takes it longest.
#include <algorithm>

#include "distsim_policy.hpp"

class LongestFirst : public serving_policy::Policy {
  std::vector<std::uint32_t> waiting_;

 public:
  std::uint32_t arrived(const serving_policy::State&, std::uint32_t id) override {
    waiting_.push_back(id);
    return serving_policy::kAny;
  }
  serving_policy::Work next(const serving_policy::State& state, std::uint32_t gpu) override {
    const auto longest = std::ranges::max_element(
        waiting_, {}, [&](std::uint32_t id) { return state.runs_on(id, gpu) ? state.predicted_s(id, gpu) : -1; });
    if (longest == waiting_.end() || !state.runs_on(*longest, gpu)) return {};
    const std::uint32_t id = *longest;
    waiting_.erase(longest);
    return {{id}};
  }
};

extern "C" serving_policy::Policy* distsim_create_policy(int version) {
  return version == serving_policy::kVersion ? new LongestFirst : nullptr;
}
