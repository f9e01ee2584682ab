// Routes between any two GPUs: inside a node over the node's graph, between nodes of an NVLink domain over its
// switches, else through adapters.
#include "topology/topology_parts.hpp"

namespace distsim::topology {
namespace {

using Over = NodeGraph::Over;

void append(std::vector<Hop>& to, std::vector<Hop> more) { to.insert(to.end(), more.begin(), more.end()); }

/// NVLink where it leads there at all; else PCIe, up to a CPU socket and down again where peers cannot read each other.
std::vector<Hop> within_node(const TopologyParts& t, std::uint32_t node, DeviceId from, DeviceId to) {
  std::vector<Hop> hops = t.node.route(from, to, Over::nvlink, node);
  if (!hops.empty() || from == to) return hops;
  if (t.spec.pcie.peer_to_peer) return t.node.route(from, to, Over::pcie, node);
  // Host memory of the sender's socket.
  DeviceId host;
  std::size_t nearest = 0;
  for (std::uint32_t s = 0; s < t.node.count(DeviceKind::cpu); ++s) {
    const DeviceId cpu = t.node.find(DeviceKind::cpu, s);
    const std::size_t length = t.node.route(from, cpu, Over::pcie, node).size();
    if (host.valid() && length >= nearest) continue;
    host = cpu;
    nearest = length;
  }
  hops = t.node.route(from, host, Over::pcie, node);
  append(hops, t.node.route(host, to, Over::pcie, node));
  return hops;
}

/// Both nodes see the switches of their domain as their own devices; the domain's first node represents all.
std::vector<Hop> within_domain(const TopologyParts& t, std::uint32_t node_a, DeviceId a, std::uint32_t node_b,
                               DeviceId b) {
  const DeviceId plane = t.node.find(DeviceKind::nvswitch, 0);
  std::vector<Hop> hops = t.node.route(a, plane, Over::nvlink, node_a);
  append(hops, t.node.route(plane, b, Over::nvlink, node_b));
  return hops;
}

/// On rails with NVLink the message first moves to the GPU that shares the receiver's rail (NCCL's PXN), and so stays
/// on one leaf.
std::vector<Hop> between_nodes(const TopologyParts& t, std::uint32_t node_a, std::uint32_t gpu_a, std::uint32_t node_b,
                               std::uint32_t gpu_b) {
  const bool move = t.fabric.rails() && t.gpu_nics[gpu_a] != t.gpu_nics[gpu_b] && t.spec.gpu_links.has_nvlink();
  const std::uint32_t sender = move ? gpu_b : gpu_a;
  const DeviceId a = t.node.find(DeviceKind::gpu, gpu_a), s = t.node.find(DeviceKind::gpu, sender),
                 b = t.node.find(DeviceKind::gpu, gpu_b);
  const std::uint32_t port_a = t.gpu_nics[sender].front(), port_b = t.gpu_nics[gpu_b].front();
  const DeviceId nic_a = t.node.find(DeviceKind::nic, port_a), nic_b = t.node.find(DeviceKind::nic, port_b);
  std::vector<Hop> hops = within_node(t, node_a, a, s);
  append(hops, t.node.route(s, nic_a, Over::pcie, node_a));
  append(hops, t.fabric.path({{node_a, nic_a.value()}, node_a, port_a}, {{node_b, nic_b.value()}, node_b, port_b}));
  append(hops, t.node.route(nic_b, b, Over::pcie, node_b));
  return hops;
}

void name_domain_switches(const TopologyParts& t, std::vector<Hop>& hops) {
  const auto rename = [&t](Place& p) {
    if (p.node == Place::kFabric || t.node.devices()[DeviceId(p.local)].kind != DeviceKind::nvswitch) return;
    p.node = t.domains.first_node(t.domains.of_node(p.node));
  };
  for (Hop& h : hops) {
    rename(h.from);
    rename(h.to);
  }
}

}  // namespace

std::vector<Hop> find_route(const TopologyParts& t, std::uint32_t from, std::uint32_t to) {
  if (from == to) return {};
  const std::uint32_t node_a = from / t.gpus, node_b = to / t.gpus, gpu_a = from % t.gpus, gpu_b = to % t.gpus;
  const DeviceId a = t.node.find(DeviceKind::gpu, gpu_a), b = t.node.find(DeviceKind::gpu, gpu_b);
  std::vector<Hop> hops;
  if (node_a == node_b)
    hops = within_node(t, node_a, a, b);
  else if (t.domains.of_node(node_a) == t.domains.of_node(node_b))
    hops = within_domain(t, node_a, a, node_b, b);
  else
    hops = between_nodes(t, node_a, gpu_a, node_b, gpu_b);
  name_domain_switches(t, hops);
  CHECK(!hops.empty()) << "no route from rank " << from << " to " << to;
  return hops;
}

}  // namespace distsim::topology
