#include "sim/study/dominance.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace distsim::study {
namespace {

using config::Experiment;

/// A figure by its key, the larger the better.
struct HardwareFigure {
  std::string_view key;
  double (*of)(const Experiment&);
};

constexpr HardwareFigure kHardwareFigures[] = {
    {"cluster.nic.bandwidth", [](const Experiment& e) { return e.cluster.nic.bandwidth.value(); }},
    {"cluster.nic.latency", [](const Experiment& e) { return -e.cluster.nic.latency.seconds(); }},
    {"cluster.fabric.oversubscription", [](const Experiment& e) { return -e.cluster.fabric.oversubscription; }},
    {"cluster.fabric.spine_oversubscription",
     [](const Experiment& e) { return -e.cluster.fabric.spine_oversubscription; }},
    {"cluster.fabric.switch_latency", [](const Experiment& e) { return -e.cluster.fabric.switch_latency.seconds(); }},
    {"cluster.gpu_links.bandwidth_per_link",
     [](const Experiment& e) { return e.cluster.gpu_links.bandwidth_per_link.value(); }},
    {"cluster.gpu_links.latency", [](const Experiment& e) { return -e.cluster.gpu_links.latency.seconds(); }},
    {"cluster.pcie.bandwidth", [](const Experiment& e) { return e.cluster.pcie.bandwidth.value(); }},
    {"cluster.pcie.cpu_interconnect", [](const Experiment& e) { return e.cluster.pcie.cpu_interconnect.value(); }},
    {"cluster.pcie.latency", [](const Experiment& e) { return -e.cluster.pcie.latency.seconds(); }},
    {"cluster.host.dispatch_scale", [](const Experiment& e) { return -e.cluster.host.dispatch_scale; }},
    {"collectives.launch_scale", [](const Experiment& e) { return -e.collectives.launch_scale; }},
    {"device.pcie_bandwidth", [](const Experiment& e) { return e.device.pcie_bandwidth.value(); }},
    {"device.hbm.bandwidth", [](const Experiment& e) { return e.device.hbm.bandwidth.value(); }},
    {"device.l2.bandwidth", [](const Experiment& e) { return e.device.l2.bandwidth.value(); }},
    {"device.power_limit", [](const Experiment& e) { return e.device.power_limit.value(); }},
    {"device.launch.kernel_floor", [](const Experiment& e) { return -e.device.launch.kernel_floor.seconds(); }},
    {"device.launch.kernel_gap", [](const Experiment& e) { return -e.device.launch.kernel_gap.seconds(); }},
    {"device.launch.graph_kernel_gap", [](const Experiment& e) { return -e.device.launch.graph_kernel_gap.seconds(); }},
};

}  // namespace

Better better_hardware(const Experiment& a, const Experiment& b, const std::vector<std::string>& differing) {
  bool a_better = false, b_better = false;
  for (const std::string& key : differing) {
    const auto figure = std::ranges::find(kHardwareFigures, key, &HardwareFigure::key);
    if (figure == std::end(kHardwareFigures)) return Better::neither;
    a_better = a_better || figure->of(a) > figure->of(b);
    b_better = b_better || figure->of(b) > figure->of(a);
  }
  if (a_better == b_better) return Better::neither;
  return a_better ? Better::first : Better::second;
}

}  // namespace distsim::study
