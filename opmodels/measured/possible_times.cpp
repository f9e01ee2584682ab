#include "opmodels/measured/possible_times.hpp"

#include <algorithm>

#include "base/text/quantity_text.hpp"

namespace distsim::opmodels {
namespace {

/// Only matrix products: other ops may need fewer operations than their formula (Winograd's convolution).
Result<void> check_rate(const topology::DeviceSpec& device, const OpRow& row, std::string_view dtype, double seconds,
                        Hertz clock) {
  const bool slow = clock.value() > 0 && clock < device.clock.boost;
  const double peak = topology::product_peak(device, dtype) * (slow ? clock.value() / device.clock.boost.value() : 1);
  if (peak <= 0 || !std::holds_alternative<graph::Gemm>(row.ops.front())) return {};
  const double rate = graph::flops_of(row.ops.front()) / seconds;
  if (rate <= peak * topology::kPeakTolerance) return {};
  return Error{
      "latency_us: found " + format_quantity_beside(rate, peak, Dimension::flops_per_second) + ", expected at most " +
          format_quantity(peak, Dimension::flops_per_second) + ", the peak of " + device.name + " in " +
          std::string(dtype) +
          (slow ? " at an SM clock of " + format_quantity(clock.value() * 1e-6, Dimension::none) + " MHz" : ""),
      "", ""};
}

/// A kernel starts, reads and writes memory, and ends: an access alone takes 0.2 us and more.
constexpr double kShortestKernel = 0.2e-6;  // s
/// By how much a kernel may beat what the data sheet's rates allow it: better algorithms (Winograd's convolution), links
/// and memories above their usual rate, operands that a caller left in L2.
constexpr double kFasterThanRates = 2;

Result<void> check_time(const std::string& device, double least, double seconds) {
  const bool by_rates = least / kFasterThanRates > kShortestKernel;
  const double most = by_rates ? least / kFasterThanRates : kShortestKernel;
  if (seconds >= most) return {};
  return Error{
      "latency_us: found " + format_quantity_beside(seconds, most, Dimension::seconds) + ", expected at least " +
          format_quantity(most, Dimension::seconds) +
          (by_rates ? ", at " + std::to_string(static_cast<int>(kFasterThanRates)) + " times the rates of " + device
                    : ", an access to memory"),
      "", ""};
}

}  // namespace

double least_time(const graph::Op& op, const graph::Cost& cost) {
  const auto* copy = std::get_if<graph::Copy>(&op);
  const bool over_link = copy != nullptr && (copy->kind == graph::CopyKind::h2d || copy->kind == graph::CopyKind::d2h);
  return over_link ? cost.mean.seconds() : cost.least.seconds();
}

Result<void> check_possible(const topology::DeviceSpec& device, const OpRow& row, std::string_view dtype, double least,
                            double seconds, Hertz clock) {
  TRY(check_rate(device, row, dtype, seconds, clock));
  return check_time(device.name, least, seconds);
}

}  // namespace distsim::opmodels
