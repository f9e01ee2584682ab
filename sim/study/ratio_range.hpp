// What the errors of costs do to an iteration, and how sure the ratio of two iterations is.
//
// An error class is an op kind and the basis of its costs: all of its costs are wrong together. Its effect is found by
// playing the program again with them at the ends of their ranges. An iteration is continuous in every duration, so
// effects are continuous too, also where another cycle becomes the critical one; shares of the critical cycle are not.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "sim/graph/cost.hpp"
#include "sim/report/report.hpp"

namespace distsim::study {

using ErrorClass = std::pair<std::string, graph::Basis>;

/// ln(iteration / as predicted) with the costs of one class at the lower and at the upper ends of their ranges.
struct ClassEffect {
  double low = 0, high = 0;  ///< low <= 0 <= high
};

/// Of every class that the program has. A folded iteration is taken to feel them as the micro-steps that were played.
std::map<ErrorClass, ClassEffect> class_effects(const report::Played& played);

/// Half-widths of the logarithm of a ratio, downwards and upwards.
struct RatioWidths {
  double down = 0, up = 0;
};

/// Of b over a. `shared(class)`: whether an error of the class is the same in both and moves the ratio by the difference
/// of its effects only. Classes are independent. `own`: what else the ratio spreads by, either way.
RatioWidths ratio_widths(const std::map<ErrorClass, ClassEffect>& a, const std::map<ErrorClass, ClassEffect>& b,
                         double own, const std::function<bool(const ErrorClass&)>& shared);

}  // namespace distsim::study
