// all_reduce of a framework's own, as HugeCTR's one-shot algorithm (AllReduceAlgo::ONESHOT): one kernel, without NCCL.
//
//   one node      every GPU reads its share of all others' buffers over NVLink, adds up, and writes the sum to all of
//                 them: 2 (p - 1)/p bytes over each link and direction, two synchronisations by flags in peers' memory
//   several nodes between reading and writing, each GPU's share is summed over the nodes on its own rail: a proxy thread
//                 posts it from GPU memory to the NIC (GPUDirect), the switches add (SHARP). The buffer travels in blocks,
//                 so that links and NICs work at the same time; the first block's way over NVLink is not hidden
//   time = kernel + flags + up and down the network + bytes / slowest of NVLink and NICs + 1/8 of the bytes over NVLink
//
// Sources: HugeCTR (Apache-2.0), HugeCTR/include/collectives/all_reduce_comm.hpp and ib_comm (AR_NBLOCKS 8; the sharp_coll
// calls of its proxy). Kernel and message costs are those of the hierarchical exchange, latencies NCCL's per hop, without
// its set-up. Estimates: no run that times this collective alone is public.
#include <algorithm>

#include "collectives/algorithms/algorithm.hpp"

namespace distsim::collectives {

namespace {

constexpr double kBlocks = 8;  // that the buffer travels in

bool node_alone(const Channels& c) { return c.nodes == 1; }

/// Between two flags: one hop over NVLink.
double flag_us(const Channels& c) { return c.per_node > 1 ? c.k->nccl.tree_nvlink[0] + c.extra_intra_us : 0; }

void add_one_shot(graph::CollectiveKind, const Channels& c, std::vector<Candidate>& out) {
  const ModelConstants& k = *c.k;
  const double p = c.per_node;
  const double inside_us_per_byte = p > 1 ? 2 * (p - 1) / p / exchange_link_gbps(c) : 0;
  const double across_us_per_byte = node_alone(c) ? 0 : 1 / (k.sharp_share * across_gbps(c, topology::Traffic::ring));
  const double first_block = node_alone(c) ? 0 : inside_us_per_byte / kBlocks;
  Candidate x{Protocol::simple, k.hierarchical_phase + 2 * flag_us(c),
              1 / (std::max(inside_us_per_byte, across_us_per_byte) + first_block)};
  if (!node_alone(c)) x.latency_us += 2 * network_hop_us(c, k.nccl.tree_net[0]) + k.hierarchical_per_message;
  x.steps = node_alone(c) ? 2 : 4;
  x.limit = across_us_per_byte > inside_us_per_byte ? network_limit(c, topology::Traffic::ring) : inside_limit(c);
  out.push_back(x);
}

}  // namespace

extern constinit const AlgorithmInfo one_shot_algorithm = checked(
    {.name = "one_shot",
     .sentence = "The framework's own kernel over NVLink, with SHARP across nodes; used where "
                 "collectives.all_reduce selects it.",
     .kinds = {graph::CollectiveKind::all_reduce},
     .reduction = Reduction::one_shot,
     .applies = [](const Channels& c) { return c.nvlink && (node_alone(c) ? c.full_mesh : c.sharp && c.gpu_direct); },
     .add = add_one_shot});

}  // namespace distsim::collectives
