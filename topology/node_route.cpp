// Routes inside a node: breadth-first over planes, so that the first level that holds the target has the fewest hops;
// within a level the widest way in wins.
#include <algorithm>
#include <limits>

#include "topology/node_graph.hpp"

namespace distsim::topology {
namespace {

bool carries(NodeGraph::Over over, LinkKind kind) {
  if (over == NodeGraph::Over::nvlink) return kind == LinkKind::nvlink;
  return kind == LinkKind::pcie || kind == LinkKind::cpu_interconnect;
}

/// GPUs forward for their peers over NVLink, never over PCIe; adapters never forward.
bool forwards(NodeGraph::Over over, DeviceKind kind) {
  if (over == NodeGraph::Over::nvlink) return kind == DeviceKind::gpu || kind == DeviceKind::nvswitch;
  return kind == DeviceKind::pcie_switch || kind == DeviceKind::cpu;
}

class PlaneSearch {
 public:
  PlaneSearch(const NodeGraph& graph, NodeGraph::Over over, std::uint32_t node)
      : graph_(graph), over_(over), node_(node), reached_(graph.devices().size()), members_(graph.devices().size()) {
    for (DeviceId d(0); d.value() < graph.devices().size(); d = DeviceId(d.value() + 1))
      members_[graph.devices()[d].plane].push_back(d);
  }

  std::vector<Hop> run(DeviceId from, DeviceId to) {
    reached_[from] = {0, std::numeric_limits<double>::infinity(), true, {}};
    std::vector<DeviceId> level{from};
    for (std::uint32_t depth = 1; !level.empty() && !reached_[to].seen; ++depth) level = next_level(level, from, depth);
    return reached_[to].seen ? hops_to(from, to) : std::vector<Hop>();
  }

 private:
  struct Reached {
    std::uint32_t depth = 0;
    double width = 0;  ///< least bandwidth on the way here
    bool seen = false;
    Hop into;  ///< last hop of that way
  };

  std::vector<DeviceId> next_level(const std::vector<DeviceId>& level, DeviceId from, std::uint32_t depth) {
    std::vector<DeviceId> next;
    for (const DeviceId u : level) {
      if (u != from && !forwards(over_, graph_.devices()[u].kind)) continue;
      for (const Hop& hop : hops_out_of(u)) {
        const DeviceId v(hop.to.local);
        Reached& r = reached_[v];
        const double width = std::min(reached_[u].width, hop.bandwidth.value());
        if (r.seen && (r.depth < depth || r.width >= width)) continue;
        if (!r.seen) next.push_back(v);
        r = {depth, width, true, hop};
      }
    }
    return next;
  }

  /// One hop per neighbouring plane; its bandwidth is the sum over the links of both planes.
  std::vector<Hop> hops_out_of(DeviceId u) const {
    std::vector<Hop> hops;
    for (const DeviceId m : members_[u]) {
      for (const LinkId l : graph_.links_of(m)) {
        const NodeLink& link = graph_.links()[l];
        if (!carries(over_, link.kind)) continue;
        const DeviceId v = graph_.devices()[link.a == m ? link.b : link.a].plane;
        const auto same = std::find_if(hops.begin(), hops.end(), [v](const Hop& h) { return h.to.local == v.value(); });
        if (same != hops.end())
          same->bandwidth += link.bandwidth;
        else
          hops.push_back({{node_, u.value()}, {node_, v.value()}, link.kind, link.bandwidth, link.latency});
      }
    }
    return hops;
  }

  std::vector<Hop> hops_to(DeviceId from, DeviceId to) const {
    std::vector<Hop> hops;
    for (DeviceId d = to; d != from; d = DeviceId(hops.back().from.local)) hops.push_back(reached_[d].into);
    std::reverse(hops.begin(), hops.end());
    return hops;
  }

  const NodeGraph& graph_;
  NodeGraph::Over over_;
  std::uint32_t node_;
  IdVector<DeviceId, Reached> reached_;
  IdVector<DeviceId, std::vector<DeviceId>> members_;
};

}  // namespace

std::vector<Hop> NodeGraph::route(DeviceId from, DeviceId to, Over over, std::uint32_t node) const {
  if (from == to) return {};
  return PlaneSearch(*this, over, node).run(from, to);
}

}  // namespace distsim::topology
