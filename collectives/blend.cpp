#include "collectives/blend.hpp"

#include <algorithm>
#include <cmath>

#include "base/check.hpp"

namespace distsim::collectives {

namespace {

constexpr double kGridStep = 0.5;        // of log2(bytes): the model's bends between measured sizes
constexpr double kGridTop = 38;          // 256 GiB; beyond, the model alone with the last residual
constexpr double kGridFine = 3, kGridCoarse = 34;  // below 8 bytes and above 16 GiB the model is straight: a longer step will do
constexpr double kMeasuredSpread = 0.04; // run-to-run and node-to-node noise of a single curve
constexpr double kGapSpread = 0.02;      // more for each factor of two away from a measured size
constexpr double kModelShape = 0.7;      // what the model and a straight line weigh between two measured sizes
constexpr double kToTenth = 1.28;        // standard deviations to the 10th and 90th percentile

/// One curve's residual to its own model. Between two sizes, a mix of the model's shape and a straight line in log-log.
struct Residual {
  std::vector<double> x, r, y;
  const Evidence* evidence;
  double empty_us;

  explicit Residual(const Evidence& e) : evidence(&e), empty_us(e.model(1)) {
    for (std::vector<double>* v : {&x, &r, &y}) v->reserve(e.curve->points.size());
    for (const CurvePoint& p : e.curve->points) {
      x.push_back(std::log2(p.bytes));
      y.push_back(std::log(p.time_us));
      r.push_back(y.back() - std::log(e.model(p.bytes)));
    }
  }
  /// Share of the time that grows with the bytes.
  double wire_share(double t) const { return 1 - empty_us / evidence->model(std::exp2(t)); }
  /// Outside the range the edge's residual is what latency and bandwidth together deviate by. How much of it is owed to which is told by their shares of
  /// the time at the edge, so what was found where bytes dominate says little about latency, and the other way round.
  double beyond(double t, double edge, double residual) const {
    const double a = wire_share(edge), b = wire_share(t);
    return residual * std::min(1.0, (a * b + (1 - a) * (1 - b)) / (a * a + (1 - a) * (1 - a)));
  }
  double at(double t) const {
    if (t <= x.front()) return beyond(t, x.front(), r.front());
    if (t >= x.back()) return beyond(t, x.back(), r.back());
    const std::size_t i = static_cast<std::size_t>(std::upper_bound(x.begin(), x.end(), t) - x.begin());
    const double f = (t - x[i - 1]) / (x[i] - x[i - 1]);
    const double bent = r[i - 1] + f * (r[i] - r[i - 1]);
    if (!evidence->same_group) return bent;  // carried to another group, the line between two sizes means nothing
    const double straight = y[i - 1] + f * (y[i] - y[i - 1]) - std::log(evidence->model(std::exp2(t)));
    return kModelShape * bent + (1 - kModelShape) * straight;
  }
  double outside(double t) const { return std::max({0.0, x.front() - t, t - x.back()}); }
  /// Distance to the nearest measured size, in factors of two.
  double gap(double t) const {
    const auto it = std::lower_bound(x.begin(), x.end(), t);
    const double up = it == x.end() ? 1e9 : *it - t, down = it == x.begin() ? 1e9 : t - *(it - 1);
    return std::min(up, down);
  }
};

std::vector<double> grid_of(const std::vector<Residual>& residuals) {
  std::vector<double> grid;
  grid.reserve(128);
  grid.push_back(0);
  for (double t = kGridFine; t <= kGridTop; t += t < kGridCoarse ? kGridStep : 2 * kGridStep) grid.push_back(t);
  for (const Residual& r : residuals) {
    if (r.evidence->same_group) grid.insert(grid.end(), r.x.begin(), r.x.end());
  }
  std::sort(grid.begin(), grid.end());
  grid.erase(std::unique(grid.begin(), grid.end()), grid.end());
  return grid;
}

}  // namespace

Blend::Blend(const std::vector<Evidence>& evidence, ModelFunction model) : model_(std::move(model)) {
  CHECK(!evidence.empty());
  std::vector<Residual> residuals;
  residuals.reserve(evidence.size());
  for (const Evidence& e : evidence) {
    residuals.emplace_back(e);
    same_group_ = same_group_ || e.same_group;
  }
  for (double t : grid_of(residuals)) {
    Node node;
    node.log2_bytes = t;
    node.bytes = std::exp2(t);
    double sum = 0, mean = 0, square = 0, spread = 0, best = -1;
    for (const Residual& r : residuals) {
      const Evidence& e = *r.evidence;
      const double away = r.outside(t + e.shift);
      const double weight = e.trust * std::exp2(-away), value = r.at(t + e.shift);
      sum += weight;
      mean += weight * value;
      square += weight * value * value;
      spread += weight * (e.carry_spread + kMeasuredSpread + kGapSpread * std::min(8.0, r.gap(t + e.shift)));
      if (weight > best) { best = weight; node.source = e.source; }
      if (e.same_group && away == 0) {
        node.inside = true;
        node.measured = node.measured || std::binary_search(r.x.begin(), r.x.end(), t);
      }
    }
    mean /= sum;
    const double deviation = std::sqrt(std::max(0.0, square / sum - mean * mean));
    const double half = kToTenth * deviation + spread / sum;
    node.log_time = std::log(model_(node.bytes)) + mean;
    node.log_low = node.log_time - half;
    node.log_high = node.log_time + half;
    node.weight = sum;
    nodes_.push_back(node);
  }
  make_monotone();
}

/// Pool adjacent violators: neighbours that fall are replaced by their weighted mean until nothing falls.
void Blend::make_monotone() {
  struct Block { double sum, weight; std::size_t count; double mean() const { return sum / weight; } };
  std::vector<Block> blocks;
  for (const Node& n : nodes_) {
    const double weight = n.weight * (n.measured ? 1.0 : 0.05);  // a grid point between measurements follows them
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

Basis Blend::basis_between(const Node& a, const Node& b, double bytes) const {
  if ((a.measured && bytes == a.bytes) || (b.measured && bytes == b.bytes)) return Basis::measured;
  if (a.inside && b.inside) return Basis::interpolated;
  return same_group_ ? Basis::extrapolated : Basis::scaled;
}

Blend::Value Blend::at(double bytes) const {
  const double t = std::log2(std::max(bytes, 1.0));
  if (t >= nodes_.back().log2_bytes) {
    const Node& last = nodes_.back();
    const double ratio = model_(std::max(bytes, 1.0)) / model_(last.bytes);
    return {std::exp(last.log_time) * ratio, std::exp(last.log_low) * ratio, std::exp(last.log_high) * ratio, basis_between(last, last, bytes), last.source};
  }
  const auto after = std::upper_bound(nodes_.begin(), nodes_.end(), t, [](double v, const Node& n) { return v < n.log2_bytes; });
  const Node& a = *(after - 1);
  const Node& b = *after;
  const double f = (t - a.log2_bytes) / (b.log2_bytes - a.log2_bytes);
  const auto mix = [f](double x, double y) { return std::exp(x + f * (y - x)); };
  return {mix(a.log_time, b.log_time), mix(a.log_low, b.log_low), mix(a.log_high, b.log_high), basis_between(a, b, bytes), (f < 0.5 ? a : b).source};
}

}  // namespace distsim::collectives
