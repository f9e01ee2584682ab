// Topology: devices and links of a cluster as a graph, with routes, what a group of ranks can count on, and bisection.
//
// All nodes are identical, so the graph of one node is stored once and the fabric by its levels: memory and build time
// do not grow with the number of nodes. Bandwidths are per direction. Rank r is GPU r % gpus_per_node of node r /
// gpus_per_node.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "topology/devices/cluster_spec.hpp"
#include "topology/nvlink_domains.hpp"

namespace distsim::topology {

enum class DeviceKind : std::uint8_t { gpu, nvswitch, pcie_switch, cpu, nic, leaf_switch, spine_switch, core_switch };
enum class LinkKind : std::uint8_t { nvlink, pcie, cpu_interconnect, network };
std::string_view name_of(DeviceKind kind);
std::string_view name_of(LinkKind kind);

/// A place in the cluster: the device `local` of node `node`, or a fabric switch (node = kFabric).
struct Place {
  std::uint32_t node = 0;
  std::uint32_t local = 0;
  static constexpr std::uint32_t kFabric = 0xFFFFFFFFu;
  bool operator==(const Place&) const = default;
};

/// One directed hop of a route.
struct Hop {
  Place from, to;
  LinkKind kind = LinkKind::nvlink;
  BytesPerSecond bandwidth;  ///< of this direction, all parallel links together
  Duration latency;
};

/// Whether the other GPUs of a group's nodes communicate at the same time, in groups of their own, as when all parts of
/// a partition run the same collective. Adapters are then shared by the GPUs that are nearest to them; otherwise a
/// group has them to itself.
enum class Siblings : std::uint8_t { idle, active };

/// Who uses the fabric besides a job.
struct FabricUse {
  bool loaded = false;     ///< others take a part of every uplink, so that any may be full before the NICs below it
  std::uint32_t jobs = 1;  ///< that share the nodes in turn: of so many nodes next to each other one is the job's
  auto operator<=>(const FabricUse&) const = default;
};

/// Who sends to whom between the nodes of a group, which are in the order of their numbers.
enum class Traffic : std::uint8_t {
  ring,       ///< each to the next
  tree,       ///< up and down both halves of a double binary tree
  doubling,   ///< to those 1, 2, 4, ... further on; half of all bytes to the next, a quarter to the one after it, ...
  all_pairs,  ///< each to every other, in equal parts
  rooted,     ///< one to all others, or all others to one
};
inline constexpr Traffic kTraffic[] = {Traffic::ring, Traffic::tree, Traffic::doubling, Traffic::all_pairs,
                                       Traffic::rooted};

/// What a group of ranks has at its disposal; the input of every collective model.
struct GroupFacts {
  std::uint32_t ranks = 0;
  std::uint32_t nodes = 0;  ///< nodes (NVLink domains count as one) that hold a member
  std::uint32_t min_per_node = 0, max_per_node = 0;
  std::int64_t compute_capability = 0;
  const NodeShape* intra = nullptr;  ///< how those of a node communicate; null where none has two members
  BytesPerSecond intra_bandwidth;  ///< what one GPU can send to the others of its node at once, per direction, nominal
  BytesPerSecond intra_ring_bandwidth;  ///< sum over the rings that fit, per direction, nominal (hybrid cube mesh
                                        ///< differs from intra_bandwidth), without what joins CPU sockets
  BytesPerSecond
      intra_socket_bandwidth;  ///< what joins the CPU sockets that a ring over PCIe crosses, as a ring uses it.
                               ///< 0: it crosses none
  Duration intra_latency;      ///< one hop
  bool multicast = false;      ///< NVLS available
  bool peer_to_peer = true;
  double nics_per_node =
      0;  ///< NICs nearest to the members of one node, smallest node; a fraction where siblings share them
  BytesPerSecond nic_bandwidth;   ///< of one NIC, per direction, after efficiency
  BytesPerSecond node_bandwidth;  ///< of the NICs of the group's part of one node together, per direction, after
                                  ///< efficiency
  /// Where parts of the group differ in size: the node_bandwidth with which nodes of max_per_node members each would
  /// exchange all pairs as slowly as the slowest part, min over parts of B / (p (n - p)) times p (n - p) of the largest.
  /// A small part has few NICs, but few bytes, too. 0: parts are equal.
  BytesPerSecond pairs_bandwidth;
  double pairs_nics =
      0;  ///< the same as a number of NICs, which the PCIe links of members may keep from their full rate
  /// By Traffic: the value of node_bandwidth at which the busiest uplink of a leaf or pod is full (topology/uplinks.hpp).
  /// 0: no uplink is ever full, for none is on the way or all have what the NICs below them can send.
  std::array<BytesPerSecond, std::size(kTraffic)> uplink_limits{};
  Duration inter_latency;  ///< one way between nodes of the group, worst pair; in one node between GPUs' own NICs
  bool gpu_direct = true;
  bool sharp = false;
  bool beside_others = false;  ///< other groups on the same nodes communicate at the same time
  Transport transport = Transport::infiniband;
  std::string bottleneck;                              ///< the slowest link of the group in words: "NIC 25 GB/s x 8"
  bool nvlink() const;                                 ///< members of a node are connected by NVLink
  bool has_own_nics() const;                           ///< no NVLink, and a NIC each that is reached past the CPU
  BytesPerSecond ring_limit() const;                   ///< the lower of intra_ring_bandwidth and intra_socket_bandwidth
  bool switched() const;                               ///< and through switches: every pair at full speed
  BytesPerSecond network_rate(Traffic traffic) const;  ///< the lower of node_bandwidth and the uplinks' limit
  std::string key() const;                             ///< equal for groups with equal facts; a cache key
  bool operator==(const GroupFacts&) const = default;
};

class Topology {
 public:
  /// Builds from a checked spec. `compute_capability` is the device's. Refuses shapes that cannot be (17 GPUs in a cube
  /// mesh) and more than 2^24 ranks.
  static Result<Topology> build(const ClusterSpec& spec, std::int64_t compute_capability);

