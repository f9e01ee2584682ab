// NVSwitch star. Every GPU spreads its links evenly over all switches of its board and stripes its traffic over them,
// so the switches of a board are one plane. DGX-2 has two boards: each switch of one board is trunked to its twin on
// the other with one link per GPU of a board, which blocks nothing.
//
// Per GPU: links_per_gpu x bandwidth_per_link, to any set of peers. Bisection: half the GPUs x that.
// Sources: NVIDIA DGX-2, DGX A100, DGX H100, GB200 NVL72 architecture documents.
#include "topology/shapes/shape.hpp"

namespace distsim::topology {
namespace {

/// Two boards where there are twice as many switches as a GPU has links.
bool two_boards(const GpuLinks& l) { return l.switches == 2 * l.links_per_gpu; }

Result<void> check(const ClusterSpec& spec) {
  const GpuLinks& l = spec.gpu_links;
  if (l.switches < 1) return cluster_error("gpu_links.switches", "0", "at least 1 for nvswitch");
  if (l.switches > l.links_per_gpu && !two_boards(l)) {
    return cluster_error("gpu_links.switches", std::to_string(l.switches),
                         "at most links_per_gpu (" + std::to_string(l.links_per_gpu) +
                             "), or exactly twice as many for a node of two boards");
  }
  if (two_boards(l) && (spec.gpus_per_node % 2 != 0 || l.domain_nodes > 1)) {
    return cluster_error("gpus_per_node", std::to_string(spec.gpus_per_node),
                         "an even number in a single node for two boards of NVSwitches");
  }
  return {};
}

Duration half(Duration d) { return Duration::picoseconds(d.ps() / 2); }

/// GPU g's link k goes to switch k modulo the switches of its board.
void connect_gpu(const GpuLinks& l, NodeGraph& graph, std::uint32_t gpu, std::uint32_t first_switch,
                 std::uint32_t board_switches) {
  for (std::uint32_t s = 0; s < board_switches; ++s) {
    const auto links = static_cast<std::uint32_t>((l.links_per_gpu + board_switches - 1 - s) / board_switches);
    if (links == 0) continue;
    graph.connect(graph.find(DeviceKind::gpu, gpu), graph.find(DeviceKind::nvswitch, first_switch + s),
                  LinkKind::nvlink, links, l.bandwidth_per_link, half(l.latency));
  }
}

void connect(const ClusterSpec& spec, NodeGraph& graph) {
  const GpuLinks& l = spec.gpu_links;
  const std::uint32_t boards = two_boards(l) ? 2 : 1;
  const auto board_switches = static_cast<std::uint32_t>(l.switches) / boards;
  const auto board_gpus = static_cast<std::uint32_t>(spec.gpus_per_node) / boards;
  for (std::uint32_t b = 0; b < boards; ++b) {
    const DeviceId plane = graph.devices().end_id();
    for (std::uint32_t s = 0; s < board_switches; ++s)
      graph.add_to_plane(DeviceKind::nvswitch, b * board_switches + s, plane);
    for (std::uint32_t g = 0; g < board_gpus; ++g)
      connect_gpu(l, graph, b * board_gpus + g, b * board_switches, board_switches);
  }
  for (std::uint32_t s = 0; boards == 2 && s < board_switches; ++s) {
    graph.connect(graph.find(DeviceKind::nvswitch, s), graph.find(DeviceKind::nvswitch, board_switches + s),
                  LinkKind::nvlink, board_gpus, l.bandwidth_per_link, half(l.latency));
  }
}

IntraFacts facts(const ClusterSpec& spec, const NodeGraph&, std::span<const std::uint32_t> locals) {
  const GpuLinks& l = spec.gpu_links;
  const BytesPerSecond rate = l.bandwidth_per_link * static_cast<double>(l.links_per_gpu);
  const auto board_gpus = static_cast<std::uint32_t>(spec.gpus_per_node / 2);
  const bool across = two_boards(l) && locals.front() < board_gpus && locals.back() >= board_gpus;
  return {&nvswitch_shape, rate, rate, across ? l.latency + half(l.latency) : l.latency};
}

BytesPerSecond bisection(const ClusterSpec& spec, const NodeGraph&) {
  const GpuLinks& l = spec.gpu_links;
  const std::int64_t gpus = spec.gpus_per_node * l.domain_nodes;
  return l.bandwidth_per_link * static_cast<double>(l.links_per_gpu * (gpus / 2));
}

}  // namespace

extern constinit const NodeShape nvswitch_shape =
    checked(NodeShape{.name = "nvswitch",
                      .sentence = "Every GPU reaches every other one through all NVSwitches at its full NVLink rate.",
                      .nvlink = true,
                      .switched = true,
                      .check = check,
                      .connect = connect,
                      .degree = [](const ClusterSpec& s, std::uint32_t) { return s.gpu_links.links_per_gpu; },
                      .facts = facts,
                      .bisection = bisection});

}  // namespace distsim::topology
