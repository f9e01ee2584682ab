#include <algorithm>

#include "collectives/algorithms/algorithms.hpp"

namespace distsim::collectives {

std::string_view name_of(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::ring:
      return "ring";
    case Algorithm::tree:
      return "tree";
    case Algorithm::collnet:
      return "collnet";
    case Algorithm::nvls:
      return "nvls";
    case Algorithm::nvls_tree:
      return "nvls_tree";
    case Algorithm::pat:
      return "pat";
    case Algorithm::exchange:
      return "exchange";
    case Algorithm::hierarchical:
      return "hierarchical";
    case Algorithm::rdma_writes:
      return "rdma_writes";
    case Algorithm::direct:
      return "direct";
  }
  return "?";
}

std::string_view name_of(Protocol protocol) {
  switch (protocol) {
    case Protocol::ll:
      return "LL";
    case Protocol::ll128:
      return "LL128";
    case Protocol::simple:
      return "Simple";
  }
  return "?";
}

double network_hop_us(const Channels& c, Protocol protocol) {
  return std::max(0.5, c.k->nccl.tree_net[static_cast<std::size_t>(protocol)] + c.extra_net_us);
}

double ramp_us(const Channels& c, Protocol protocol) {
  const ModelConstants& k = *c.k;
  const auto g = static_cast<std::size_t>(c.generation);
  const double inside = (protocol == Protocol::ll ? k.ramp_ll : k.ramp_bulk)[g] * (c.nvlink || c.nodes > 1 ? 1.0 : 0.0);
  return inside + (c.nodes > 1 ? k.ramp_hops[static_cast<std::size_t>(protocol)] * network_hop_us(c, protocol) : 0.0);
}

bool allows_ll128(const Channels& c) { return (c.nvlink || c.per_node == 1) && c.gpu_direct; }

}  // namespace distsim::collectives
