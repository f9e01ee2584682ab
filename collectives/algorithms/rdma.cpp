// all_to_all across nodes by RDMA writes that the framework posts itself, as HugeCTR's hybrid embedding does: no NCCL
// kernels, buffers registered once, one write to each peer of a rail into its final place, flags instead of rendezvous.
//   time = set-up + one network hop + (nodes - 1) messages + bytes over the NIC;
// with several GPUs a node what leaves on each rail travels over NVLink first, as in the hierarchical exchange, whose
// set-up and cost of a message these are.
#include "collectives/algorithms/algorithm.hpp"

namespace distsim::collectives {
namespace {

/// Of a NIC's nominal rate: NVIDIA's own input for this exchange on DGX A100 is 190 GB/s a node of eight HDR ports
/// (MLPerf Training v1.1, HybridEmbeddingParam).
constexpr double kRateShare = 0.95;

void add_rdma(graph::CollectiveKind, const Channels& c, std::vector<Candidate>& out) {
  const ModelConstants& k = *c.k;
  const double n = c.ranks, p = c.per_node;
  const double across_us_per_byte = (n - p) / n / (kRateShare * across_gbps(c, topology::Traffic::all_pairs) / p);
  const double inside_us_per_byte = p > 1 ? (p - 1) / p / exchange_link_gbps(c) : 0;
  Candidate x{Protocol::simple, 0, 1 / (across_us_per_byte + inside_us_per_byte)};
  x.latency_us = k.hierarchical_phase * (p > 1 ? 2 : 1) + network_hop_us(c, k.nccl.tree_net[0]) +
                 (c.nodes - 1.0) * k.hierarchical_per_message;
  x.steps = c.nodes;
  x.limit = across_us_per_byte >= inside_us_per_byte ? network_limit(c, topology::Traffic::all_pairs) : inside_limit(c);
  out.push_back(x);
}

}  // namespace

extern constinit const AlgorithmInfo rdma_algorithm =
    checked({.name = "rdma",
             .sentence = "Across nodes along rails, by the framework's own RDMA writes instead of NCCL; used where "
                         "collectives.exchange selects it.",
             .kinds = {graph::CollectiveKind::all_to_all, graph::CollectiveKind::all_to_all_v},
             .traffic = topology::Traffic::all_pairs,
             .exchange = Exchange::rdma,
             .applies = [](const Channels& c) { return c.nodes >= 2; },
             .add = add_rdma});

}  // namespace distsim::collectives
