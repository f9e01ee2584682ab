#include "sim/graph/cost.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

namespace distsim::graph {
namespace {

constexpr std::array<std::string_view, kBasisCount> kBasisNames{"measured", "interpolated", "extrapolated",
                                                                "scaled",   "learned",      "analytic"};

constexpr std::array<std::string_view, 5> kBoundNames{"none", "matrix", "vector", "memory", "latency"};

Error bad_spread(double low, double high) {
  return {"spread: found low " + std::to_string(low) + ", high " + std::to_string(high) +
              ", expected low from 0 to 1 and a finite high of at least 0",
          "", ""};
}

}  // namespace

std::string_view name_of(Basis basis) {
  const auto index = static_cast<std::size_t>(basis);
  CHECK(index < kBasisNames.size()) << "basis " << index;
  return kBasisNames[index];
}

std::string_view name_of(Bound bound) {
  const auto index = static_cast<std::size_t>(bound);
  CHECK(index < kBoundNames.size()) << "bound " << index;
  return kBoundNames[index];
}

Result<Cost> at_clock(Cost cost, double slower) {
  const double units = cost.shares.matrix + cost.shares.vector, busy = units + cost.shares.memory;
  const double fourth = slower * slower * slower * slower;
  const double factor =
      busy > 0 ? 1 - busy + busy * std::sqrt(std::sqrt((units * fourth + cost.shares.memory) / busy)) : 1;
  const Duration before = cost.mean;
  for (Duration* time : {&cost.mean, &cost.low, &cost.high}) {
    TRY_ASSIGN(*time, Duration::from_seconds(time->seconds() * factor));
  }
  if (cost.mean != before && cost.basis == Basis::measured) cost.basis = Basis::scaled;
  if (cost.bound == Bound::matrix) {
    TRY_ASSIGN(cost.least, Duration::from_seconds(cost.least.seconds() * slower));
  }
  cost.least = std::min(cost.least, cost.mean);
  return cost;
}

Result<Cost> make_cost(double seconds, double spread_low, double spread_high, Basis basis, std::string_view source) {
  // Written so that a NaN fails each test.
  if (!(spread_low >= 0.0 && spread_low <= 1.0) || !(spread_high >= 0.0) || !std::isfinite(spread_high))
    return bad_spread(spread_low, spread_high);
  TRY_ASSIGN(const Duration mean, Duration::from_seconds(seconds));
  TRY_ASSIGN(const Duration low, Duration::from_seconds(seconds * (1.0 - spread_low)));
  TRY_ASSIGN(const Duration high, Duration::from_seconds(seconds * (1.0 + spread_high)));
  return Cost{mean, low, high, basis, source};
}

Result<Cost> repeated(const Cost& once, double times) {
  Cost all = once;
  TRY_ASSIGN(all.mean, Duration::from_seconds(once.mean.seconds() * times));
  TRY_ASSIGN(all.low, Duration::from_seconds(once.low.seconds() * times));
  TRY_ASSIGN(all.high, Duration::from_seconds(once.high.seconds() * times));
  TRY_ASSIGN(all.least, Duration::from_seconds(once.least.seconds() * times));
  return all;
}

}  // namespace distsim::graph
