#include "collectives/logs/checks/printed_ratio.hpp"

#include <algorithm>
#include <cmath>

namespace distsim::collectives {

namespace {

constexpr std::size_t kMostPairs = 64;  // of a table; more make nothing clearer
constexpr std::uint32_t kMostRanksOfRatio = 255, kMostAsked = 2 * kMostRanksOfRatio;
constexpr double kRoundingSlack = 1.02;  // sums of floating point at the very edge of a digit

bool is_size_over_time(const NcclRow& r) {
  const double expected = r.bytes / r.time_us / 1000;
  return std::abs(r.algbw - expected) <= 0.0101 + 0.02 * expected;
}

}  // namespace

PrintedRatio::PrintedRatio(const std::vector<const NcclRow*>& rows, graph::CollectiveKind kind) : kind_(kind) {
  const bool half = kind == graph::CollectiveKind::all_gather || kind == graph::CollectiveKind::reduce_scatter;
  for (const NcclRow* r : rows) {
    const bool finite = std::isfinite(r->algbw) && std::isfinite(r->busbw);
    if (r->no_bandwidth || !finite || r->algbw <= 0 || !is_size_over_time(*r)) continue;
    if (half && r->busbw == r->algbw) continue;
    pairs_.push_back({r->algbw, r->busbw, r->algbw_digit / 2, r->busbw_digit / 2});
  }
  if (pairs_.empty()) return;
  std::stable_sort(pairs_.begin(), pairs_.end(), [](const Pair& a, const Pair& b) { return a.algbw > b.algbw; });
  const double least = pairs_.front().algbw / 2;
  std::erase_if(pairs_, [least](const Pair& p) { return p.algbw < least; });
  if (pairs_.size() > kMostPairs) pairs_.resize(kMostPairs);
}

std::size_t PrintedRatio::agreeing(std::uint32_t ranks) const {
  const double factor = graph::busbw_factor(kind_, ranks);
  return static_cast<std::size_t>(std::count_if(pairs_.begin(), pairs_.end(), [factor](const Pair& p) {
    const double slack = kRoundingSlack * (p.half_busbw_digit + factor * p.half_algbw_digit);
    return std::abs(p.busbw - factor * p.algbw) <= slack;
  }));
}

bool PrintedRatio::allows(std::uint32_t ranks) const { return pairs_.empty() || 2 * agreeing(ranks) > pairs_.size(); }

std::uint32_t PrintedRatio::ranks() const {
  std::uint32_t best = 0;
  std::size_t most = pairs_.size() / 2;  // fewer are no majority
  bool alone = false;
  for (std::uint32_t n = 2; n <= kMostAsked; ++n) {
    const std::size_t agree = agreeing(n);
    if (agree < most || (agree == most && best == 0)) continue;
    alone = agree > most;
    most = agree;
    best = n;
  }
  return alone && best <= kMostRanksOfRatio ? best : 0;
}

double PrintedRatio::ratio() const { return pairs_.empty() ? 0 : pairs_.front().busbw / pairs_.front().algbw; }

}  // namespace distsim::collectives
