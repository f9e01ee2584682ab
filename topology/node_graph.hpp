// NodeGraph: the devices of one node and the links between them. Kept once for a cluster of equal nodes.
//
// NVSwitches that a GPU stripes its traffic over form a plane: a route enters the plane, not one switch, and its hop
// carries the sum of the GPU's links into that plane. Links are undirected here; bandwidth and latency are those of
// each direction.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/units.hpp"
#include "topology/topology.hpp"

namespace distsim::topology {

struct NodeDevice {
  DeviceKind kind = DeviceKind::gpu;
  std::uint32_t index = 0;  ///< among its kind: GPU 3, NIC 0
  DeviceId plane;  ///< first device of its plane, which represents it in routes; a single device is its own plane
};

struct NodeLink {
  DeviceId a, b;
  LinkKind kind = LinkKind::nvlink;
  std::uint32_t count = 1;   ///< parallel physical links
  BytesPerSecond bandwidth;  ///< all `count` together, one direction
  Duration latency;
};

class NodeGraph {
 public:
  DeviceId add(DeviceKind kind, std::uint32_t index);
  DeviceId add_to_plane(DeviceKind kind, std::uint32_t index, DeviceId plane);
  void connect(DeviceId a, DeviceId b, LinkKind kind, std::uint32_t count, BytesPerSecond each, Duration latency);

  const IdVector<DeviceId, NodeDevice>& devices() const { return devices_; }
  const IdVector<LinkId, NodeLink>& links() const { return links_; }
  const std::vector<LinkId>& links_of(DeviceId device) const { return links_of_[device]; }
  DeviceId find(DeviceKind kind, std::uint32_t index) const;  ///< CHECKs that it exists
  std::uint32_t count(DeviceKind kind) const;

  /// Parallel links between two devices, 0 where there are none.
  std::uint32_t link_count(DeviceId a, DeviceId b, LinkKind kind) const;

  /// Route over NVLink only, or over PCIe and CPU sockets only: the fewest hops, and among those the most bandwidth.
  /// NVLink routes may pass through another GPU, PCIe routes may not. Empty where there is none. Places carry `node`.
  enum class Over : std::uint8_t { nvlink, pcie };
  std::vector<Hop> route(DeviceId from, DeviceId to, Over over, std::uint32_t node) const;

  std::string dump() const;

 private:
  IdVector<DeviceId, NodeDevice> devices_;
  IdVector<LinkId, NodeLink> links_;
  IdVector<DeviceId, std::vector<LinkId>> links_of_;
  std::vector<std::vector<DeviceId>> by_kind_;
};

}  // namespace distsim::topology
