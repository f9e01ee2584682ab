// The list of shapes. To add one: a file that defines it (shape.hpp says how), and its line here.
#include <array>

#include "topology/shapes/shape.hpp"

#define NODE_SHAPES(SHAPE) \
  SHAPE(nvswitch)          \
  SHAPE(hybrid_cube_mesh)  \
  SHAPE(full_mesh)         \
  SHAPE(pcie)              \
  SHAPE(none)

#define FABRIC_SHAPES(SHAPE) \
  SHAPE(fat_tree)            \
  SHAPE(rail_optimized)      \
  SHAPE(dragonfly)           \
  SHAPE(single_switch)

namespace distsim::topology {

#define DECLARE_NODE(name) extern const NodeShape name##_shape;
#define DECLARE_FABRIC(name) extern const FabricShape name##_shape;
NODE_SHAPES(DECLARE_NODE)
FABRIC_SHAPES(DECLARE_FABRIC)

namespace {

#define ENTRY(name) &name##_shape,
constexpr std::array kNodeShapes{NODE_SHAPES(ENTRY)};
constexpr std::array kFabricShapes{FABRIC_SHAPES(ENTRY)};

template <class Shapes>
constexpr bool distinct(const Shapes& shapes) {
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    for (std::size_t j = i + 1; j < shapes.size(); ++j) {
      if (shapes[i] == shapes[j]) return false;
    }
  }
  return true;
}
static_assert(distinct(kNodeShapes) && distinct(kFabricShapes), "a shape is listed twice");
static_assert(kNodeShapes.front() == &nvswitch_shape && kFabricShapes.front() == &fat_tree_shape,
              "the first entries are the defaults of the configuration");

}  // namespace

std::span<const NodeShape* const> node_shapes() { return kNodeShapes; }
std::span<const FabricShape* const> fabric_shapes() { return kFabricShapes; }

std::vector<TopologyInfo> topology_registry() {
  std::vector<TopologyInfo> out;
  for (const NodeShape* s : node_shapes()) out.push_back({s->name, s->sentence});
  for (const FabricShape* s : fabric_shapes()) out.push_back({s->name, s->sentence});
  return out;
}

}  // namespace distsim::topology
