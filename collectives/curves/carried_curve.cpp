#include "collectives/curves/carried_curve.hpp"

#include <algorithm>
#include <cmath>

namespace distsim::collectives {

namespace {

/// Between two measured sizes, a mix of the model's shape and of the smooth curve through the points. Over the
/// published sweeps, every second size given: 1.8 / 3.6 % median / mean error, where straight lines have 2.5 / 4.3, the
/// model's shape 1.9 / 4.0 and the smooth curve 1.6 / 3.7.
constexpr double kModelShape = 0.25;
/// Beyond the range, the residual halves every 1 / kForget factors of two. Chosen: what carries further is in the
/// calibration's factors.
constexpr double kForget = 0.5;

/// Below the sizes that a launch floor was taken from nothing was seen of the collective, so that the curve has nothing to
/// say there: factors of two of distance count this many times. Chosen: within half a factor of two others are heard.
constexpr double kHiddenByLaunch = 8;

/// Index of the first that is above t, in 1 .. n - 1.
std::size_t segment_of(const std::vector<double>& x, double t) {
  const auto i = static_cast<std::size_t>(std::upper_bound(x.begin(), x.end(), t) - x.begin());
  return std::clamp<std::size_t>(i, 1, x.size() - 1);
}

}  // namespace

CarriedCurve::CarriedCurve(const Evidence& e) : evidence_(&e), target_empty_us_(e.target.time_us(1)) {
  const std::size_t n = e.curve->points.size();
  for (std::vector<double>* v : {&x_, &y_, &r_, &wire_}) v->reserve(n);
  const double empty = e.source.time_us(1);
  for (const CurvePoint& p : e.curve->points) {
    const double model = e.source.time_us(p.bytes);
    x_.push_back(std::log2(p.bytes));
    y_.push_back(std::log(p.time_us));
    r_.push_back(y_.back() - std::log(model));
    wire_.push_back(1 - empty / model);
  }
  if (e.carry != Carry::regime) straight_ = MonotoneCubic(x_, y_);
}

/// Where the curve's group was in the regime that the group in question is in at 2^t bytes; log2 of bytes.
double CarriedCurve::position_of(double t, double target_us) const {
  if (evidence_->carry != Carry::regime) return t;
  const double wire = 1 - target_empty_us_ / target_us;
  if (wire <= wire_.front()) return std::min(t, x_.front());
  if (wire >= wire_.back()) return std::max(t, x_.back());
  const std::size_t i = segment_of(wire_, wire);
  const double width = wire_[i] - wire_[i - 1];
  return width > 0 ? x_[i - 1] + (wire - wire_[i - 1]) / width * (x_[i] - x_[i - 1]) : x_[i];
}

double CarriedCurve::residual_at(double t) const {
  if (t <= x_.front()) return r_.front() * std::exp2(-kForget * (x_.front() - t));
  if (t >= x_.back()) return r_.back() * std::exp2(-kForget * (t - x_.back()));
  const std::size_t i = segment_of(x_, t);
  return r_[i - 1] + (t - x_[i - 1]) / (x_[i] - x_[i - 1]) * (r_[i] - r_[i - 1]);
}

double CarriedCurve::shaped(double t, double log_model) const {
  const double bent = log_model + residual_at(t);
  if (t <= x_.front() || t >= x_.back()) return bent;
  return kModelShape * bent + (1 - kModelShape) * straight_.at(t, segment_of(x_, t));
}

/// The measured curve times the ratio of the two models, so that equal models give the measured curve.
double CarriedCurve::same_size(double t, double log_target) const {
  if (evidence_->carry == Carry::none) return shaped(t, log_target);
  const double log_source = std::log(evidence_->source.time_us(std::exp2(t)));
  return log_target + evidence_->share * (shaped(t, log_source) - log_source);
}

CarriedCurve::Point CarriedCurve::at(double t) const {
  const double target_us = evidence_->target.time_us(std::exp2(t)), log_model = std::log(target_us);
  const double where = position_of(t, target_us);
  Point out;
  out.log_time =
      evidence_->carry == Carry::regime ? log_model + evidence_->share * residual_at(where) : same_size(t, log_model);
  const double hidden = evidence_->curve->launch_floor_us > 0 ? kHiddenByLaunch : 1;
  out.outside = std::max({0.0, hidden * (x_.front() - where), where - x_.back()});
  const auto after = static_cast<std::size_t>(std::lower_bound(x_.begin(), x_.end(), where) - x_.begin());
  const double up = after < x_.size() ? x_[after] - where : 1e9, down = after > 0 ? where - x_[after - 1] : 1e9;
  out.gap = std::min(up, down);
  const CurvePoint& nearest = evidence_->curve->points[up <= down ? after : after - 1];
  const double low = nearest.low_us > 0 ? nearest.low_us : nearest.time_us;  // one of the two may be unknown
  const double high = nearest.high_us > 0 ? nearest.high_us : nearest.time_us;
  if (high > low) out.noise = 0.5 * std::log(high / low);
  return out;
}

bool CarriedCurve::measured_at(double t) const { return std::binary_search(x_.begin(), x_.end(), t); }

}  // namespace distsim::collectives
