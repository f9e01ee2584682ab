#include "collectives/blend.hpp"

#include <algorithm>
#include <cmath>

#include "base/check.hpp"

namespace distsim::collectives {

namespace {

// The grid of sizes, in log2(bytes); chosen.
constexpr double kGridStep = 0.5;                  // follows the model's bends between measured sizes
constexpr double kGridFine = 3, kGridCoarse = 34;  // below 8 bytes and above 16 GiB the model is straight
constexpr double kGridTop = 38;                    // 256 GiB; beyond, the model with the last residual
constexpr double kUnpinnedWeight = 0.05;           // of a grid point between measured sizes, against these
// Relative uncertainty; chosen.
constexpr double kMeasuredSpread = 0.04;  // from run to run and node to node
constexpr double kGapSpread = 0.02;       // added per factor of two to the next measured size
constexpr double kMostGaps = 8;           // factors of two, after which it does not grow
constexpr double kToTenth = 1.28;         // standard deviations from mean to 10th and 90th percentile of a normal one

std::vector<double> grid_of(const std::vector<CarriedCurve>& curves) {
  std::vector<double> grid;
  grid.reserve(128);
  grid.push_back(0);
  const bool measured = std::any_of(curves.begin(), curves.end(),
                                    [](const CarriedCurve& c) { return c.evidence().carry == Carry::none; });
  const double step = measured ? kGridStep : 2 * kGridStep;  // what is carried is not known that finely
  for (double t = kGridFine; t <= kGridTop; t += t < kGridCoarse ? step : 2 * kGridStep) grid.push_back(t);
  for (const CarriedCurve& c : curves) {
    if (c.evidence().carry == Carry::none) grid.insert(grid.end(), c.sizes().begin(), c.sizes().end());
  }
  std::sort(grid.begin(), grid.end());
  grid.erase(std::unique(grid.begin(), grid.end()), grid.end());
  return grid;
}

}  // namespace

Blend::Node Blend::mix(const std::vector<CarriedCurve>& curves, double t) {
  Node node;
  node.log2_bytes = t;
  node.bytes = std::exp2(t);
  double sum = 0, mean = 0, square = 0, spread = 0, best = -1;
  for (const CarriedCurve& curve : curves) {
    const Evidence& e = curve.evidence();
    const CarriedCurve::Point p = curve.at(t);
    const double weight = e.trust * std::exp2(-p.outside);
    sum += weight;
    mean += weight * p.log_time;
    square += weight * p.log_time * p.log_time;
    spread += weight * (e.carry_spread + std::max(kMeasuredSpread, p.noise) + kGapSpread * std::min(kMostGaps, p.gap));
    if (weight > best) {
      best = weight;
      node.source = e.source_name;
    }
    if (e.carry != Carry::none || p.outside > 0) continue;
    const bool point = curve.measured_at(t);
    node.pinned = node.pinned || point;
    node.inside = node.inside || e.own;
    node.measured = node.measured || (e.own && point);
  }
  mean /= sum;
  const double deviation = std::sqrt(std::max(0.0, square / sum - mean * mean));
  const double half = kToTenth * deviation + spread / sum;
  node.log_time = mean;
  node.log_low = mean - half;
  node.log_high = mean + half;
  node.weight = sum;
  return node;
}

Blend::Blend(const std::vector<Evidence>& evidence, AnalyticModel model) : model_(std::move(model)) {
  CHECK(!evidence.empty());
  std::vector<CarriedCurve> curves;
  curves.reserve(evidence.size());
  for (const Evidence& e : evidence) {
    curves.emplace_back(e);
    same_group_ = same_group_ || (e.carry == Carry::none && e.own);
  }
  const std::vector<double> grid = grid_of(curves);
  nodes_.reserve(grid.size());
  for (double t : grid) nodes_.push_back(mix(curves, t));
  make_monotone();
}

/// Pool adjacent violators: neighbours that fall are replaced by their weighted mean until nothing falls.
void Blend::make_monotone() {
  struct Block {
    double sum, weight;
    std::size_t count;
    double mean() const { return sum / weight; }
  };
  std::vector<Block> blocks;
  for (const Node& n : nodes_) {
    const double weight = n.weight * (n.pinned ? 1.0 : kUnpinnedWeight);
    blocks.push_back({weight * n.log_time, weight, 1});
    while (blocks.size() > 1 && blocks[blocks.size() - 2].mean() > blocks.back().mean()) {
      const Block last = blocks.back();
      blocks.pop_back();
      blocks.back().sum += last.sum;
      blocks.back().weight += last.weight;
      blocks.back().count += last.count;
    }
  }
  std::size_t i = 0;
  for (const Block& block : blocks) {
    for (std::size_t k = 0; k < block.count; ++k, ++i) {
      Node& n = nodes_[i];
      n.log_time = block.count == 1 ? n.log_time : block.mean();
      n.log_low = std::min(n.log_low, n.log_time);
      n.log_high = std::max(n.log_high, n.log_time);
    }
  }
}

graph::Basis Blend::basis_between(const Node& a, const Node& b, double bytes) const {
  if ((a.measured && bytes == a.bytes) || (b.measured && bytes == b.bytes)) return graph::Basis::measured;
  if (a.inside && b.inside) return graph::Basis::interpolated;
  return same_group_ ? graph::Basis::extrapolated : graph::Basis::scaled;
}

Blend::Value Blend::at(double bytes) const {
  const double t = std::log2(std::max(bytes, 1.0));
  if (t >= nodes_.back().log2_bytes) {
    const Node& last = nodes_.back();
    const double ratio = model_.time_us(std::max(bytes, 1.0)) / model_.time_us(last.bytes);
    return {std::exp(last.log_time) * ratio, std::exp(last.log_low) * ratio, std::exp(last.log_high) * ratio,
            basis_between(last, last, bytes), last.source};
  }
  const auto after =
      std::upper_bound(nodes_.begin(), nodes_.end(), t, [](double v, const Node& n) { return v < n.log2_bytes; });
  const Node& a = *(after - 1);
  const Node& b = *after;
  const double f = (t - a.log2_bytes) / (b.log2_bytes - a.log2_bytes);
  const auto mix = [f](double x, double y) { return std::exp(x + f * (y - x)); };
  return {mix(a.log_time, b.log_time), mix(a.log_low, b.log_low), mix(a.log_high, b.log_high),
          basis_between(a, b, bytes), (f < 0.5 ? a : b).source};
}

}  // namespace distsim::collectives
