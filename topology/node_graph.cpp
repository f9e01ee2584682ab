#include "topology/node_graph.hpp"

namespace distsim::topology {

DeviceId NodeGraph::add(DeviceKind kind, std::uint32_t index) { return add_to_plane(kind, index, devices_.end_id()); }

DeviceId NodeGraph::add_to_plane(DeviceKind kind, std::uint32_t index, DeviceId plane) {
  const DeviceId id = devices_.push_back({kind, index, plane});
  CHECK(plane.value() <= id.value() && devices_[plane].kind == kind);
  links_of_.push_back({});
  const auto k = static_cast<std::size_t>(kind);
  if (by_kind_.size() <= k) by_kind_.resize(k + 1);
  CHECK(by_kind_[k].size() == index) << "devices of a kind must be added in order";
  by_kind_[k].push_back(id);
  return id;
}

void NodeGraph::connect(DeviceId a, DeviceId b, LinkKind kind, std::uint32_t count, BytesPerSecond each,
                        Duration latency) {
  CHECK(a != b && count > 0);
  const LinkId id = links_.push_back({a, b, kind, count, each * count, latency});
  links_of_[a].push_back(id);
  links_of_[b].push_back(id);
}

DeviceId NodeGraph::find(DeviceKind kind, std::uint32_t index) const {
  CHECK(index < count(kind)) << name_of(kind) << " " << index;
  return by_kind_[static_cast<std::size_t>(kind)][index];
}

std::uint32_t NodeGraph::count(DeviceKind kind) const {
  const auto k = static_cast<std::size_t>(kind);
  return k < by_kind_.size() ? static_cast<std::uint32_t>(by_kind_[k].size()) : 0;
}

std::uint32_t NodeGraph::link_count(DeviceId a, DeviceId b, LinkKind kind) const {
  std::uint32_t n = 0;
  for (const LinkId l : links_of_[a]) {
    const NodeLink& link = links_[l];
    if (link.kind == kind && (link.a == b || link.b == b)) n += link.count;
  }
  return n;
}

std::string NodeGraph::dump() const {
  const auto label = [this](DeviceId d) {
    return std::string(name_of(devices_[d].kind)) + " " + std::to_string(devices_[d].index);
  };
  std::string out;
  for (std::size_t k = 0; k < by_kind_.size(); ++k) {
    if (by_kind_[k].empty()) continue;
    out += "  " + std::to_string(by_kind_[k].size()) + " x " + std::string(name_of(static_cast<DeviceKind>(k))) + "\n";
  }
  for (const NodeLink& l : links_) {
    out += "  " + label(l.a) + " - " + label(l.b) + ": " + std::string(name_of(l.kind)) + " x" +
           std::to_string(l.count) + ", " + format_quantity(l.bandwidth.value(), Dimension::bytes_per_second) +
           " per direction, " + format_quantity(l.latency.seconds(), Dimension::seconds) + "\n";
  }
  return out;
}

}  // namespace distsim::topology
