#include "topology/topology.hpp"

#include <utility>

#include "base/text/counted.hpp"
#include "topology/shapes/pcie_tree.hpp"
#include "topology/topology_parts.hpp"

namespace distsim::topology {
namespace {

constexpr std::int64_t kMaxRanks = std::int64_t{1} << 24;

Result<void> check_uplinks(const FabricSpec& fabric) {
  if (fabric.shape->uplinks) return {};
  for (const auto& [key, value] : {std::pair{"fabric.oversubscription", fabric.oversubscription},
                                   std::pair{"fabric.spine_oversubscription", fabric.spine_oversubscription}}) {
    if (value > 1) return cluster_error(key, format_quantity(value, Dimension::none), "1 for a single switch");
  }
  return {};
}

Result<void> check_cluster(const ClusterSpec& spec) {
  if (spec.nodes < 1) return cluster_error("nodes", std::to_string(spec.nodes), "at least 1");
  if (spec.gpus_per_node < 1) return cluster_error("gpus_per_node", std::to_string(spec.gpus_per_node), "at least 1");
  if (spec.gpus_installed > 0 && spec.gpus_per_node > spec.gpus_installed) {
    return cluster_error("gpus_per_node", std::to_string(spec.gpus_per_node),
                         "at most gpus_installed, " + std::to_string(spec.gpus_installed));
  }
  if (spec.nodes > kMaxRanks / spec.gpus_per_node) {
    return cluster_error("nodes",
                         counted(static_cast<std::uint64_t>(spec.nodes), "node") + " of " +
                             counted(static_cast<std::uint64_t>(spec.gpus_per_node), "GPU"),
                         "at most " + std::to_string(kMaxRanks) + " GPUs in total");
  }
  if (spec.gpu_links.domain_nodes > 1 && !spec.gpu_links.shape->switched) {
    return cluster_error("gpu_links.domain_nodes", std::to_string(spec.gpu_links.domain_nodes),
                         "1: only NVSwitches can join nodes");
  }
  if (spec.nodes > spec.gpu_links.domain_nodes && spec.nic.count < 1) {
    return cluster_error("nic.count", "0",
                         "at least 1 to join " + counted(static_cast<std::uint64_t>(spec.nodes), "node"));
  }
  return check_uplinks(spec.fabric);
}

ClusterSpec with_installed_gpus(ClusterSpec spec) {
  if (spec.gpus_installed > 0) spec.gpus_per_node = spec.gpus_installed;
  return spec;
}

std::vector<std::uint32_t> users_of_nics(std::span<const std::vector<std::uint32_t>> gpu_nics, std::size_t nics) {
  std::vector<std::uint32_t> users(nics, 0);
  for (const auto& of_gpu : gpu_nics) {
    for (const std::uint32_t nic : of_gpu) ++users[nic];
  }
  return users;
}

}  // namespace

Error cluster_error(const std::string& key, const std::string& found, const std::string& expected) {
  return Error{"cluster." + key + ": found " + found + ", expected " + expected, "", ""};
}

std::string_view name_of(DeviceKind kind) {
  static constexpr std::string_view names[] = {"GPU", "NVSwitch",    "PCIe switch",  "CPU",
                                               "NIC", "leaf switch", "spine switch", "core switch"};
  return names[static_cast<std::size_t>(kind)];
}

std::string_view name_of(LinkKind kind) {
  static constexpr std::string_view names[] = {"NVLink", "PCIe", "CPU interconnect", "network"};
  return names[static_cast<std::size_t>(kind)];
}

Result<Topology> Topology::build(const ClusterSpec& spec, std::int64_t compute_capability) {
  TRY(check_cluster(spec));
  const NodeShape& shape = *spec.gpu_links.shape;
  const ClusterSpec machine = with_installed_gpus(spec);
  TRY(shape.check(machine));
  auto impl = std::make_shared<Impl>();
  impl->spec = spec;
  impl->machine = machine;
  impl->compute_capability = compute_capability;
  impl->shape = &shape;
  impl->nodes = static_cast<std::uint32_t>(spec.nodes);
  impl->gpus = static_cast<std::uint32_t>(spec.gpus_per_node);
  impl->domains = NvlinkDomains(impl->nodes, static_cast<std::uint32_t>(spec.gpu_links.domain_nodes));
  for (std::uint32_t g = 0; g < machine.gpus_per_node; ++g) impl->node.add(DeviceKind::gpu, g);
  shape.connect(machine, impl->node);
  add_pcie_tree(machine, impl->node);
  impl->gpu_nics = PcieLayout(machine).nics_of_gpus();
  impl->nic_gpus = users_of_nics(std::span(impl->gpu_nics).first(impl->gpus), static_cast<std::size_t>(spec.nic.count));
  impl->fabric = Fabric(spec, impl->nodes);
  return Topology(std::shared_ptr<const Impl>(std::move(impl)));
}

std::uint32_t Topology::ranks() const { return impl_->nodes * impl_->gpus; }
std::uint32_t Topology::nodes() const { return impl_->nodes; }
std::uint32_t Topology::gpus_per_node() const { return impl_->gpus; }
const NvlinkDomains& Topology::domains() const { return impl_->domains; }
const ClusterSpec& Topology::spec() const { return impl_->spec; }

std::vector<Hop> Topology::route(std::uint32_t from, std::uint32_t to) const {
  CHECK(from < ranks() && to < ranks()) << from << " -> " << to << " of " << ranks();
  return find_route(*impl_, from, to);
}

GroupFacts Topology::facts(std::span<const std::uint32_t> members, Siblings siblings, const FabricUse& use,
                           std::span<const std::uint32_t> busy) const {
  return group_facts(*impl_, members, siblings, use, busy);
}

BytesPerSecond Topology::node_bisection() const {
  const ClusterSpec& machine = impl_->machine;
  return machine.gpus_per_node * machine.gpu_links.domain_nodes < 2 ? BytesPerSecond(0)
                                                                    : impl_->shape->bisection(machine, impl_->node);
}

BytesPerSecond Topology::fabric_bisection() const { return impl_->fabric.bisection(); }

std::string Topology::dump() const {
  const ClusterSpec& s = impl_->spec;
  std::string out =
      s.name + ": " + counted(impl_->nodes, "node") + " x " + std::to_string(impl_->gpus) + " " + s.device + "\n";
  out += "node: " + std::string(impl_->shape->name) + ", " +
         counted(static_cast<std::uint64_t>(impl_->machine.gpus_per_node), "GPU") + " installed";
  if (s.gpu_links.domain_nodes > 1) {
    out += ", one NVLink domain per " + counted(static_cast<std::uint64_t>(s.gpu_links.domain_nodes), "node") + ": " +
           impl_->domains.text();
  }
  out += ", bisection " + format_quantity(node_bisection().value(), Dimension::bytes_per_second) + " per direction\n";
  out += impl_->node.dump() + impl_->fabric.dump();
  out += "  bisection " + format_quantity(fabric_bisection().value(), Dimension::bytes_per_second) + " per direction\n";
  return out;
}

}  // namespace distsim::topology
