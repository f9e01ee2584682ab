#include "sim/study/sensitivity/resources.hpp"

#include <algorithm>

namespace distsim::study {
namespace {

using config::Experiment;

template <class Rate>
void faster(Rate& rate, double factor) {
  rate = Rate(rate.value() * factor);
}

void shorter(Duration& time, double factor) {
  time = Duration::picoseconds(static_cast<std::int64_t>(static_cast<double>(time.ps()) / factor));
}

bool always(const Experiment&) { return true; }
bool has_nvlink(const Experiment& e) { return e.cluster.gpu_links.has_nvlink() && e.cluster.gpus_per_node > 1; }
bool has_network(const Experiment& e) { return e.cluster.nodes > 1; }
bool has_oversubscription(const Experiment& e) { return has_network(e) && e.cluster.fabric.oversubscription > 1; }
bool has_spine(const Experiment& e) { return has_network(e) && e.cluster.fabric.spine_oversubscription > 1; }
bool has_collectives(const Experiment& e) { return e.cluster.nodes * e.cluster.gpus_per_node > 1; }
bool has_several_ranks(const Experiment& e) {
  return has_collectives(e) && (e.device.calibration.speed_variation > 0 || e.cluster.host.jitter_time > Duration());
}
bool reads_input(const Experiment& e) {
  return e.framework.input.per_sample > Duration() || e.framework.input.decode_rate > 0;
}
bool has_power(const Experiment& e) { return e.device.clock.power.value() > 0; }
/// Without the check no amount of memory changes anything.
bool has_memory(const Experiment& e) { return e.device.hbm.capacity.value() > 0 && e.model.memory_check; }

/// fp32, fp64 and the vector types run on the SMs' ordinary lanes, all others on their matrix units.
bool is_vector(std::string_view type) { return type.starts_with("vector_") || type == "fp32" || type == "fp64"; }

void scale_peaks(Experiment& e, bool vector, double factor) {
  for (auto& [type, rate] : e.device.peak) {
    if (is_vector(type) == vector) faster(rate, factor);
  }
}

constexpr Resource kResources[] = {
    {"nic_bandwidth", "NIC bandwidth", Level::nic, "cluster.nic.bandwidth", has_network,
     [](Experiment& e, double f) { faster(e.cluster.nic.bandwidth, f); }},
    {"nic_latency", "NIC latency", Level::nic, "cluster.nic.latency", has_network,
     [](Experiment& e, double f) { shorter(e.cluster.nic.latency, f); }},
    {"uplink_bandwidth", "leaf uplink bandwidth", Level::fabric, "cluster.fabric.oversubscription",
     has_oversubscription,
     [](Experiment& e, double f) {
       e.cluster.fabric.oversubscription = std::max(1.0, e.cluster.fabric.oversubscription / f);
     }},
    {"spine_bandwidth", "spine uplink bandwidth", Level::fabric, "cluster.fabric.spine_oversubscription", has_spine,
     [](Experiment& e, double f) {
       e.cluster.fabric.spine_oversubscription = std::max(1.0, e.cluster.fabric.spine_oversubscription / f);
     }},
    {"switch_latency", "switch latency", Level::fabric, "cluster.fabric.switch_latency", has_network,
     [](Experiment& e, double f) { shorter(e.cluster.fabric.switch_latency, f); }},
    {"nvlink_bandwidth", "NVLink bandwidth", Level::nvlink, "cluster.gpu_links.bandwidth_per_link", has_nvlink,
     [](Experiment& e, double f) { faster(e.cluster.gpu_links.bandwidth_per_link, f); }},
    {"nvlink_latency", "NVLink latency", Level::nvlink, "cluster.gpu_links.latency", has_nvlink,
     [](Experiment& e, double f) { shorter(e.cluster.gpu_links.latency, f); }},
    {"pcie_bandwidth", "PCIe bandwidth", Level::pcie,
     "cluster.pcie.bandwidth, cluster.pcie.cpu_interconnect, device.pcie_bandwidth", always,
     [](Experiment& e, double f) {
       faster(e.cluster.pcie.bandwidth, f);
       faster(e.cluster.pcie.cpu_interconnect, f);
       faster(e.device.pcie_bandwidth, f);
     }},
    {"pcie_latency", "PCIe latency", Level::pcie, "cluster.pcie.latency", always,
     [](Experiment& e, double f) { shorter(e.cluster.pcie.latency, f); }},
    {"matrix_flops", "matrix FLOP/s", Level::gpu, "device.peak of tf32, fp16, bf16, fp8, int8, fp4", always,
     [](Experiment& e, double f) { scale_peaks(e, false, f); }},
    {"vector_flops", "vector FLOP/s", Level::gpu, "device.peak of fp32, fp64, vector_fp32, vector_fp16", always,
     [](Experiment& e, double f) { scale_peaks(e, true, f); }},
    {"hbm_bandwidth", "HBM bandwidth", Level::gpu, "device.hbm.bandwidth", always,
     [](Experiment& e, double f) { faster(e.device.hbm.bandwidth, f); }},
    {"l2_bandwidth", "L2 bandwidth", Level::gpu, "device.l2.bandwidth", always,
     [](Experiment& e, double f) { faster(e.device.l2.bandwidth, f); }},
    {"kernel_launch", "kernel launch on the GPU", Level::gpu,
     "device.launch.kernel_floor, device.launch.kernel_gap, device.launch.graph_kernel_gap", always,
     [](Experiment& e, double f) {
       shorter(e.device.launch.kernel_floor, f);
       shorter(e.device.launch.kernel_gap, f);
       shorter(e.device.launch.graph_kernel_gap, f);
     }},
    {"host_speed", "host speed", Level::host, "cluster.host.dispatch_scale", always,
     [](Experiment& e, double f) { e.cluster.host.dispatch_scale /= f; }},
    {"collective_launch", "collective launch", Level::host, "collectives.launch_scale", has_collectives,
     [](Experiment& e, double f) { e.collectives.launch_scale /= f; }},
    {"input_rate", "input rate", Level::input, "framework.input.per_sample, framework.input.decode_rate", reads_input,
     [](Experiment& e, double f) {
       shorter(e.framework.input.per_sample, f);
       e.framework.input.decode_rate *= f;
     },
     true},
    {"stragglers", "evenness of ranks", Level::ranks, "device.calibration.speed_variation, cluster.host.jitter_time",
     has_several_ranks,
     [](Experiment& e, double f) {
       e.device.calibration.speed_variation /= f;
       shorter(e.cluster.host.jitter_time, f);
     }},
    {"power_limit", "GPU power limit", Level::gpu, "device.power_limit", has_power,
     [](Experiment& e, double f) { faster(e.device.power_limit, f); }},
    {"memory_capacity", "memory capacity", Level::gpu, "device.hbm.capacity", has_memory, nullptr},
};

}  // namespace

std::string_view name_of(Level level) {
  switch (level) {
    case Level::gpu:
      return "gpu";
    case Level::nvlink:
      return "nvlink";
    case Level::pcie:
      return "pcie";
    case Level::nic:
      return "nic";
    case Level::fabric:
      return "fabric";
    case Level::host:
      return "host";
    case Level::input:
      return "input";
    case Level::ranks:
      return "ranks";
  }
  return "?";
}

std::span<const Resource> resources() { return kResources; }

}  // namespace distsim::study
