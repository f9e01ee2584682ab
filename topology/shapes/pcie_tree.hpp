// The PCIe tree of a node: GPUs and NICs behind switches (or directly on root ports), switches on CPU sockets, sockets
// joined to each other.
#pragma once

#include <span>
#include <vector>

#include "topology/shapes/shape.hpp"

namespace distsim::topology {

/// What is attached where. A slot is a PCIe switch, or a root port where gpus_per_switch is 1. Slots and NICs are
/// spread evenly and in order: with 8 GPUs in pairs, 2 sockets and 4 NICs, socket 0 has GPUs 0-3 and NICs 0-1, and NIC
/// 0 sits near GPUs 0 and 1.
class PcieLayout {
 public:
  explicit PcieLayout(const ClusterSpec& spec);
  bool has_switches() const { return per_slot_ > 1; }
  std::uint32_t slots() const { return slots_; }
  std::uint32_t slot_of_gpu(std::uint32_t gpu) const { return gpu / per_slot_; }
  std::uint32_t slot_of_nic(std::uint32_t nic) const { return spread(nic, nics_, slots_); }
  std::uint32_t socket_of_slot(std::uint32_t slot) const { return spread(slot, slots_, sockets_); }

  /// NICs that a GPU uses: the nearest ones, dealt out evenly among the GPUs that are nearest to the same NICs.
  std::vector<std::vector<std::uint32_t>> nics_of_gpus() const;

 private:
  static std::uint32_t spread(std::uint32_t i, std::uint32_t n, std::uint32_t over) {
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(i) * over / n);
  }
  std::vector<std::uint32_t> nearest_nics(std::uint32_t gpu) const;
  std::uint32_t gpus_, nics_, per_slot_, slots_, sockets_;
};

/// Adds CPU sockets, switches, NICs and the links between them; the GPUs are there already.
void add_pcie_tree(const ClusterSpec& spec, NodeGraph& graph);

/// Facts of GPUs that talk over the tree: uniform traffic of all of them at once for `bandwidth`, one ring for `ring`.
IntraFacts pcie_facts(const ClusterSpec& spec, std::span<const std::uint32_t> locals);

}  // namespace distsim::topology
