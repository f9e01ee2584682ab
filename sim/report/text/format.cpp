#include "sim/report/text/format.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "sim/report/text/columns.hpp"

namespace distsim::report {
namespace {

std::string scaled(double value, double step, const std::array<const char*, 6>& units) {
  std::size_t unit = 0;
  while (std::abs(value) >= step && unit + 1 < units.size()) {
    value /= step;
    ++unit;
  }
  const int digits = unit == 0                ? (value == std::floor(value) ? 0 : 1)
                     : std::abs(value) >= 100 ? 0
                     : std::abs(value) >= 10  ? 1
                                              : 2;
  return fixed(value, digits) + units[unit];
}

}  // namespace

std::string fixed(double value, int digits) {
  if (!std::isfinite(value)) value = 0;
  std::array<char, 400> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

TimeScale time_scale(Duration d) {
  const double s = d.seconds();
  TimeScale scale = s >= 1e4              ? TimeScale{"h", 1.0 / 3600}
                    : s >= 1              ? TimeScale{"s", 1}
                    : s >= 1e-4 || s <= 0 ? TimeScale{"ms", 1e3}
                                          : TimeScale{"us", 1e6};
  const double value = s * scale.per_second;
  scale.digits = value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3;
  return scale;
}

std::string time_text(Duration d) {
  const TimeScale scale = time_scale(d);
  return scale.text(d) + " " + scale.unit;
}

std::string count_text(double value) {
  constexpr int kDigits = 3, kMostAfterThePoint = 9;
  if (value > 0 && value < 1)  // of slow jobs: one digit after the point may be a third off
    return fixed(value, std::min(kMostAfterThePoint, kDigits - 1 - static_cast<int>(std::floor(std::log10(value)))));
  return scaled(value, 1000, {"", " k", " M", " G", " T", " P"});
}
std::string binary_bytes(double bytes) { return scaled(bytes, 1024, {" B", " KiB", " MiB", " GiB", " TiB", " PiB"}); }
std::string decimal_bytes(double bytes) { return scaled(bytes, 1000, {" B", " kB", " MB", " GB", " TB", " PB"}); }
std::string percent_text(double a, double b) { return fixed(b > 0 ? 100 * a / b : 0, 1); }

std::string whole_percent(double share) {
  if (share > 0 && share < 0.005) return "<1";
  if (share < 1 && share >= 0.995) return ">99";
  return fixed(100 * share, 0);
}

std::string machine_text(const ReportContext& c) {
  const std::string gpu = c.device.empty() ? "GPU" : one_line(c.device);
  return std::to_string(c.nodes) + " x " + std::to_string(c.gpus_per_node) + " " + gpu;
}

}  // namespace distsim::report
