// all_to_all along a rail (one GPU of each node) by RDMA writes that the framework posts itself, as HugeCTR's hybrid embedding does: no NCCL kernels, buffers
// registered once, one write to each peer into its final place, flags instead of rendezvous.
//   time = set-up + one network hop + (nodes - 1) messages + bytes over the NIC
// Set-up and cost of a message are those of the hierarchical exchange.
#include <algorithm>

#include "collectives/algorithms.hpp"

namespace distsim::collectives {
namespace {

/// Of a NIC's nominal rate: NVIDIA's own input for this exchange on DGX A100 is 190 GB/s a node of eight HDR ports (MLPerf Training v1.1,
/// HybridEmbeddingParam).
constexpr double kRateShare = 0.95;

}  // namespace

void add_rdma_writes(CollectiveKind kind, const Channels& c, std::vector<Candidate>& out) {
  const ModelConstants& k = *c.k;
  if (kind != CollectiveKind::all_to_all && kind != CollectiveKind::all_to_all_v) return;
  if (c.nodes < 2 || c.per_node != 1) return;
  const double n = c.ranks;
  Candidate x{Algorithm::rdma_writes, Protocol::simple, 0, kRateShare * c.inter_gbps * n / (n - 1)};
  x.latency_us = k.hierarchical_phase + std::max(0.5, k.nccl.tree_net[0] + c.extra_net_us) + (n - 1) * k.hierarchical_per_message;
  x.limit = "network";
  out.push_back(x);
}

}  // namespace distsim::collectives
