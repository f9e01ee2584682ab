#include "collectives/blend.hpp"

#include <algorithm>
#include <cmath>

#include "base/check.hpp"
#include "collectives/curves/spread.hpp"

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
constexpr double kForgetRange = 0.5;      // per factor of two outside of the range, as the residual (carried_curve.cpp)
constexpr double kToTenth = 1.28;         // standard deviations from mean to 10th and 90th percentile of a normal one

// Weight of the analytic model where the group itself was not measured, on the scale of evidence.cpp: that of a curve of
// another kind and another group (0.00002) at twice the ranks. What is nearer is better than the model, what is
// further is not: over the published sweeps, predicting other kinds from all_reduce has the least mean error here
// (11.4 %, where 13.2 without this voice and 12.8 with ten times its weight; sweep_validation_test.cpp).
constexpr double kAnalyticTrust = 1e-5;

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

/// Weighted sums of what the voices say of one size.
class Mix {
 public:
  explicit Mix(RelativeSpread site) : site_low_(-std::log1p(-site.low)), site_high_(std::log1p(site.high)) {}

  /// `low`, `high`: of the logarithm. `other_sites`: whether the voice is of a site that is not the user's own.
  void add(double weight, double log_time, double low, double high, bool other_sites) {
    sum_ += weight;
    mean_ += weight * log_time;
    square_ += weight * log_time * log_time;
    low_ += weight * low;
    high_ += weight * high;
    sites_ += other_sites ? weight : 0;
  }
  double weight() const { return sum_; }
  double mean() const { return mean_ / sum_; }
  double low() const { return mean() - std::max(apart(), sites_ / sum_ * site_low_) - low_ / sum_; }
  double high() const { return mean() + std::max(apart(), sites_ / sum_ * site_high_) + high_ / sum_; }

 private:
  /// What the voices differ by.
  double apart() const { return kToTenth * std::sqrt(std::max(0.0, square_ / sum_ - mean() * mean())); }

  double site_low_, site_high_;
  double sum_ = 0, mean_ = 0, square_ = 0, low_ = 0, high_ = 0, sites_ = 0;
};

/// A mean that is further from what was measured is called interpolated.
const double kNoLongerMeasured = std::log(1.1);

/// Of what one curve says of a size. `point`: it was measured there.
graph::Basis basis_of(const Evidence& e, double outside, bool point) {
  if (e.carry != Carry::none || !e.own) return graph::Basis::scaled;
  if (outside > 0) return graph::Basis::extrapolated;
  // What a launch floor was taken from is an estimate, not a measurement.
  return point && e.curve->launch_floor_us == 0 ? graph::Basis::measured : graph::Basis::interpolated;
}

/// Outside of a curve's range its residual fades to the model's time, and its range widens to the model's.
double widened(double spread, double analytic, double outside) {
  return spread + (1 - std::exp2(-kForgetRange * outside)) * std::max(0.0, analytic - spread);
}

}  // namespace

Blend::Node Blend::mix(const std::vector<CarriedCurve>& curves, double t) const {
  Node node;
  node.log2_bytes = t;
  node.bytes = std::exp2(t);
  const RelativeSpread analytic = analytic_spread(one_node_, node.bytes);
  const double low = -std::log1p(-analytic.low), high = std::log1p(analytic.high);
  Mix mix(site_spread(one_node_, node.bytes));
  double best = -1, unmeasured = 1;  // how far outside of the nearest curve of this very group, up to a factor of two
  double best_log_time = 0;
  for (const CarriedCurve& curve : curves) {
    const Evidence& e = curve.evidence();
    const CarriedCurve::Point p = curve.at(t);
    const double weight = e.trust * std::exp2(-p.outside);
    const double spread = e.carry_spread + std::max(kMeasuredSpread, p.noise) + kGapSpread * std::min(kMostGaps, p.gap);
    mix.add(weight, p.log_time, widened(spread, low, p.outside), widened(spread, high, p.outside), !e.of_user);
    const bool point = e.carry == Carry::none && p.outside == 0 && curve.measured_at(t);
    const graph::Basis basis = basis_of(e, p.outside, point);
    if (weight > best || (weight == best && basis < node.basis)) {
      best = weight;
      best_log_time = p.log_time;
      node.source = e.source_name;
      node.basis = basis;
    }
    if (e.carry == Carry::none) unmeasured = std::min(unmeasured, p.outside);
    if (point) node.pinned += weight;
  }
  const double model_weight = kAnalyticTrust * unmeasured;
  if (model_weight > mix.weight()) node.basis = graph::Basis::analytic, node.source = {};
  mix.add(model_weight, std::log(model_.time_us(node.bytes)), low, high, false);
  node.log_time = mix.mean();
  node.log_low = mix.low();
  node.log_high = mix.high();
  node.weight = mix.weight();
  if (node.basis == graph::Basis::measured && std::abs(node.log_time - best_log_time) > kNoLongerMeasured)
    node.basis = graph::Basis::interpolated;
  return node;
}

