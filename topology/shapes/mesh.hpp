// Facts of GPUs joined by NVLinks without a switch.
#pragma once

#include "topology/shapes/rings.hpp"
#include "topology/shapes/shape.hpp"

namespace distsim::topology {

/// NVLinks among some GPUs of a node.
LinkMatrix nvlinks_among(const NodeGraph& graph, std::span<const std::uint32_t> locals);

/// By ring search; GPUs that NVLinks do not connect talk over PCIe.
IntraFacts cube_mesh_facts(const ClusterSpec& spec, const NodeGraph& graph, std::span<const std::uint32_t> locals);

/// Sum of the NVLinks between the first half of the GPUs and the rest.
BytesPerSecond mesh_bisection(const ClusterSpec& spec, const NodeGraph& graph);

}  // namespace distsim::topology