  std::uint32_t ranks() const;
  std::uint32_t nodes() const;
  std::uint32_t gpus_per_node() const;
  std::uint32_t node_of(std::uint32_t rank) const { return rank / gpus_per_node(); }
  const NvlinkDomains& domains() const;
  const ClusterSpec& spec() const;

  /// Shortest route between two GPUs: most bandwidth among the fewest hops. Empty for a rank to itself.
  std::vector<Hop> route(std::uint32_t from, std::uint32_t to) const;

  /// Facts of the group with these members (ascending, no duplicates, not empty).
  /// `use`: with a load, uplink_limits are those of all uplinks on the way, be they oversubscribed or not.
  /// `busy`: the GPUs that communicate while siblings are active, those of the group too, ascending; empty: all.
  GroupFacts facts(std::span<const std::uint32_t> members, Siblings siblings = Siblings::idle,
                   const FabricUse& use = {}, std::span<const std::uint32_t> busy = {}) const;

  /// Bandwidth between the first half of the installed GPUs of a node (NVLink domain) and the others; 0 for a single
  /// GPU. Per direction, nominal.
  BytesPerSecond node_bisection() const;
  /// Network bandwidth between two halves of the nodes: nodes / 2 x ports x rate / oversubscription where they span
  /// leaves, over spine_oversubscription as well where they span pods. Per direction, nominal.
  BytesPerSecond fabric_bisection() const;

  /// Devices and links of one node and levels of the fabric as text (--dump-after=build_topology), the same on every
  /// run.
  std::string dump() const;

 private:
  struct Impl;
  explicit Topology(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

/// What `gpu_links.kind` and `fabric.kind` can be: one line each for help and reference.
struct TopologyInfo {
  std::string_view name;
  std::string_view sentence;
};
std::vector<TopologyInfo> topology_registry();

}  // namespace distsim::topology
