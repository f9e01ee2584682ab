// The fabrics: which leaf switch each port of a node is plugged into.
#include <algorithm>

#include "topology/shapes/shape.hpp"

namespace distsim::topology {
namespace {

std::uint32_t u32(std::int64_t v) { return static_cast<std::uint32_t>(v); }
std::int64_t ports(const ClusterSpec& s) { return std::max<std::int64_t>(s.nic.count, 1); }

}  // namespace

extern constinit const FabricShape fat_tree_shape = checked(
    FabricShape{.name = "fat_tree",
                .sentence = "All ports of a node on one leaf, leaves under spines, pods of leaves under a core.",
                .leaf_of = [](const ClusterSpec& s, std::uint32_t node,
                              std::uint32_t) { return node / u32(s.fabric.nodes_per_leaf); },
                .leaves_per_pod = [](const ClusterSpec& s) { return u32(s.fabric.leaves_per_pod); },
                .ports_per_leaf = [](const ClusterSpec& s) { return u32(s.fabric.nodes_per_leaf * ports(s)); }});

extern constinit const FabricShape rail_optimized_shape = checked(FabricShape{
    .name = "rail_optimized",
    .sentence =
        "Port k of every node of a group on the group's leaf k, so that GPUs with the same local index share a switch.",
    .rails = true,
    .leaf_of = [](const ClusterSpec& s, std::uint32_t node,
                  std::uint32_t nic) { return node / u32(s.fabric.nodes_per_leaf) * u32(ports(s)) + nic; },
    .leaves_per_pod = [](const ClusterSpec& s) { return u32(s.fabric.leaves_per_pod * ports(s)); },
    .ports_per_leaf = [](const ClusterSpec& s) { return u32(s.fabric.nodes_per_leaf); }});

extern constinit const FabricShape dragonfly_shape = checked(
    FabricShape{.name = "dragonfly",
                .sentence = "All ports of a node on one router, routers joined directly within a group, groups joined "
                            "directly by global links.",
                .direct = true,
                .leaf_of = [](const ClusterSpec& s, std::uint32_t node,
                              std::uint32_t) { return node / u32(s.fabric.nodes_per_leaf); },
                .leaves_per_pod = [](const ClusterSpec& s) { return u32(s.fabric.leaves_per_pod); },
                .ports_per_leaf = [](const ClusterSpec& s) { return u32(s.fabric.nodes_per_leaf * ports(s)); }});

extern constinit const FabricShape single_switch_shape = checked(FabricShape{
    .name = "single_switch",
    .sentence = "All ports of all nodes on one non-blocking switch.",
    .uplinks = false,
    .leaf_of = [](const ClusterSpec&, std::uint32_t, std::uint32_t) { return 0u; },
    .leaves_per_pod = [](const ClusterSpec&) { return 1u; },
    .ports_per_leaf =
        [](const ClusterSpec& s) { return u32(std::min<std::int64_t>(s.nodes * ports(s), 0xFFFFFFFFll)); }});

}  // namespace distsim::topology
