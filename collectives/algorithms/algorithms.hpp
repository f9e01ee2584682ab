// Algorithms: the ways a collective can be carried out, each as a straight line time = latency + bytes / bandwidth.
//
// NCCL chooses, for every call, the algorithm and protocol with the least predicted time; so does this model. An
// algorithm is one function that appends its candidates for a group; registry.cpp lists them all.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "collectives/algorithms/channels.hpp"
#include "sim/graph/op.hpp"

namespace distsim::collectives {

enum class Algorithm : std::uint8_t {
  ring,
  tree,
  collnet,
  nvls,
  nvls_tree,
  pat,
  exchange,
  hierarchical,
  rdma_writes,
  direct
};
inline constexpr std::size_t kAlgorithmCount = 10;
enum class Protocol : std::uint8_t { ll, ll128, simple };
inline constexpr Protocol kProtocols[] = {Protocol::ll, Protocol::ll128, Protocol::simple};
std::string_view name_of(Algorithm algorithm);
std::string_view name_of(Protocol protocol);

/// One algorithm with one protocol on one group. `bytes` is the size column of nccl-tests.
///   wire(bytes)    = bytes / (1000 * gbps * correction(bytes))
///   time_us(bytes) = latency_us + wire + ramp_us * min(1, (wire / ramp_us)^(3/8)) + min(fill_us, bytes / (1000 *
///   fill_gbps))
/// The last term is the pipeline's fill. latency_us >= 0, gbps > 0, ramp_us >= 0; time grows with bytes by
/// construction.
struct Candidate {
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  double latency_us = 0;
  double gbps = 1;                                     ///< asymptotic algorithm bandwidth, GB/s of the size column
  const std::array<double, 23>* correction = nullptr;  ///< NCCL's tree correction by size, where it applies
  double ramp_us = 0;                                  ///< fill and drain of a long message's pipeline
  double fill_us = 0;                                  ///< the same for a chain through all nodes, reached linearly
  double fill_gbps = 1;
  std::uint32_t steps = 1;   ///< dependent hops of the first byte
  std::string_view limit{};  ///< what bounds gbps, in words
};
double time_us(const Candidate& candidate, double bytes);

using AlgorithmFunction = void (*)(graph::CollectiveKind kind, const Channels& channels, std::vector<Candidate>& out);

void add_ring(graph::CollectiveKind kind, const Channels& channels, std::vector<Candidate>& out);
void add_tree(graph::CollectiveKind kind, const Channels& channels, std::vector<Candidate>& out);
void add_collnet(graph::CollectiveKind kind, const Channels& channels, std::vector<Candidate>& out);
void add_nvls(graph::CollectiveKind kind, const Channels& channels, std::vector<Candidate>& out);
void add_nvls_tree(graph::CollectiveKind kind, const Channels& channels, std::vector<Candidate>& out);
void add_pat(graph::CollectiveKind kind, const Channels& channels, std::vector<Candidate>& out);
void add_exchange(graph::CollectiveKind kind, const Channels& channels, std::vector<Candidate>& out);
void add_hierarchical(graph::CollectiveKind kind, const Channels& channels, std::vector<Candidate>& out);
void add_rdma_writes(graph::CollectiveKind kind, const Channels& channels, std::vector<Candidate>& out);
void add_direct(graph::CollectiveKind kind, const Channels& channels, std::vector<Candidate>& out);

/// What one GPU sends to the others of its node at once in grouped send/recv, GB/s.
double exchange_link_gbps(const Channels& channels);
/// Ramp of rings, trees and NVLS.
double ramp_us(const Channels& channels, Protocol protocol);
/// A network hop as NCCL plans it for one GPU a node, on this network.
double network_hop_us(const Channels& channels, Protocol protocol);
/// LL128 needs NVLink (or a path that keeps 128-byte stores whole) and sm70.
bool allows_ll128(const Channels& channels);

/// All candidates of the registry for this kind on two ranks or more; never empty. A barrier is priced as a small
/// all_reduce, so it has none.
std::vector<Candidate> candidates_for(graph::CollectiveKind kind, const Channels& channels);
struct Choice {
  const Candidate* candidate = nullptr;
  double us = 0;
};
/// The candidate with the least time, and that time; ties go to the first. `candidates` not empty.
Choice fastest(std::span<const Candidate> candidates, double bytes);

}  // namespace distsim::collectives