Blend::Blend(const std::vector<Evidence>& evidence, AnalyticModel model, bool one_node)
    : model_(std::move(model)), one_node_(one_node) {
  CHECK(!evidence.empty());
  std::vector<CarriedCurve> curves;
  curves.reserve(evidence.size());
  const Evidence* heaviest = &evidence.front();
  for (const Evidence& e : evidence) {
    curves.emplace_back(e);
    if (e.trust > heaviest->trust) heaviest = &e;
  }
  same_group_ = heaviest->carry == Carry::none && heaviest->own;
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
    const double weight = n.pinned + kUnpinnedWeight * (n.weight - n.pinned);
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
      const double before = n.log_time;
      n.log_time = block.count == 1 ? n.log_time : block.mean();
      if (n.basis == graph::Basis::measured && std::abs(n.log_time - before) > kNoLongerMeasured)
        n.basis = graph::Basis::interpolated;
      n.log_low = std::min(n.log_low, n.log_time);
      n.log_high = std::max(n.log_high, n.log_time);
    }
  }
}

/// At the size of a node that of the node. Between two nodes whichever says less: of a measured and an analytic one, that
/// something measured was carried on.
graph::Basis Blend::basis_between(const Node& a, const Node& b, double t) {
  using graph::Basis;
  if (t == a.log2_bytes) return a.basis;
  if (t == b.log2_bytes) return b.basis;
  const Basis first = std::max(std::min(a.basis, b.basis), Basis::interpolated), last = std::max(a.basis, b.basis);
  if (first == Basis::analytic || last != Basis::analytic) return std::max(first, last);
  return std::max(first, Basis::extrapolated);
}

Blend::Value Blend::at(double bytes) const {
  const double t = std::log2(std::max(bytes, 1.0));
  if (t >= nodes_.back().log2_bytes) {
    const Node& last = nodes_.back();
    const double ratio = model_.time_us(std::max(bytes, 1.0)) / model_.time_us(last.bytes);
    return {std::exp(last.log_time) * ratio, std::exp(last.log_low) * ratio, std::exp(last.log_high) * ratio,
            t == last.log2_bytes ? last.basis : std::max(last.basis, graph::Basis::extrapolated), last.source};
  }
  const auto after =
      std::upper_bound(nodes_.begin(), nodes_.end(), t, [](double v, const Node& n) { return v < n.log2_bytes; });
  const Node& a = *(after - 1);
  const Node& b = *after;
  const double f = (t - a.log2_bytes) / (b.log2_bytes - a.log2_bytes);
  const auto mix = [f](double x, double y) { return std::exp(x + f * (y - x)); };
  const graph::Basis basis = basis_between(a, b, t);
  const Node &near = f < 0.5 ? a : b, &far = f < 0.5 ? b : a;
  const bool of_far = near.basis != basis && far.basis == basis;  // a basis comes with the source that it is of
  return {mix(a.log_time, b.log_time), mix(a.log_low, b.log_low), mix(a.log_high, b.log_high), basis,
          of_far || near.source.empty() ? far.source : near.source};
}

}  // namespace distsim::collectives
