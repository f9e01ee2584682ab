// ClusterSpec: nodes, their GPUs, links and NICs, and the fabric between them, as in configs/systems/<name>.yaml.
// Every bandwidth here is per direction. A key that a data sheet quotes as a total says so in its doc line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/config/schema.hpp"
#include "base/units.hpp"

namespace distsim::topology {

struct NodeShape;    // how the GPUs of a node are wired: topology/shapes/shape.hpp
struct FabricShape;  // how nodes are wired
extern const NodeShape nvswitch_shape;
extern const FabricShape fat_tree_shape;

struct GpuLinks {
  const NodeShape* shape = &nvswitch_shape;
  std::int64_t links_per_gpu = 0;        ///< NVLinks of one GPU
  BytesPerSecond bandwidth_per_link{0};  ///< one link, one direction
  std::int64_t switches = 0;             ///< NVSwitches of the node, or of the whole domain where domain_nodes > 1
  Duration latency = Duration::nanoseconds(700);  ///< one hop, GPU to GPU
  bool multicast = false;                         ///< in-switch reduction (NVLS)
  std::int64_t domain_nodes = 1;                  ///< nodes that share one NVLink domain (18 for NVL72)
  bool has_nvlink() const;  ///< the GPUs of a node are connected by NVLink, directly or by switches
  bool operator==(const GpuLinks&) const = default;
};

struct PcieSpec {
  std::int64_t generation = 4;
  BytesPerSecond bandwidth{26e9};         ///< x16, one direction, usable
  std::int64_t gpus_per_switch = 2;       ///< GPUs behind one PCIe switch; 1: directly on a root port
  bool peer_to_peer = true;               ///< else traffic goes through host memory
  BytesPerSecond cpu_interconnect{16e9};  ///< between the two sockets, one direction
  Duration latency = Duration::nanoseconds(1500);
  bool operator==(const PcieSpec&) const = default;
};

/// What carries messages between nodes. Some add latency of their own library (docs/collectives.md).
enum class Transport : std::uint8_t { infiniband, roce, efa, slingshot, tcp };
std::string_view name_of(Transport transport);

struct NicSpec {
  std::int64_t count = 0;                          ///< adapters (ports) of a node that carry training traffic
  BytesPerSecond bandwidth{0};                     ///< one port, one direction, nominal
  double efficiency = 0.96;                        ///< share of the nominal rate that large messages reach
  Duration latency = Duration::nanoseconds(2000);  ///< one way, small message, adapter to adapter through one switch
  Transport transport = Transport::infiniband;
  bool gpu_direct = true;  ///< NIC reads GPU memory; else staged through the host
  bool operator==(const NicSpec&) const = default;
};

struct FabricSpec {
  const FabricShape* shape = &fat_tree_shape;
  double oversubscription = 1;        ///< downlink over uplink bandwidth of a leaf; 1 is non-blocking
  std::int64_t nodes_per_leaf = 16;   ///< nodes (fat tree), nodes of a rail group, or nodes of a dragonfly router
  std::int64_t leaves_per_pod = 32;   ///< leaves under one spine group, or routers of a group; more make a third level
  double spine_oversubscription = 1;  ///< uplink bandwidth of a pod's leaves over that of the pod; 1 is non-blocking
  Duration switch_latency = Duration::nanoseconds(300);  ///< added per further switch on the way
  bool sharp = false;                                    ///< switches reduce (CollNet)
  bool operator==(const FabricSpec&) const = default;
};

struct HostSpec {
  std::string cpu;
  std::int64_t sockets = 2;
  double dispatch_scale =
      1;                 ///< host time of a framework call relative to the reference host (EPYC 7742); larger is slower
  Hertz usual_clock{0};  ///< of a core that launches, when nothing is locked: its turbo clock; 0: not stated
  Hertz locked_clock{0};  ///< what the cores are locked to; 0: not locked
  BytesPerSecond memory_bandwidth{200e9};
  Hertz jitter_rate{10};                              ///< detours of the operating system from one process
  Duration jitter_time = Duration::microseconds(25);  ///< mean length of one

  /// Share of the core that detours take: jitter_rate x jitter_time, in [0, 1) where the schema's rule holds.
  double share_taken() const { return jitter_rate.value() * jitter_time.seconds(); }

  /// Host time of a framework call relative to the reference host: dispatch_scale x usual_clock / locked_clock x
  /// (1 - r0) / (1 - max(r, r0)), with r the share taken, and r0 that of the defaults; infinite where r is 1 or more. The
  /// interpreter and the dispatcher run from the caches of a core, so their time is inverse to its clock. A process that is
  /// left 1 - r of its core takes 1 / (1 - r) as long on average; the host times that this scales were measured on quiet
  /// nodes and hold r0, below which they do not tell one node from another.
  double launch_factor() const;
  bool operator==(const HostSpec&) const = default;
};

struct ClusterSpec {
  std::string name;                  ///< the file's stem; measured curves and cases refer to it
  std::vector<std::string> aliases;  ///< other names of the same system
  std::string description;
  std::int64_t nodes = 1;
  std::int64_t gpus_per_node = 8;   ///< GPUs that the job uses, the first ones of each node
  std::int64_t gpus_installed = 0;  ///< GPUs that a node has, which decide its wiring; 0: as many as gpus_per_node
  std::string device;               ///< name of a file in configs/devices
  GpuLinks gpu_links;
  PcieSpec pcie;
  NicSpec nic;
  FabricSpec fabric;
  HostSpec host;
  std::string source;
  bool operator==(const ClusterSpec&) const = default;
};

/// What one NIC that runs at `speed` of its rate transfers, per direction: no more than its PCIe link.
BytesPerSecond nic_rate(const ClusterSpec& spec, double speed = 1);

Schema<ClusterSpec> cluster_schema();

}  // namespace distsim::topology
