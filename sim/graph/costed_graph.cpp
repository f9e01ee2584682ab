#include "sim/graph/costed_graph.hpp"

#include <algorithm>

namespace distsim::graph {
namespace {

/// Of half-widths that are partly shared, as those of the ops of one layer are, the sum: errors of like ops have one sign.
Result<Cost> sum_of(const CostedGraph& costed, std::span<const SequencePart> parts) {
  double mean = 0, low = 0, high = 0, least = 0, longest = -1;
  Cost sum;
  const auto add = [](BoundShares& to, const BoundShares& shares, double seconds) {
    to.matrix += shares.matrix * seconds;
    to.vector += shares.vector * seconds;
    to.memory += shares.memory * seconds;
  };
  for (const SequencePart& part : parts) {
    const Cost& cost = costed.costs[part.op];
    const double seconds = cost.mean.seconds() * part.times;
    mean += seconds;
    low += cost.low.seconds() * part.times;
    high += cost.high.seconds() * part.times;
    least += cost.least.seconds() * part.times;
    add(sum.shares, cost.shares, seconds);
    add(sum.described_shares, cost.described_shares, seconds);
    add(sum.busy, cost.busy, seconds);
    if (seconds <= longest) continue;
    longest = seconds;
    sum.basis = cost.basis;
    sum.source = cost.source;
  }
  for (BoundShares* shares : {&sum.shares, &sum.described_shares, &sum.busy})
    if (mean > 0) *shares = {shares->matrix / mean, shares->vector / mean, shares->memory / mean};
  sum.bound = sum.shares.matrix >= std::max(sum.shares.vector, sum.shares.memory) ? Bound::matrix : Bound::memory;
  TRY_ASSIGN(sum.mean, Duration::from_seconds(mean));
  TRY_ASSIGN(sum.low, Duration::from_seconds(std::min(low, mean)));
  TRY_ASSIGN(sum.high, Duration::from_seconds(std::max(high, mean)));
  TRY_ASSIGN(sum.least, Duration::from_seconds(std::min(least, mean)));
  return sum;
}

}  // namespace

Result<void> sum_sequences(CostedGraph& costed) {
  if (costed.graph.sequences.empty()) return {};
  std::vector<Cost> sums;
  for (const auto& parts : costed.graph.sequences) {
    TRY_ASSIGN(const Cost sum, sum_of(costed, parts));
    sums.push_back(sum);
  }
  for (std::uint32_t i = 0; i < costed.graph.ops.size(); ++i) {
    const auto* sequence = std::get_if<Sequence>(&costed.graph.ops[OpId(i)]);
    if (sequence != nullptr) costed.costs[OpId(i)] = sums[static_cast<std::size_t>(sequence->index)];
  }
  return {};
}

}  // namespace distsim::graph
