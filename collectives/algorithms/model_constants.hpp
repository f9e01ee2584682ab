// ModelConstants: every figure of the collective model, from configs/collectives/nccl.yaml, which gives unit, meaning
// and source of each.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace distsim::collectives {

using PerProtocol = std::array<double, 3>;    // LL, LL128, Simple
using PerGeneration = std::array<double, 5>;  // Volta, Ampere, Hopper, Blackwell; AMD with RCCL
using PerScale = std::array<double, 3>;       // 1 node, 2 nodes, more
using RateTable = std::array<PerScale, 5>;    // [generation][scale]

/// NCCL's own figures.
struct NcclTuning {
  PerProtocol ring_base, tree_base, ring_nvlink, ring_pci, ring_net, tree_nvlink, tree_pci, tree_net;
  double nvls_intra, nvls_tree_net, collnet_intra, collnet_per_rank, collnet_net;
  double pat_base, pat_net, pat_pipelining, pat_per_rank, pat_share, net_overhead;
  RateTable ll_max, ring_ll128_per_channel, tree_ll128_per_channel, tree_per_channel, nvls_tree_per_channel;
  std::array<std::array<double, 23>, 3> tree_correction;
};

struct ModelConstants {
  NcclTuning nccl;
  PerGeneration link_gbps, nvlink_usable, ring_simple_share, nvls_share, exchange_share, efa_share, efa_hop,
      latency_share, ramp_ll, ramp_bulk, ramp_exchange;
  PerProtocol ramp_hops, fill_per_node, fill_gbps;
  double ring_net_share, tree_simple_share, nvls_half_share, sharp_share, exchange_net_share, exchange_pcie_share,
      send_share, no_gpu_direct_share, pcie_ring_share;
  double reference_net, reference_nvlink, reference_pcie, tcp_hop, pipelined_base_share;
  double exchange_base, exchange_per_peer, exchange_per_net_peer, exchange_simple, send_base, gather_per_peer;
  double hierarchical_phase, hierarchical_per_message, host_per_gpu, host_per_pair;
};

/// A key of the file and where its figures go; lists of lists are flat here.
struct ConstantField {
  std::string_view key;
  std::span<double> values;
};
std::vector<ConstantField> fields_of(ModelConstants& constants);

/// Reads constants over `base`. Errors with file:line:col: another version, unknown keys (nearest spelling), lists of
/// another length, figures that are negative, not finite or above 1e6, rates without an alternative below 1e-3.
/// With `complete`, a key that is missing.
Result<ModelConstants> read_constants(std::string_view text, const std::string& file, const ModelConstants& base,
                                      bool complete);

/// Where launching a collective takes `scale` times as long (>= 0; 1 changes nothing): the bases of all algorithms, from
/// the launch of the kernel and the waking of the proxy thread to the first byte, and the host's own time. What NCCL
/// states as one figure for NVLS and SHARP contains a base as that of a ring with Simple.
ModelConstants with_launch_scaled(const ModelConstants& constants, double scale);

/// Those of configs/collectives/nccl.yaml as it was when distsim was built.
const ModelConstants& shipped_constants();

}  // namespace distsim::collectives
