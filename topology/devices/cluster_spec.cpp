#include "topology/devices/cluster_spec.hpp"

#include <algorithm>
#include <limits>

#include "base/text/lower_case.hpp"
#include "base/text/names/file_name.hpp"
#include "topology/shapes/shape.hpp"

namespace distsim::topology {
namespace {

constexpr Range kLinkRate{1e8, 1e13};  // 100 MB/s .. 10 TB/s, per direction
constexpr Range kLatency{0, 1e-3};
constexpr double kLeastHostClock = 1e8;
constexpr Range kHostClock{0, 1e10};

constexpr Transport kTransports[] = {Transport::infiniband, Transport::roce, Transport::efa, Transport::slingshot,
                                     Transport::tcp};

/// What a key may be set to: the entries of a registry of shapes by their names.
template <class Shape>
std::vector<std::pair<std::string, const Shape*>> words_of(std::span<const Shape* const> shapes) {
  std::vector<std::pair<std::string, const Shape*>> words;
  for (const Shape* s : shapes) words.emplace_back(s->name, s);
  return words;
}

/// "nvswitch: every GPU ...; pcie: no NVLink ...": the sentences of a registry as one.
template <class Shape>
std::string doc_of(std::span<const Shape* const> shapes) {
  std::string doc;
  for (const Shape* s : shapes) {
    std::string sentence(s->sentence.substr(0, s->sentence.size() - 1));
    if (lower_case(sentence[1]) == sentence[1]) sentence[0] = lower_case(sentence[0]);  // but "GPU", "DGX-1"
    doc += (doc.empty() ? "" : "; ") + std::string(s->name) + ": " + sentence;
  }
  return doc + ".";
}

Schema<GpuLinks> gpu_links_schema() {
  Schema<GpuLinks> s("gpu_links", "How the GPUs of a node are connected.");
  s.choice("kind", &GpuLinks::shape, words_of(node_shapes()), doc_of(node_shapes()), true);
  s.optional("links_per_gpu", &GpuLinks::links_per_gpu, {0, 1024},
             "NVLinks per GPU; in a full_mesh split evenly over the other installed GPUs.");
  s.optional(
      "bandwidth_per_link", &GpuLinks::bandwidth_per_link, {0, 1e13},
      "One NVLink, one direction. Data sheets quote both directions of all links: A100's 600 GB/s is 12 links of 25 GB/s each way.");
  s.optional("switches", &GpuLinks::switches, {0, 1024},
             "NVSwitches per node, or in the whole domain if domain_nodes > 1.");
  s.optional("latency", &GpuLinks::latency, kLatency, "One-way latency of a small message, GPU to GPU.");
  s.optional("multicast", &GpuLinks::multicast, "The switches can reduce and multicast (NVLS).");
  s.optional("domain_nodes", &GpuLinks::domain_nodes, {1, 1024},
             "Nodes that share one NVLink domain; 18 for an NVL72 rack. A job is taken to have as few domains as hold "
             "it, with its nodes spread over them as evenly as possible: 19 are 10 and 9.");
  return s;
}

Schema<PcieSpec> pcie_schema() {
  Schema<PcieSpec> s("pcie",
                     "The PCIe tree of a node: GPUs and NICs behind switches or root ports of the CPU sockets.");
  s.optional("generation", &PcieSpec::generation, {1, 10},
             "PCIe generation (informational; `bandwidth` sets the rate).");
  s.optional("bandwidth", &PcieSpec::bandwidth, kLinkRate, "x16 link, one direction, as achieved by large copies.");
  s.optional("gpus_per_switch", &PcieSpec::gpus_per_switch, {1, 1024},
             "GPUs per PCIe switch; 1: attached directly to a root port.");
  s.optional(
      "peer_to_peer", &PcieSpec::peer_to_peer,
      "GPUs can access each other's memory over PCIe (peer to peer); otherwise traffic is staged through host memory.");
  s.optional("cpu_interconnect", &PcieSpec::cpu_interconnect, kLinkRate,
             "Between two CPU sockets, one direction, as achieved by GPU traffic.");
  s.optional("latency", &PcieSpec::latency, kLatency, "One-way latency of a small message, GPU to GPU over PCIe.");
  return s;
}

Schema<NicSpec> nic_schema() {
  Schema<NicSpec> s("nic", "The NICs of a node that carry training traffic, without those for storage and management.");
  s.optional("count", &NicSpec::count, {0, 1024}, "Ports per node; 0 for a machine without a training network.");
  s.optional("bandwidth", &NicSpec::bandwidth, {0, 1e13}, "One port, one direction, nominal: 200 Gb/s is 25 GB/s.");
  s.optional("efficiency", &NicSpec::efficiency, {0.01, 1},
             "Fraction of the nominal rate that large messages achieve.");
  s.optional("latency", &NicSpec::latency, kLatency,
             "One-way latency of a small message, NIC to NIC through one switch.");
  std::vector<std::pair<std::string, Transport>> transports;
  for (const Transport t : kTransports) transports.emplace_back(name_of(t), t);
  s.choice(
      "transport", &NicSpec::transport, transports,
      "What carries messages between nodes; efa and tcp add latency of their own per message: efa as measured on AWS by "
      "GPU generation, tcp as on Google's A3 (GPUDirect-TCPX), so they say nothing of one against the other on the "
      "same NICs.");
  s.optional(
      "gpu_direct", &NicSpec::gpu_direct,
      "The NIC accesses GPU memory directly (GPUDirect RDMA, or GPUDirect-TCPX with tcp); otherwise data is staged "
      "through host memory.");
  return s;
}

Schema<FabricSpec> fabric_schema() {
  Schema<FabricSpec> s("fabric", "The network between nodes.");
  s.choice("kind", &FabricSpec::shape, words_of(fabric_shapes()), doc_of(fabric_shapes()));
  s.optional("oversubscription", &FabricSpec::oversubscription, {1, 1000},
             "Downlink over uplink bandwidth of a leaf; 1 is non-blocking.");
  s.optional("nodes_per_leaf", &FabricSpec::nodes_per_leaf, {1, 1'000'000},
             "Nodes per leaf switch (rail_optimized: per rail leaf; dragonfly: per router).");
  s.optional("leaves_per_pod", &FabricSpec::leaves_per_pod, {1, 1'000'000},
             "Leaf switches (rail_optimized: groups of rail leaves) per spine group; more than that adds a core level. "
             "dragonfly: routers per group.");
  s.optional("spine_oversubscription", &FabricSpec::spine_oversubscription, {1, 1000},
             "Uplink bandwidth of the leaves of a pod over the bandwidth from the pod to the core (dragonfly: over the "
             "global links of a group); 1 is non-blocking.");
  s.optional("switch_latency", &FabricSpec::switch_latency, kLatency,
             "Latency of each switch on the path after the first.");
  s.optional("sharp", &FabricSpec::sharp, "The switches can reduce (SHARP, used by NCCL's CollNet).");
  return s;
}

Schema<HostSpec> host_schema() {
  Schema<HostSpec> s("host", "CPU side of a node.");
  s.optional("cpu", &HostSpec::cpu, "CPU model (informational).");
  s.optional("sockets", &HostSpec::sockets, {1, 64}, "CPU sockets, over which the PCIe tree is split.");
  s.optional("dispatch_scale", &HostSpec::dispatch_scale, {0.05, 20},
             "Host time per framework call relative to an EPYC 7742; larger is slower.");
  s.optional("usual_clock", &HostSpec::usual_clock, kHostClock,
             "Clock of a core that launches when it is not locked, its turbo clock; 0: not stated.");
  s.optional("locked_clock", &HostSpec::locked_clock, kHostClock,
             "Clock that the cores are locked to (cpupower frequency-set, turbo off); 0: not locked. Host time is "
             "inverse to it.");
  s.rule([](const HostSpec& h) -> std::optional<std::string> {
    const auto text = [](Hertz clock) { return format_quantity(clock.value(), Dimension::hertz); };
    for (const auto& [key, clock] : {std::pair("usual_clock", h.usual_clock), {"locked_clock", h.locked_clock}}) {
      if (clock.value() > 0 && clock.value() < kLeastHostClock)
        return std::string(key) + ": found " + text(clock) + ", expected at least 100 MHz, or 0";
    }
    if (h.locked_clock.value() == 0 || h.usual_clock >= h.locked_clock) return std::nullopt;
    if (h.usual_clock.value() == 0)
      return "locked_clock: found " + text(h.locked_clock) +
             " without usual_clock, expected the turbo clock of the CPU there";
    return "locked_clock: found " + text(h.locked_clock) + ", expected at most usual_clock, " + text(h.usual_clock);
  });
  s.optional("memory_bandwidth", &HostSpec::memory_bandwidth, {1e9, 1e14}, "Host memory over all sockets.");
  s.optional(
      "jitter_rate", &HostSpec::jitter_rate, {0, 1e6},
      "How often the operating system takes the core from a process that launches kernels; all ranks wait for "
      "the latest. jitter_rate x jitter_time is the share of the core that it takes, less than 1: beyond that of "
      "the defaults, 0.025 %, which the frameworks' host times hold, it makes these longer. The default is an "
      "estimate.");
  s.optional("jitter_time", &HostSpec::jitter_time, {0, 1},
             "Mean length of such a detour. The default is an estimate.");
  s.rule([](const HostSpec& h) -> std::optional<std::string> {
    if (h.share_taken() < 1) return std::nullopt;
    return "jitter_time: found " + format_quantity(h.jitter_time.seconds(), Dimension::seconds) +
           " at a jitter_rate of " + format_quantity(h.jitter_rate.value(), Dimension::hertz) +
           ", expected less than 1 s of detours in a second, which leaves the process some of its core";
  });
  return s;
}

std::optional<std::string> broken_cluster_rule(const ClusterSpec& c) {
  if (!c.name.empty()) {  // one that is described in place has none
    if (auto broken = broken_file_name(c.name)) return broken;
  }
  const GpuLinks& links = c.gpu_links;
  if (links.has_nvlink() && c.gpus_per_node > 1) {
    if (links.links_per_gpu < 1) return "gpu_links.links_per_gpu: found 0, expected at least 1 for NVLink";
    if (links.bandwidth_per_link.value() < 1e8)
      return "gpu_links.bandwidth_per_link: found less than 100 MB/s, expected a rate per direction";
  }
  if (c.nic.count > 0 && c.nic.bandwidth.value() < 1e8)
    return "nic.bandwidth: found less than 100 MB/s, expected a rate per direction and port";
  return std::nullopt;
}

}  // namespace

double HostSpec::launch_factor() const {
  const double clock = locked_clock.value() > 0 ? usual_clock.value() / locked_clock.value() : 1;
  const double quiet = HostSpec().share_taken(), taken = std::max(share_taken(), quiet);
  if (taken >= 1) return std::numeric_limits<double>::infinity();
  return dispatch_scale * clock * (taken > quiet ? (1 - quiet) / (1 - taken) : 1);
}

BytesPerSecond nic_rate(const ClusterSpec& spec, double speed) {
  return std::min(spec.nic.bandwidth * (spec.nic.efficiency * speed), spec.pcie.bandwidth);
}

std::string_view name_of(Transport transport) {
  switch (transport) {
    case Transport::infiniband:
      return "infiniband";
    case Transport::roce:
      return "roce";
    case Transport::efa:
      return "efa";
    case Transport::slingshot:
      return "slingshot";
    case Transport::tcp:
      return "tcp";
  }
  return "?";
}

bool GpuLinks::has_nvlink() const { return shape->nvlink; }

Schema<ClusterSpec> cluster_schema() {
  Schema<ClusterSpec> s("cluster", "A system: nodes with GPUs, their links and NICs, and the fabric between nodes.");
  s.required("name", &ClusterSpec::name,
             "System name: the file name without .yaml. Measured collectives are looked up by it and the aliases.");
  s.scalars("aliases", &ClusterSpec::aliases, {}, "Other names of the same system.");
  s.optional("description", &ClusterSpec::description, "One-sentence description.");
  s.optional("nodes", &ClusterSpec::nodes, {1, 1'000'000}, "Number of nodes.");
  s.required("gpus_per_node", &ClusterSpec::gpus_per_node, {1, 1024},
             "GPUs per node that the job uses, counted from GPU 0.");
  s.optional("gpus_installed", &ClusterSpec::gpus_installed, {0, 1024},
             "GPUs installed in a node; its links and NICs are laid out for them. 0: same as gpus_per_node.");
  s.required("device", &ClusterSpec::device, "GPU type: a file in configs/devices, without .yaml.");
  s.nested("gpu_links", &ClusterSpec::gpu_links, gpu_links_schema(), true);
  s.nested("pcie", &ClusterSpec::pcie, pcie_schema());
  s.nested("nic", &ClusterSpec::nic, nic_schema());
  s.nested("fabric", &ClusterSpec::fabric, fabric_schema());
  s.nested("host", &ClusterSpec::host, host_schema());
  s.optional("source", &ClusterSpec::source, "Where the figures come from, and which are estimates.");
  s.rule(broken_cluster_rule);
  return s;
}

}  // namespace distsim::topology
