// What the GPUs and links of a scenario can do at most, whatever a policy decides: the fluid bound.
//
// A request of model m costs at least c(m, k, r) seconds of resource r on a GPU of group k: of its execution, of its slots
// (fetching and executing over the number of slots), of the SMs, the bandwidth and the launching thread of a GPU that several
// pieces share, of each stage of a pipeline, of the link from the host and of that to it; batches at the size that costs a
// request least. Requests that come at rate x in the mix p need
//     sum over m of x p(m) share(m, k) c(m, k, r) <= number of GPUs in k          for all k, r
// for some shares of each model over the groups that may execute it. The largest such x is the capacity. By duality it is at
// most 1 / sum over m of p(m) work(m) with work(m) = min over k of sum over r of y(k, r) c(m, k, r), for any prices y >= 0
// with sum of (GPUs in k) y(k, r) = 1. Prices are found by multiplicative weights: the bound always holds, and is within a
// few percent of the least one; with one group whose tightest resource is the same for all models it is that.
#pragma once

#include <limits>
#include <vector>

#include "sim/serving/emulator/scenario.hpp"
#include "sim/serving/policies/policy.hpp"

namespace distsim::serving {

struct Capacity {
  double rate_per_s = std::numeric_limits<double>::infinity();  ///< requests of the mix, at most
  /// By model: seconds of all GPUs together that a request takes at least, at these prices; 0 of models that no GPU has.
  std::vector<double> work_s;
};

/// `mix`: of the requests, by model; shares or counts, not negative. `policy` says how large batches may be.
Capacity capacity_of(const Scenario& s, const PolicyEntry& policy, const PolicyOptions& options,
                     const std::vector<double>& mix);

}  // namespace distsim::serving
