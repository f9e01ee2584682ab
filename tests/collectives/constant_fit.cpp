#include "constant_fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace distsim::collectives {

namespace {

constexpr double kPull = 0.0008, kMostError = 0.5, kLargeBytes = 64e6, kLargeWeight = 0.5;
constexpr double kFirstStep = 1.35, kLastStep = 1.02;
constexpr int kMostRounds = 16;

using Members = std::vector<FreeConstant>;

void add(Members& out, const char* name, double ModelConstants::*member, double neutral) {
  out.push_back({name, [member](ModelConstants& c) -> double& { return c.*member; }, neutral});
}

template <std::size_t N>
void add(Members& out, const char* name, std::array<double, N> ModelConstants::*member, std::vector<std::size_t> which,
         std::vector<double> neutral) {
  for (std::size_t i : which) {
    const double start = neutral.size() == 1 ? neutral[0] : neutral[i];
    out.push_back({name + std::string("[") + std::to_string(i) + "]",
                   [member, i](ModelConstants& c) -> double& { return (c.*member)[i]; }, start});
  }
}

double loss_of(const Sweep& s, const ModelConstants& constants) {
  const AnalyticModel model(s.curve.curve.kind, s.curve.facts, s.mode, constants);
  double all = 0, large = 0;
  std::size_t large_count = 0;
  for (const CurvePoint& p : s.curve.curve.points) {
    const double error = std::min(kMostError, std::abs(std::log(model.time_us(p.bytes) / p.time_us)));
    all += error;
    if (p.bytes < kLargeBytes) continue;
    large += error;
    ++large_count;
  }
  return all / static_cast<double>(s.curve.curve.points.size()) +
         (large_count > 0 ? kLargeWeight * large / static_cast<double>(large_count) : 0);
}

class Objective {
 public:
  Objective(const std::vector<Sweep>& sweeps, const std::string& left_out) {
    for (const Sweep& s : sweeps) {
      if (s.usable && s.known_launch && s.system != left_out) by_system_[s.system].push_back(&s);
    }
  }
  double operator()(ModelConstants constants, const Members& free) const {
    double total = 0;
    for (const auto& [system, sweeps] : by_system_) {
      double sum = 0;
      for (const Sweep* s : sweeps) sum += loss_of(*s, constants);
      total += sum / std::sqrt(static_cast<double>(sweeps.size()));
    }
    total /= static_cast<double>(by_system_.size());
    for (const FreeConstant& f : free) {
      const double away = std::log2(f.at(constants) / f.neutral);
      total += kPull * away * away;
    }
    return total;
  }

 private:
  std::map<std::string, std::vector<const Sweep*>> by_system_;
};

/// Tries a factor up and down on one constant; keeps what is better.
bool improve(const FreeConstant& f, double factor, const Objective& objective, const Members& free,
             ModelConstants& constants, double& best) {
  const double start = f.at(constants);
  for (double value : {start * factor, start / factor}) {
    f.at(constants) = value;
    const double now = objective(constants, free);
    if (now < best - 1e-7) {
      best = now;
      return true;
    }
  }
  f.at(constants) = start;
  return false;
}

}  // namespace

Members free_constants() {
  using M = ModelConstants;
  Members out;
  add(out, "latency_share", &M::latency_share, {0, 1, 2, 3}, {1});
  add(out, "ramp_ll", &M::ramp_ll, {0, 1, 2, 3}, {30});
  add(out, "ramp_bulk", &M::ramp_bulk, {0, 1, 2, 3}, {50});
  add(out, "ramp_exchange", &M::ramp_exchange, {1, 2}, {50});
  add(out, "ramp_hops", &M::ramp_hops, {0, 1, 2}, {1});
  add(out, "fill_per_node", &M::fill_per_node, {0, 1, 2}, {10, 40, 150});
  add(out, "fill_gbps", &M::fill_gbps, {0, 1, 2}, {0.2, 1, 1});
  add(out, "efa_hop", &M::efa_hop, {0, 1, 2}, {40});
  add(out, "exchange_net_share", &M::exchange_net_share, 0.9);
  add(out, "tree_simple_share", &M::tree_simple_share, 0.95);
  add(out, "nvls_half_share", &M::nvls_half_share, 1);
  add(out, "host_per_gpu", &M::host_per_gpu, 4);
  return out;
}

ModelConstants fit_constants(const std::vector<Sweep>& sweeps, const std::string& left_out) {
  const Members free = free_constants();
  ModelConstants constants = shipped_constants();
  for (const FreeConstant& f : free) f.at(constants) = f.neutral;
  const Objective objective(sweeps, left_out);
  double best = objective(constants, free), factor = kFirstStep;
  for (int round = 0; round < kMostRounds && factor > kLastStep; ++round) {
    bool any = false;
    for (const FreeConstant& f : free) any = improve(f, factor, objective, free, constants, best) || any;
    if (!any) factor = std::sqrt(factor);
  }
  return constants;
}

}  // namespace distsim::collectives
