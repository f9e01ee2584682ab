// The scheduling policies: a file each, and one line here.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "sim/serving/policies/policy.hpp"

namespace distsim::serving {

// In the order of `distsim list policies`.
#define DISTSIM_SERVING_POLICIES(POLICY) \
  POLICY(fifo)                           \
  POLICY(sjf)                            \
  POLICY(edf)                            \
  POLICY(priority)                       \
  POLICY(naive)                          \
  POLICY(non_naive)                      \
  POLICY(round_robin)                    \
  POLICY(least_loaded)                   \
  POLICY(shortest_queue)                 \
  POLICY(scoring)                        \
  POLICY(cache_aware)                    \
  POLICY(work_stealing)                  \
  POLICY(layer_preemptive)               \
  POLICY(static_batching)                \
  POLICY(dynamic_batching)               \
  POLICY(lazy_batching)                  \
  POLICY(cellular_batching)              \
  POLICY(branch_fifo)                    \
  POLICY(branch_scoring)

#define POLICY(name) extern const PolicyEntry name##_policy;
DISTSIM_SERVING_POLICIES(POLICY)
#undef POLICY

std::span<const PolicyEntry* const> policies();
/// Error: no such policy; the nearest spelling is the hint.
Result<const PolicyEntry*> find_policy(std::string_view name);

}  // namespace distsim::serving
