// Numbers as the reports show them.
#pragma once

#include <string>

#include "base/units.hpp"
#include "sim/report/report.hpp"

namespace distsim::report {

/// `value` with `digits` after the point. Not finite reads as 0: reports hold finite numbers only.
std::string fixed(double value, int digits);

/// The unit that a duration is best read in, and its digits: "us" below 0.1 ms, "ms" below 10 s, "s" below 10000 s, "h"
/// beyond. A column of durations shares the scale of the iteration.
struct TimeScale {
  std::string unit;
  double per_second = 1;  ///< units in a second
  int digits = 0;         ///< after the point: 1234, 123.4, 12.34, 1.234
  std::string text(Duration d) const { return fixed(d.seconds() * per_second, digits); }
};
TimeScale time_scale(Duration d);
/// "20.50 ms", "4080 s": a duration in its own scale.
std::string time_text(Duration d);

/// 5.31 M, 12.3 k, 999.
std::string count_text(double value);
/// 25.0 MiB, 512 B.
std::string binary_bytes(double bytes);
/// 24.1 GB.
std::string decimal_bytes(double bytes);
/// a / b in percent with one digit, "0.0" where b is 0.
std::string percent_text(double a, double b);
/// A share in whole percent: "61"; "<1" and ">99" where the rounded number would be 0 or 100 and the share is not.
std::string whole_percent(double share);

/// "4 x 8 A100-SXM4-40GB", "1 x V100".
std::string machine_text(const ReportContext& context);

}  // namespace distsim::report
