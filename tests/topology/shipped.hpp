// The systems and devices that ship, read as the product reads them.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/config/config_node.hpp"
#include "test_paths.hpp"
#include "topology/devices/cluster_spec.hpp"
#include "topology/devices/device_spec.hpp"
#include "topology/topology.hpp"

namespace distsim::topology {

/// Names of the .yaml files of a folder of configs/, sorted.
inline std::vector<std::string> shipped(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(test::config(folder))) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

inline Result<ClusterSpec> read_system(const std::string& name) {
  TRY_ASSIGN(const ConfigNode node, parse_yaml_file(test::config("systems/" + name + ".yaml")));
  return cluster_schema().read(node);
}

inline Result<DeviceSpec> read_device(const std::string& name) {
  TRY_ASSIGN(const ConfigNode node, parse_yaml_file(test::config("devices/" + name + ".yaml")));
  return device_schema().read(node);
}

inline Topology build_system(const std::string& name, std::int64_t nodes) {
  ClusterSpec spec = read_system(name).value();
  spec.nodes = nodes;
  return Topology::build(spec, read_device(spec.device).value().compute_capability).value();
}

/// All GPUs of the first nodes of a cluster.
inline std::vector<std::uint32_t> all_ranks(const Topology& t) {
  std::vector<std::uint32_t> ranks(t.ranks());
  for (std::uint32_t r = 0; r < t.ranks(); ++r) ranks[r] = r;
  return ranks;
}

}  // namespace distsim::topology
