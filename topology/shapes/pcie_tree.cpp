#include "topology/shapes/pcie_tree.hpp"

#include <algorithm>
#include <map>

namespace distsim::topology {
namespace {

Duration half(Duration d) { return Duration::picoseconds(d.ps() / 2); }

IntraFacts facts(const ClusterSpec& spec, const NodeGraph&, std::span<const std::uint32_t> locals) {
  return pcie_facts(spec, locals);
}

Result<void> check_single(const ClusterSpec& spec) {
  if (spec.gpus_per_node == 1) return {};
  return cluster_error("gpus_per_node", std::to_string(spec.gpus_per_node), "1 where gpu_links.kind is none");
}

void connect_nothing(const ClusterSpec&, NodeGraph&) {}
std::int64_t no_links(const ClusterSpec&, std::uint32_t) { return 0; }

/// Uplinks of half the slots, or what joins half the sockets to the others where that is less; below one switch, links
/// of half its GPUs.
BytesPerSecond bisection(const ClusterSpec& spec, const NodeGraph&) {
  const PcieLayout layout(spec);
  const double link = spec.pcie.bandwidth.value();
  if (layout.slots() == 1)
    return BytesPerSecond(spec.pcie.peer_to_peer ? link * static_cast<double>(spec.gpus_per_node / 2) : link / 2);
  const std::uint32_t sockets = layout.socket_of_slot(layout.slots() - 1) + 1;
  const double uplinks = link * (layout.slots() / 2), joints = (sockets / 2) * (sockets - sockets / 2);
  return BytesPerSecond(sockets == 1 ? uplinks : std::min(uplinks, spec.pcie.cpu_interconnect.value() * joints));
}

}  // namespace

PcieLayout::PcieLayout(const ClusterSpec& spec)
    : gpus_(static_cast<std::uint32_t>(spec.gpus_per_node)),
      nics_(static_cast<std::uint32_t>(spec.nic.count)),
      per_slot_(static_cast<std::uint32_t>(spec.pcie.gpus_per_switch)),
      slots_((gpus_ + per_slot_ - 1) / per_slot_),
      sockets_(static_cast<std::uint32_t>(spec.host.sockets)) {}

std::vector<std::uint32_t> PcieLayout::nearest_nics(std::uint32_t gpu) const {
  std::vector<std::uint32_t> nearest;
  int best = 3;
  for (std::uint32_t nic = 0; nic < nics_; ++nic) {
    const std::uint32_t a = slot_of_gpu(gpu), b = slot_of_nic(nic);
    const int distance = a == b && has_switches() ? 0 : socket_of_slot(a) == socket_of_slot(b) ? 1 : 2;
    if (distance < best) nearest.clear();
    best = std::min(best, distance);
    if (distance == best) nearest.push_back(nic);
  }
  return nearest;
}

std::vector<std::vector<std::uint32_t>> PcieLayout::nics_of_gpus() const {
  std::map<std::vector<std::uint32_t>, std::vector<std::uint32_t>> gpus_by_nearest;
  for (std::uint32_t gpu = 0; gpu < gpus_; ++gpu) gpus_by_nearest[nearest_nics(gpu)].push_back(gpu);
  std::vector<std::vector<std::uint32_t>> out(gpus_);
  for (const auto& [nics, gpus] : gpus_by_nearest) {
    if (nics.empty()) continue;
    const std::size_t n = nics.size(), g = gpus.size();
    for (std::size_t i = 0; i < g; ++i) {
      const std::size_t first = i * n / g, last = std::max(first + 1, (i + 1) * n / g);
      out[gpus[i]].assign(nics.begin() + static_cast<std::ptrdiff_t>(first),
                          nics.begin() + static_cast<std::ptrdiff_t>(last));
    }
  }
  return out;
}

void add_pcie_tree(const ClusterSpec& spec, NodeGraph& graph) {
  const PcieLayout layout(spec);
  const BytesPerSecond rate = spec.pcie.bandwidth;
  const Duration hop = half(spec.pcie.latency);
  const auto sockets = static_cast<std::uint32_t>(spec.host.sockets);
  for (std::uint32_t s = 0; s < sockets; ++s) graph.add(DeviceKind::cpu, s);
  for (std::uint32_t a = 0; a < sockets; ++a) {
    for (std::uint32_t b = a + 1; b < sockets; ++b) {
      graph.connect(graph.find(DeviceKind::cpu, a), graph.find(DeviceKind::cpu, b), LinkKind::cpu_interconnect, 1,
                    spec.pcie.cpu_interconnect, hop);
    }
  }
  std::vector<DeviceId> slots;  // what a slot's devices are plugged into
  for (std::uint32_t s = 0; s < layout.slots(); ++s) {
    const DeviceId cpu = graph.find(DeviceKind::cpu, layout.socket_of_slot(s));
    slots.push_back(layout.has_switches() ? graph.add(DeviceKind::pcie_switch, s) : cpu);
    if (layout.has_switches()) graph.connect(slots.back(), cpu, LinkKind::pcie, 1, rate, hop);
  }
  for (std::uint32_t g = 0; g < graph.count(DeviceKind::gpu); ++g) {
    graph.connect(graph.find(DeviceKind::gpu, g), slots[layout.slot_of_gpu(g)], LinkKind::pcie, 1, rate, hop);
  }
  for (std::uint32_t n = 0; n < static_cast<std::uint32_t>(spec.nic.count); ++n) {
    graph.connect(graph.add(DeviceKind::nic, n), slots[layout.slot_of_nic(n)], LinkKind::pcie, 1, rate, hop);
  }
}

IntraFacts pcie_facts(const ClusterSpec& spec, std::span<const std::uint32_t> locals) {
  const PcieLayout layout(spec);
  const double link = spec.pcie.bandwidth.value(), between = spec.pcie.cpu_interconnect.value();
  const auto m = static_cast<double>(locals.size());
  std::map<std::uint32_t, double> on_slot, on_socket;  // members below each
  for (const std::uint32_t g : locals) {
    ++on_slot[layout.slot_of_gpu(g)];
    ++on_socket[layout.socket_of_slot(layout.slot_of_gpu(g))];
  }
  // Uniform traffic at rate s from each member: g members below a switch send g s (m - g) / (m - 1) up its one link, or
  // g s where all is staged in host memory.
  double uniform = link, ring = link;
  for (const auto& [slot, g] : on_slot) {
    if (!layout.has_switches()) continue;
    const double up = spec.pcie.peer_to_peer ? g * (m - g) / (m - 1) : g;
    if (up > 0) uniform = std::min(uniform, link / up);
    if (!spec.pcie.peer_to_peer) ring = std::min(ring, link / g);
  }
  for (auto a = on_socket.begin(); a != on_socket.end(); ++a) {
    for (auto b = std::next(a); b != on_socket.end(); ++b)
      uniform = std::min(uniform, between * (m - 1) / (a->second * b->second));
  }
  const bool through_cpu = !layout.has_switches() || on_slot.size() > 1 || !spec.pcie.peer_to_peer;
  const std::int64_t half_hops = !layout.has_switches() ? 2 : through_cpu ? 4 : 2;
  const Duration latency = half(spec.pcie.latency) * (half_hops + (on_socket.size() > 1 ? 1 : 0));
  return {&pcie_shape, BytesPerSecond(uniform), BytesPerSecond(ring), latency,
          BytesPerSecond(on_socket.size() > 1 ? between : 0)};
}

extern constinit const NodeShape pcie_shape = checked(NodeShape{
    .name = "pcie",
    .sentence =
        "No NVLink: GPUs communicate through PCIe switches and CPU sockets, staged in host memory without peer access.",
    .check = [](const ClusterSpec&) -> Result<void> { return {}; },
    .connect = connect_nothing,
    .degree = no_links,
    .facts = facts,
    .bisection = bisection});

extern constinit const NodeShape none_shape = checked(NodeShape{.name = "none",
                                                                .sentence = "One GPU per node.",
                                                                .check = check_single,
                                                                .connect = connect_nothing,
                                                                .degree = no_links,
                                                                .facts = facts,
                                                                .bisection = bisection});

}  // namespace distsim::topology
