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

/// What the device allows a product; nothing where it is not known.
topology::ProductPeak peak_of(const OpRate& op, const topology::DeviceSpec& device) {
  const std::size_t open = op.shapes.find('(');  // of "8x4, 4x2 (Tensor(c10::Half))" the outer one
  if (std::ranges::find(kProducts, op.name) == kProducts.end() || open == std::string::npos) return {};
  const auto dtype = traces::dtype_of_text(std::string_view(op.shapes).substr(open + 1, op.shapes.size() - open - 2));
  return dtype ? topology::product_peak(device, graph::name_of(*dtype)) : topology::ProductPeak();
}

struct ImpossibleRate {
  double found = 0, most = 0;  ///< most 0: not known
  Dimension unit = Dimension::flops_per_second;
  const char* of = "peak";
};

/// The L2 may hold the inputs already and the results still, once as large as it is.
ImpossibleRate rate_of(const OpRate& op, const topology::DeviceSpec& device) {
  if (op.device_time <= 0) return {};
  const double seconds = static_cast<double>(op.device_time) * 1e-9;
  if (op.flops > 0) return {op.flops / seconds, peak_of(op, device).rate, Dimension::flops_per_second, "peak"};
  const double cached = 2 * device.l2.capacity.value() * static_cast<double>(op.calls);
  return {(op.least_bytes - cached) / seconds, device.hbm.bandwidth.value(), Dimension::bytes_per_second,
          "memory bandwidth"};
}

/// Cards that no NVLink bridge joins.
bool takes_no_bridge(const topology::DeviceSpec& device) {
  constexpr std::array<std::string_view, 4> kNone{"ada", "blackwell", "pascal", "maxwell"};
  return device.name == "t4" || std::ranges::find(kNone, device.architecture) != kNone.end();
}

/// Kinds of which no rank has done before it has received its data; the root of others is done once it has sent.
bool all_receive(std::string_view kind) {
  return kind == "all_reduce" || kind == "all_gather" || kind == "reduce_scatter" || kind == "all_to_all";
}

}  // namespace

std::string rate_above_peak(const Profile& profile, const topology::DeviceSpec& device) {
  const OpRate* worst = nullptr;
  ImpossibleRate of_worst;
  std::size_t above = 0;
  for (const RankProfile& rank : profile.ranks) {
    for (const OpRate& op : rank.ops) {
      const ImpossibleRate rate = rate_of(op, device);
      if (rate.most <= 0 || rate.found <= rate.most * topology::kPeakTolerance) continue;
      ++above;
      if (worst == nullptr || rate.found / rate.most > of_worst.found / of_worst.most) worst = &op, of_worst = rate;
    }
  }
  if (worst == nullptr) return "";
  return printable(worst->name, 60) + " of " + printable(worst->shapes, 120) + ": found " +
         format_quantity_beside(of_worst.found, of_worst.most, of_worst.unit) + ", expected at most " +
         format_quantity(of_worst.most, of_worst.unit) + ", the " + of_worst.of + " of " + device.name +
         (above > 1 ? " (and " + std::to_string(above - 1) + " more)" : "") +
         ": are times and shapes those of one run?";
}

std::string bus_above_links(const Profile& profile, const topology::DeviceSpec& device,
                            const topology::ClusterSpec& server) {
  constexpr std::int64_t kLarge = std::int64_t{1} << 20;  // the clock of a profiler is too coarse for shorter ones
  constexpr double kInNetwork = 2;                        // switches that add up halve what an all-reduce sends
  constexpr double kBridge = 300e9;  // bytes/s each way of the widest NVLink bridge between PCIe cards (H100 PCIe)
  const topology::GpuLinks& own = server.gpu_links;
  const bool nvlink = own.links_per_gpu > 0;
  const double pcie = std::max(device.pcie_bandwidth.value(), server.pcie.bandwidth.value());
  const double links = nvlink ? static_cast<double>(own.links_per_gpu) * own.bandwidth_per_link.value()
                              : (takes_no_bridge(device) ? pcie : kBridge);
  const double most = kInNetwork * topology::kPeakTolerance * links;
  const CollectiveSummary* worst = nullptr;
  std::size_t above = 0;
  for (const CollectiveSummary& c : profile.collectives) {
    if (!all_receive(c.kind) || c.group.empty()) continue;  // of groups that are not known, neither is the size
    if (c.bytes < kLarge || c.group_size < 2 || c.busbw <= most || links <= 0) continue;
    ++above;
    if (worst == nullptr || c.busbw > worst->busbw) worst = &c;
  }
  if (worst == nullptr) return "";
  return printable(worst->kind, 40) + " of " + format_quantity(static_cast<double>(worst->bytes), Dimension::bytes) +
         " over " + std::to_string(worst->group_size) + " ranks: found a bus bandwidth of " +
         format_quantity_beside(worst->busbw, links, Dimension::bytes_per_second) + ", expected at most about the " +
         format_quantity(links, Dimension::bytes_per_second) + " of " +
         (nvlink          ? "the links"
          : links == pcie ? "PCIe"
                          : "an NVLink bridge") +
         " of " + device.name + (above > 1 ? " (and " + std::to_string(above - 1) + " more)" : "") +
         ": are times and sizes those of one run?";
}

}  // namespace distsim::profile
