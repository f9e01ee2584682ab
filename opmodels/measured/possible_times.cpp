#include "opmodels/measured/possible_times.hpp"

#include <algorithm>

#include "base/text/quantity_text.hpp"
#include "opmodels/limits.hpp"

namespace distsim::opmodels {
namespace {

/// "", or what was taken off the time of a row before `seconds` were left.
std::string left_of(const OpRow& row, double seconds, double launch) {
  if (launch <= 0) return "";
  return ", which is left of " + format_quantity(seconds + launch, Dimension::seconds) + " without " +
         launch_text(row.timing, launch);
}

Result<void> check_rate(const topology::DeviceSpec& device, const OpRow& row, std::string_view dtype, double seconds,
                        double launch, Hertz clock) {
  const bool slow = clock.value() > 0 && clock < device.clock.boost;
  const topology::ProductPeak of_sheet = topology::product_peak(device, dtype);
  const double peak = of_sheet.rate * (slow ? clock.value() / device.clock.boost.value() : 1);
  if (peak <= 0 || !has_no_shortcut(row.ops.front())) return {};
  const double rate = graph::flops_of(row.ops.front()) / seconds;
  if (rate <= peak * topology::kPeakTolerance) return {};
  return Error{
      "latency_us: found " + format_quantity_beside(rate, peak, Dimension::flops_per_second) +
          (launch > 0 ? " in " + format_quantity(seconds, Dimension::seconds) : "") + left_of(row, seconds, launch) +
          ", expected at most " + format_quantity(peak, Dimension::flops_per_second) + ", the peak of " + device.name +
          " in " + of_sheet.dtype + (of_sheet.dtype == dtype ? "" : ", which may stand for " + std::string(dtype)) +
          (slow ? " at an SM clock of " + format_quantity(clock.value() * 1e-6, Dimension::none) + " MHz" : ""),
      "", ""};
}

/// A kernel starts, reads and writes memory, and ends: an access alone takes 0.2 us and more.
constexpr double kShortestKernel = 0.2e-6;  // s

Result<void> check_time(const std::string& device, const OpRow& row, double least, double seconds, double launch) {
  const bool by_rates = least / kFasterThanRates > kShortestKernel;
  const double most = by_rates ? least / kFasterThanRates : kShortestKernel;
  if (seconds >= most) return {};
  return Error{
      "latency_us: found " + format_quantity_beside(seconds, most, Dimension::seconds) + left_of(row, seconds, launch) +
          ", expected at least " + format_quantity(most, Dimension::seconds) +
          (by_rates ? ", the least that the rates of " + device + " allow with a margin" : ", an access to memory"),
      "", ""};
}

/// By how much the wires of an L2 may exceed the rate of its device file, which was measured or estimated: 5120 bytes a
/// clock on an A100, 7.2 TB/s, where kernels reach 2.9; together with kFasterThanRates that is above all public rows but one.
constexpr double kL2AboveMeasured = 1.5;

/// Rows that an embedding bag reads, again and again where they are hot.
double gathered_bytes(const graph::EmbeddingBag& bag) {
  double bytes = 0;
  for (const graph::EmbeddingTable& table : bag.tables)
    bytes += bag.lookups_of(table) * graph::real(table.dim) * graph::size_of(bag.weights);
  return bytes;
}

}  // namespace

/// Boards of one kind differ in their boost clock less than data sheets and rates do (kPeakTolerance).
Result<void> check_clock(const topology::DeviceSpec& device, Hertz clock) {
  const Hertz boost = device.clock.boost;
  if (clock.value() <= boost.value() * topology::kPeakTolerance) return {};
  return Error{"sm_clock_mhz: found " + format_quantity(clock.value() * 1e-6, Dimension::none) + ", expected at most " +
                   format_quantity(boost.value() * 1e-6, Dimension::none) + ", the boost clock of " + device.name,
               "", ""};
}

std::string too_long_text(double seconds, double models) {
  return "latency_us: found " + format_quantity(seconds, Dimension::seconds) + ", where the models say " +
         format_quantity(models, Dimension::seconds);
}

Error most_too_long(const std::string& first, std::size_t too_long, std::size_t rows) {
  return {first + ", and so on in " + std::to_string(too_long) + " of " + std::to_string(rows) +
              " rows; expected microseconds",
          "", ""};
}

double least_time(const DeviceRates& device, const graph::Op& op, const graph::Cost& cost) {
  const auto* copy = std::get_if<graph::Copy>(&op);
  const bool over_link = copy != nullptr && (copy->kind == graph::CopyKind::h2d || copy->kind == graph::CopyKind::d2h);
  if (over_link) return cost.mean.seconds();
  const auto* bag = std::get_if<graph::EmbeddingBag>(&op);
  const double bytes = operand_and_result_bytes(device, op) + (bag != nullptr ? gathered_bytes(*bag) : 0);
  return std::max(cost.least.seconds(), bytes / (kL2AboveMeasured * std::max(device.l2, device.hbm)));
}

Result<void> check_possible(const topology::DeviceSpec& device, const OpRow& row, std::string_view dtype, double least,
                            double seconds, double launch, Hertz clock) {
  TRY(check_clock(device, clock));
  TRY(check_rate(device, row, dtype, seconds, launch, clock));
  return check_time(device.name, row, least, seconds, launch);
}

}  // namespace distsim::opmodels
