#include "collectives/curves/monotone_cubic.hpp"

#include "base/check.hpp"

namespace distsim::collectives {

namespace {

double slope_between(double left, double right, double width_left, double width_right) {
  if (left * right <= 0) return 0;
  const double a = 2 * width_right + width_left, b = width_right + 2 * width_left;
  return (a + b) / (a / left + b / right);
}

}  // namespace

MonotoneCubic::MonotoneCubic(std::span<const double> x, std::span<const double> y)
    : x_(x.begin(), x.end()), y_(y.begin(), y.end()), slope_(x.size(), 0) {
  CHECK(x.size() == y.size() && !x.empty());
  const std::size_t n = x.size();
  if (n < 2) return;
  const auto secant = [&](std::size_t i) { return (y[i + 1] - y[i]) / (x[i + 1] - x[i]); };
  slope_[0] = secant(0);
  slope_[n - 1] = secant(n - 2);
  for (std::size_t i = 1; i + 1 < n; ++i)
    slope_[i] = slope_between(secant(i - 1), secant(i), x[i] - x[i - 1], x[i + 1] - x[i]);
}

double MonotoneCubic::at(double t, std::size_t i) const {
  const double width = x_[i] - x_[i - 1], f = (t - x_[i - 1]) / width, g = 1 - f;
  return (1 + 2 * f) * g * g * y_[i - 1] + f * g * g * width * slope_[i - 1] + f * f * (3 - 2 * f) * y_[i] -
         f * f * g * width * slope_[i];
}

}  // namespace distsim::collectives
