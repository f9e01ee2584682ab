#include "collectives/algorithms/candidate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.hpp"

namespace distsim::collectives {

namespace {

/// NCCL's correction between the table's powers of two is linear in bytes: no jump at a size, and bytes / correction
/// still grows.
double tree_correction(const std::array<double, 23>& table, double bytes) {
  int exponent = 0;
  const double mantissa = 2 * std::frexp(std::max(bytes, 64.0) / 64.0, &exponent) - 1;  // 0 .. 1 within a factor of two
  const std::size_t i = static_cast<std::size_t>(exponent - 1);
  return i + 1 >= table.size() ? table.back() : table[i] + mantissa * (table[i + 1] - table[i]);
}

/// x^(3/8) by three square roots, which take a fraction of std::pow's time and round alike everywhere.
double three_eighths_power(double x) {
  const double quarter = std::sqrt(std::sqrt(x));
  return quarter * std::sqrt(quarter);
}

}  // namespace

std::string_view name_of(Protocol protocol) {
  switch (protocol) {
    case Protocol::ll:
      return "LL";
    case Protocol::ll128:
      return "LL128";
    case Protocol::simple:
      return "Simple";
  }
  return "?";
}

double time_us(const Candidate& c, double bytes) {
  const double wire =
      bytes / (1000.0 * (c.correction != nullptr ? c.gbps * tree_correction(*c.correction, bytes) : c.gbps));
  const double ramp = wire >= c.ramp_us ? c.ramp_us : c.ramp_us * three_eighths_power(wire / c.ramp_us);
  return c.latency_us + wire + ramp + std::min(c.fill_us, bytes / (1000.0 * c.fill_gbps));
}

Choice fastest(std::span<const Candidate> candidates, double bytes) {
  Choice best{nullptr, std::numeric_limits<double>::infinity()};
  for (const Candidate& c : candidates) {
    if (c.latency_us >= best.us) continue;
    if (const double us = time_us(c, bytes); us < best.us) best = {&c, us};
  }
  CHECK(best.candidate != nullptr) << "no finite time for " << bytes << " bytes";
  return best;
}

}  // namespace distsim::collectives
