// The one list of shapes. A new shape: a file of its own, its declaration in shape.hpp, a line here, a word in
// cluster_schema().
#include <array>

#include "topology/shapes/shape.hpp"

namespace distsim::topology {

std::span<const NodeShape> node_shapes() {
  static const std::array shapes = {nvswitch_shape(), hybrid_cube_mesh_shape(), full_mesh_shape(), pcie_shape(),
                                    single_gpu_shape()};
  return shapes;
}

std::span<const FabricShape> fabric_shapes() {
  static const std::array shapes = {fat_tree_shape(), rail_optimized_shape(), single_switch_shape()};
  return shapes;
}

const NodeShape& node_shape(IntraNode kind) {
  for (const NodeShape& s : node_shapes()) {
    if (s.kind == kind) return s;
  }
  CHECK(false) << "node shape missing from the registry: " << static_cast<int>(kind);
  return node_shapes()[0];
}

const FabricShape& fabric_shape(FabricKind kind) {
  for (const FabricShape& s : fabric_shapes()) {
    if (s.kind == kind) return s;
  }
  CHECK(false) << "fabric shape missing from the registry: " << static_cast<int>(kind);
  return fabric_shapes()[0];
}

std::vector<TopologyInfo> topology_registry() {
  std::vector<TopologyInfo> out;
  for (const NodeShape& s : node_shapes()) out.push_back({s.name, s.sentence});
  for (const FabricShape& s : fabric_shapes()) out.push_back({s.name, s.sentence});
  return out;
}

}  // namespace distsim::topology
