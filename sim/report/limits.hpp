// What limits an iteration: the resource with most time on the critical cycle, and what would limit it next.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "sim/report/replays.hpp"
#include "sim/report/report.hpp"

namespace distsim::report {

/// Resource of a step on a rank, by its role and op; never waiting_for_rank.
Resource resource_of(const Played& played, StepId step, std::uint32_t rank);

class LimitFinder {
 public:
  explicit LimitFinder(Replays& replays);

  /// Of the last play, whose critical cycle is `chain`, without replays.
  Limits on(const Chain& chain) const;

  /// Plays without communication, and fills in what that says of the network.
  void play_silent(Limits& limits);

  /// Replays what is asked for, and decides. The silent replay came first; `iteration` is the period as played.
  void finish(Limits& limits, Duration iteration, Detail detail);

 private:
  bool play_without(Resource resource);
  void note(Limits& limits, Resource resource) const;
  Resource of(StepId step, std::uint32_t role) const;
  std::optional<Resource> of_all_ranks(StepId step) const;
  std::optional<engine::Row> without(StepId step, Resource resource) const;

  Replays& r_;
  std::vector<std::optional<Resource>> of_step_;  ///< of the first iteration; nothing where ranks differ
};

/// What the steps of a chain belong to, by `resource(step, role)`, and the rank that takes longest for its kernels:
/// `mean(step)` is that of the ranks that run it, or nothing where all take the same.
template <class ResourceOf, class MeanOf>
Limits limits_of_chain(const Chain& chain, const engine::Roles& roles, ResourceOf resource_of_step, MeanOf mean) {
  Limits out;
  std::map<std::uint32_t, std::int64_t> longer;  // by role: than the mean of the ranks
  for (const PathStep& s : chain.steps) {
    const Resource resource = resource_of_step(s.step, s.rank);
    out[resource].on_cycle += Duration::picoseconds(s.end - s.begin);
    if (resource != Resource::compute && resource != Resource::memory) continue;
    if (const std::optional<std::int64_t> of_ranks = mean(s.step))
      longer[s.rank] += std::max<std::int64_t>(0, s.end - s.begin - *of_ranks);
  }
  const auto most =
      std::ranges::max_element(longer, {}, [](const auto& role_and_time) { return role_and_time.second; });
  if (most != longer.end()) {
    out.waiting_rank = roles.first[most->first];
    out[Resource::waiting_for_rank].on_cycle = Duration::picoseconds(most->second);
  }
  return out;
}

/// Mean over the ranks that run a kernel, whose time on a role is at(role): those where it is not 0.
template <class At>
std::int64_t mean_where_present(At at, const engine::Roles& roles) {
  __int128 sum = 0;
  std::int64_t ranks = 0;
  for (std::uint32_t role = 0; role < roles.size(); ++role) {
    sum += __int128(at(role)) * roles.count[role];
    ranks += at(role) > 0 ? roles.count[role] : 0;
  }
  return ranks > 0 ? static_cast<std::int64_t>(sum / ranks) : 0;
}

/// What a table shows of an iteration; the figures are those of the report.
struct Brief {
  Duration iteration;
  Limits limits;  ///< time on the cycle, and what limits: nothing of replays
  Busy busy{};
};
/// Of the last play.
Brief brief_of(Replays& replays);

/// By how much the period shrinks if `steps` (of any iteration) take no time: from 0 to the sum of their times, each on
/// the rank where it takes longest.
Duration saved_without(Replays& replays, const std::vector<StepId>& steps, std::int64_t period);

}  // namespace distsim::report
