#include "sim/profile/impossible_rates.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text/printable.hpp"
#include "base/text/quantity_text.hpp"
#include "traces/build/collective_text.hpp"

namespace distsim::profile {
namespace {

/// Products that launch their kernels themselves, so that the type is that of the kernel: under autocast, outer ops have
/// another.
constexpr std::array<std::string_view, 4> kProducts{"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm"};

/// FLOP/s that the device allows an op; 0: not known.
double peak_of(const OpRate& op, const topology::DeviceSpec& device) {
  if (std::ranges::find(kProducts, op.name) == kProducts.end() || !op.shapes.ends_with(')')) return 0;
  const std::size_t open = op.shapes.rfind('(');
  const auto dtype = traces::dtype_of_text(std::string_view(op.shapes).substr(open + 1, op.shapes.size() - open - 2));
  return dtype ? topology::product_peak(device, graph::name_of(*dtype)) : 0;
}

}  // namespace

std::string rate_above_peak(const Profile& profile, const topology::DeviceSpec& device) {
  const OpRate* worst = nullptr;
  double most = topology::kPeakTolerance, worst_rate = 0, worst_peak = 0;
  std::size_t above = 0;
  for (const RankProfile& rank : profile.ranks) {
    for (const OpRate& op : rank.ops) {
      const double peak = peak_of(op, device);
      if (peak <= 0 || op.flops <= 0 || op.device_time <= 0) continue;
      const double rate = op.flops / (static_cast<double>(op.device_time) * 1e-9);
      above += rate > peak * topology::kPeakTolerance ? 1 : 0;
      if (rate <= peak * most) continue;
      most = rate / peak, worst_rate = rate, worst_peak = peak, worst = &op;
    }
  }
  if (worst == nullptr) return "";
  return printable(worst->name, 60) + " of " + printable(worst->shapes, 120) + ": found " +
         format_quantity_beside(worst_rate, worst_peak, Dimension::flops_per_second) + ", expected at most " +
         format_quantity(worst_peak, Dimension::flops_per_second) + ", the peak of " + device.name +
         (above > 1 ? " (and " + std::to_string(above - 1) + " more)" : "") +
         ": are times and shapes those of one run?";
}

}  // namespace distsim::profile
