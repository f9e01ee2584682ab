#include "topology/shapes/fabric.hpp"

#include <algorithm>

namespace distsim::topology {
namespace {

std::uint32_t u32(std::int64_t v) { return static_cast<std::uint32_t>(v); }

Duration half(Duration d) { return Duration::picoseconds(d.ps() / 2); }

}  // namespace

Fabric::Fabric(const ClusterSpec& spec, std::uint32_t nodes) : spec_(spec), shape_(spec.fabric.shape), nodes_(nodes) {
  leaves_ = leaf_of(nodes - 1, u32(std::max<std::int64_t>(spec.nic.count, 1)) - 1) + 1;
  leaves_per_pod_ = shape_->leaves_per_pod(spec_);
}

std::uint32_t Fabric::switches_between(std::uint32_t leaf_a, std::uint32_t leaf_b) const {
  if (leaf_a == leaf_b) return 1;
  const bool same_pod = pod_of_leaf(leaf_a) == pod_of_leaf(leaf_b);
  return direct() ? (same_pod ? 2 : 4) : (same_pod ? 3 : 5);
}

Duration Fabric::latency(std::uint32_t switches) const {
  return half(spec_.nic.latency) * 2 + spec_.fabric.switch_latency * static_cast<std::int64_t>(switches - 1);
}

std::vector<Hop> Fabric::path(const Port& a, const Port& b) const {
  const std::uint32_t leaf_a = leaf_of(a.node, a.nic), leaf_b = leaf_of(b.node, b.nic);
  const std::uint32_t pod_a = pod_of_leaf(leaf_a), pod_b = pod_of_leaf(leaf_b);
  std::vector<Place> at{a.place, {Place::kFabric, leaf_a}};
  std::vector<BytesPerSecond> rate{spec_.nic.bandwidth};
  const auto go = [&](std::uint32_t fabric_switch, BytesPerSecond bandwidth) {
    at.push_back({Place::kFabric, fabric_switch});
    rate.push_back(bandwidth);
  };
  // Behind the leaves: a spine for each pod, or the routers of a group that have global links; then the core.
  const BytesPerSecond up = leaf_uplink(), pod_up = pod_uplink();
  if (leaf_a != leaf_b && (!direct() || pod_a != pod_b)) go(leaves_ + pod_a, up);
  if (pod_a != pod_b && !direct()) go(leaves_ + pods(), pod_up);
  if (pod_a != pod_b) go(leaves_ + pod_b, pod_up);
  if (leaf_a != leaf_b) go(leaf_b, up);
  at.push_back(b.place);
  rate.push_back(spec_.nic.bandwidth);

  std::vector<Hop> hops;
  for (std::size_t i = 0; i < rate.size(); ++i) {
    const bool at_adapter = i == 0 || i + 1 == rate.size();
    hops.push_back({at[i], at[i + 1], LinkKind::network, rate[i],
                    at_adapter ? half(spec_.nic.latency) : spec_.fabric.switch_latency});
  }
  return hops;
}

BytesPerSecond Fabric::leaf_uplink() const {
  return BytesPerSecond(spec_.nic.bandwidth.value() * shape_->ports_per_leaf(spec_) / spec_.fabric.oversubscription);
}

BytesPerSecond Fabric::pod_uplink() const {
  return BytesPerSecond(leaf_uplink().value() * leaves_per_pod_ / spec_.fabric.spine_oversubscription);
}

bool uplinks_can_fill(const FabricSpec& f, const FabricUse& use) {
  return f.shape->uplinks && (use.loaded || f.shape->direct || f.oversubscription > 1 || f.spine_oversubscription > 1);
}

std::uint64_t nodes_per_leaf(const FabricSpec& f, const FabricUse& use) {
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(f.nodes_per_leaf) / use.jobs);
}

std::uint64_t nodes_per_pod(const FabricSpec& f, const FabricUse& use) {
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(f.nodes_per_leaf * f.leaves_per_pod) / use.jobs);
}

BytesPerSecond Fabric::bisection() const {
  const double half_rate = spec_.nic.bandwidth.value() * static_cast<double>(spec_.nic.count) * (nodes_ / 2);
  const std::uint32_t first = leaf_of(0, 0), last = leaf_of(nodes_ - 1, 0);
  if (first == last) return BytesPerSecond(half_rate);
  const double up = half_rate / spec_.fabric.oversubscription;
  return BytesPerSecond(pod_of_leaf(first) == pod_of_leaf(last) ? up : up / spec_.fabric.spine_oversubscription);
}

std::string Fabric::dump() const {
  if (spec_.nic.count == 0) return "fabric: none\n";
  std::string out = "fabric: " + std::string(shape_->name) + ", " + std::to_string(leaves_) +
                    (leaves_ == 1 ? " leaf\n" : " leaves\n");
  if (leaves_ == 1) return out;
  out += "  " + std::string(leaf_level()) + ": " + format_quantity(leaf_uplink().value(), Dimension::bytes_per_second) +
         " per leaf and direction, oversubscription " +
         format_quantity(spec_.fabric.oversubscription, Dimension::none) + ", " + std::to_string(pods()) +
         (pods() == 1 ? " pod\n" : " pods\n");
  if (pods() > 1) {
    out += "  " + std::string(pod_level()) + ": " + format_quantity(pod_uplink().value(), Dimension::bytes_per_second) +
           " per pod and direction";
    if (spec_.fabric.spine_oversubscription > 1)
      out += ", oversubscription " + format_quantity(spec_.fabric.spine_oversubscription, Dimension::none);
    out += "\n";
  }
  return out;
}

}  // namespace distsim::topology
