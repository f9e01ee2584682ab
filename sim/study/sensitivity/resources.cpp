#include "sim/study/sensitivity/resources.hpp"

#include <algorithm>
#include <utility>

namespace distsim::study {
namespace {

using config::Experiment;

using Figures = std::vector<Figure>;

/// A rate of 0 is one that nobody gave: neither better nor worse than another.
double given(double rate) { return rate > 0 ? rate : std::numeric_limits<double>::quiet_NaN(); }

template <class Rate>
Figure rate_figure(std::string key, Rate& rate) {
  return {std::move(key), given(rate.value()), [&rate](double factor) { rate = Rate(rate.value() * factor); }};
}

/// At most the longest time that there is.
Figure time_figure(std::string key, Duration& time) {
  return {std::move(key), -time.seconds(), [&time](double factor) {
            const double longer = std::min(static_cast<double>(time.ps()) / factor, Duration::kMaxSeconds * 1e12);
            time = Duration::picoseconds(static_cast<std::int64_t>(longer));
          }};
}

/// A number of which more is better, and one of which less is.
Figure number_figure(std::string key, double& number) {
  return {std::move(key), given(number), [&number](double factor) { number *= factor; }};
}
Figure share_figure(std::string key, double& share, double least = 0) {
  return {std::move(key), -share, [&share, least](double factor) { share = std::max(least, share / factor); }};
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

Figures peaks(Experiment& e, bool vector) {
  Figures out;
  for (auto& [type, peak] : e.device.peak) {
    if (is_vector(type) == vector) out.push_back(rate_figure("device.peak." + std::string(type), peak));
  }
  return out;
}

constexpr Resource kResources[] = {
    {"nic_bandwidth", "NIC bandwidth", Level::nic, "cluster.nic.bandwidth", has_network,
     [](Experiment& e) -> Figures { return {rate_figure("cluster.nic.bandwidth", e.cluster.nic.bandwidth)}; }},
    {"nic_latency", "NIC latency", Level::nic, "cluster.nic.latency", has_network,
     [](Experiment& e) -> Figures { return {time_figure("cluster.nic.latency", e.cluster.nic.latency)}; }},
    {"uplink_bandwidth", "leaf uplink bandwidth", Level::fabric, "cluster.fabric.oversubscription",
     has_oversubscription,
     [](Experiment& e) -> Figures {
       return {share_figure("cluster.fabric.oversubscription", e.cluster.fabric.oversubscription, 1)};
     }},
    {"spine_bandwidth", "spine uplink bandwidth", Level::fabric, "cluster.fabric.spine_oversubscription", has_spine,
     [](Experiment& e) -> Figures {
       return {share_figure("cluster.fabric.spine_oversubscription", e.cluster.fabric.spine_oversubscription, 1)};
     }},
    {"switch_latency", "switch latency", Level::fabric, "cluster.fabric.switch_latency", has_network,
     [](Experiment& e) -> Figures {
       return {time_figure("cluster.fabric.switch_latency", e.cluster.fabric.switch_latency)};
     }},
    {"nvlink_bandwidth", "NVLink bandwidth", Level::nvlink, "cluster.gpu_links.bandwidth_per_link", has_nvlink,
     [](Experiment& e) -> Figures {
       return {rate_figure("cluster.gpu_links.bandwidth_per_link", e.cluster.gpu_links.bandwidth_per_link)};
     }},
    {"nvlink_latency", "NVLink latency", Level::nvlink, "cluster.gpu_links.latency", has_nvlink,
     [](Experiment& e) -> Figures { return {time_figure("cluster.gpu_links.latency", e.cluster.gpu_links.latency)}; }},
    {"pcie_bandwidth", "PCIe bandwidth", Level::pcie,
     "cluster.pcie.bandwidth, cluster.pcie.cpu_interconnect, device.pcie_bandwidth", always,
     [](Experiment& e) -> Figures {
       return {rate_figure("cluster.pcie.bandwidth", e.cluster.pcie.bandwidth),
               rate_figure("cluster.pcie.cpu_interconnect", e.cluster.pcie.cpu_interconnect),
               rate_figure("device.pcie_bandwidth", e.device.pcie_bandwidth)};
     }},
    {"pcie_latency", "PCIe latency", Level::pcie, "cluster.pcie.latency", always,
     [](Experiment& e) -> Figures { return {time_figure("cluster.pcie.latency", e.cluster.pcie.latency)}; }},
    {"matrix_flops", "matrix FLOP/s", Level::gpu, "device.peak of tf32, fp16, bf16, fp8, int8, fp4", always,
     [](Experiment& e) { return peaks(e, false); }},
    {"vector_flops", "vector FLOP/s", Level::gpu, "device.peak of fp32, fp64, vector_fp32, vector_fp16", always,
     [](Experiment& e) { return peaks(e, true); }},
    {"hbm_bandwidth", "HBM bandwidth", Level::gpu, "device.hbm.bandwidth", always,
     [](Experiment& e) -> Figures { return {rate_figure("device.hbm.bandwidth", e.device.hbm.bandwidth)}; }},
    {"l2_bandwidth", "L2 bandwidth", Level::gpu, "device.l2.bandwidth", always,
     [](Experiment& e) -> Figures { return {rate_figure("device.l2.bandwidth", e.device.l2.bandwidth)}; }},
    {"kernel_launch", "kernel launch on the GPU", Level::gpu,
     "device.launch.kernel_floor, device.launch.kernel_gap, device.launch.graph_kernel_gap", always,
     [](Experiment& e) -> Figures {
       return {time_figure("device.launch.kernel_floor", e.device.launch.kernel_floor),
               time_figure("device.launch.kernel_gap", e.device.launch.kernel_gap),
               time_figure("device.launch.graph_kernel_gap", e.device.launch.graph_kernel_gap)};
     }},
    {"host_speed", "host speed", Level::host, "cluster.host.dispatch_scale", always,
     [](Experiment& e) -> Figures {
       return {share_figure("cluster.host.dispatch_scale", e.cluster.host.dispatch_scale)};
     }},
    {"collective_launch", "collective launch", Level::host, "collectives.launch_scale", has_collectives,
     [](Experiment& e) -> Figures { return {share_figure("collectives.launch_scale", e.collectives.launch_scale)}; }},
    {"input_rate", "input rate", Level::input, "framework.input.per_sample, framework.input.decode_rate", reads_input,
     [](Experiment& e) -> Figures {
       return {time_figure("framework.input.per_sample", e.framework.input.per_sample),
               number_figure("framework.input.decode_rate", e.framework.input.decode_rate)};
     },
     true},
    {"stragglers", "evenness of ranks", Level::ranks, "device.calibration.speed_variation, cluster.host.jitter_time",
     has_several_ranks,
     [](Experiment& e) -> Figures {
       return {share_figure("device.calibration.speed_variation", e.device.calibration.speed_variation),
               time_figure("cluster.host.jitter_time", e.cluster.host.jitter_time)};
     }},
    {"power_limit", "GPU power limit", Level::gpu, "device.power_limit", has_power,
     [](Experiment& e) -> Figures { return {rate_figure("device.power_limit", e.device.power_limit)}; }},
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
