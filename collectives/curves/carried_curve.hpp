// CarriedCurve: what one measured curve predicts for the group in question.
//
// A curve is kept as its residual to the analytic model of the group it was measured on, with the pair of factors found
// on it,
//   r(bytes) = ln(measured / model), and predicts   ln(time) = ln(model of the group in question, same factors) + share
//   * r(where).
// On the group it was measured on, `where` is the size itself and the curve is interpolated; other rates or another
// launch multiply it by the ratio of the two models. Carried to another group or collective, `where` is the size at
// which the measured group was in the same regime: where bytes made up the same part of the time. Switches of algorithm
// and protocol move that way.
#pragma once

#include <string_view>
#include <vector>

#include "collectives/analytic_model.hpp"
#include "collectives/curves/curve_set.hpp"
#include "collectives/curves/monotone_cubic.hpp"

namespace distsim::collectives {

enum class Carry : std::uint8_t {
  none,       ///< the very group, launch and rates: points are measurements
  same_size,  ///< the same ranks on the same nodes; other rates, launch or settings
  regime,     ///< other ranks, or another collective
};

struct Evidence {
  const Curve* curve = nullptr;
  AnalyticModel source, target;  ///< of the group measured and of the group in question, both with the curve's factors
  Calibration factors;
  Carry carry = Carry::regime;
  double share = 1;         ///< of the residual that is carried
  double trust = 1;         ///< weight inside its range
  double carry_spread = 0;  ///< relative uncertainty of carrying it over
  bool own = true;          ///< of the system itself, not of a sibling
  bool of_user = false;     ///< of a log that the user named: his own site
  std::string_view source_name{};
};

class CarriedCurve {
 public:
  explicit CarriedCurve(const Evidence& evidence);
  const Evidence& evidence() const { return *evidence_; }

  struct Point {
    double log_time = 0;  ///< of us
    double outside = 0;   ///< of its range, in factors of two
    double gap = 0;       ///< to the nearest measured size, in factors of two
    double noise = 0;     ///< half range of the nearest measured size, relative; 0 where not known
  };
  /// At 2^t bytes.
  Point at(double t) const;
  bool measured_at(double t) const;
  const std::vector<double>& sizes() const { return x_; }  ///< log2 of bytes, ascending

 private:
  double position_of(double t, double target_us) const;
  double residual_at(double t) const;
  double shaped(double t, double log_model) const;
  double same_size(double t, double log_target) const;

  const Evidence* evidence_;
  std::vector<double> x_, y_, r_, wire_;  ///< log2 bytes, ln time, residual, part of the time that bytes make up
  MonotoneCubic straight_;                ///< through the points, in log-log
  double target_empty_us_;
};

}  // namespace distsim::collectives
