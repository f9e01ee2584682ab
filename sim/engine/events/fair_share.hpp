// Max-min fair sharing of resources between flows.
//
//   rates x[f] >= 0 of flows, capacities c[l] > 0 of resources, coefficients a[l,f] > 0 where flow f uses resource l
//
//       sum over f of a[l,f] * x[f]  <=  c[l]      for every resource l
//       x[f]  <=  b[f]                             for every flow f (the rate it would have alone)
//
//   and no x[f] can be raised without lowering some x[g] that is not larger. That point exists and is the only one.
//   Each flow is either at its bound or has a bottleneck: a resource that is full and on which no flow has a larger
//   rate. It is found by progressive filling: all rates rise together; when a resource is full its flows stop there;
//   the others rise on. (Bertsekas and Gallager, Data Networks, 2nd ed., section 6.5.2.)
//
// The unit of rates and capacities is the caller's. Knows nothing of links, time or programs.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"

namespace distsim::engine {

struct FairShareProblem {
  struct Use {
    std::uint32_t resource = 0;
    double coefficient = 1;
  };
  std::vector<double> capacities;             ///< by resource
  std::vector<double> bounds;                 ///< by flow; infinity where only resources hold a flow back
  std::vector<std::uint32_t> use_offsets{0};  ///< CSR: what flow f uses is uses[use_offsets[f] .. use_offsets[f+1])
  std::vector<Use> uses;                      ///< no resource twice for a flow

  void add_flow(double bound, const std::vector<Use>& flow_uses);
};

/// Capacities and coefficients finite and above 0, bounds above 0, resources in range, every flow bounded or using
/// something.
Result<void> validate(const FairShareProblem& problem);

/// Rates by flow, of a valid problem. Cost: uses x log(resources).
/// Rounding: each constraint holds to about 1e-12 of its capacity; the result depends on the order of flows and
/// resources by no more than that.
std::vector<double> max_min_rates(const FairShareProblem& problem);

}  // namespace distsim::engine
