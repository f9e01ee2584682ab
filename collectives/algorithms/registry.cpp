// All algorithms in one array. To add one: a file with its function, a line here.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/check.hpp"
#include "collectives/algorithms/algorithms.hpp"
#include "collectives/collective_models.hpp"

namespace distsim::collectives {

namespace {

struct Entry {
  CollectiveInfo info;
  AlgorithmFunction add;
};

constexpr std::array<Entry, kAlgorithmCount> kAlgorithms{{
    {{"ring", "all_reduce, all_gather, reduce_scatter, broadcast, reduce: chunks circulate in rings over all ranks."},
     add_ring},
    {{"tree",
      "all_reduce (and barrier, an all_reduce of a few bytes): up and down a double binary tree of nodes, with a chain within each node."},
     add_tree},
    {{"collnet", "all_reduce: reduction in the network switches (SHARP)."}, add_collnet},
    {{"nvls", "all_reduce, all_gather, reduce_scatter within a node: NVSwitches reduce and multicast."}, add_nvls},
    {{"nvls_tree", "all_reduce: NVSwitches within nodes, a tree between them."}, add_nvls_tree},
    {{"pat",
      "all_gather, reduce_scatter with one GPU per node: parallel aggregated trees, a logarithmic number of steps."},
     add_pat},
    {{"exchange", "all_to_all, all_to_all_v: grouped send/recv between all pairs, NICs reached over NVLink (PXN)."},
     add_exchange},
    {{"hierarchical",
      "all_to_all, all_to_all_v across nodes in two levels, over NVLink and then along rails; used where collectives.exchange selects it."},
     add_hierarchical},
    {{"rdma_writes",
      "all_to_all, all_to_all_v across nodes, along rails by the framework's own RDMA writes instead of NCCL; used where collectives.exchange is rdma."},
     add_rdma_writes},
    {{"direct", "send_recv, gather, scatter: point-to-point messages to or from one rank."}, add_direct},
}};

}  // namespace

std::vector<Candidate> candidates_for(graph::CollectiveKind kind, const Channels& channels) {
  std::vector<Candidate> out;
  out.reserve(12);
  for (const Entry& entry : kAlgorithms) entry.add(kind, channels, out);
  CHECK(!out.empty()) << "no algorithm for " << graph::name_of(kind);
  return out;
}

namespace {

/// NCCL's correction between the table's powers of two is linear in bytes: no jump at a size, and bytes / correction
/// still grows.
double tree_correction(const std::array<double, 23>& table, double bytes) {
  int exponent = 0;
  const double mantissa = 2 * std::frexp(std::max(bytes, 64.0) / 64.0, &exponent) - 1;  // 0 .. 1 within a factor of two
  const std::size_t i = static_cast<std::size_t>(exponent - 1);
  return i + 1 >= table.size() ? table.back() : table[i] + mantissa * (table[i + 1] - table[i]);
}

/// x^(3/8) by three square roots, which take a fraction of std::pow's time and round alike everywhere.
double three_eighths_power(double x) {
  const double quarter = std::sqrt(std::sqrt(x));
  return quarter * std::sqrt(quarter);
}

}  // namespace

double time_us(const Candidate& c, double bytes) {
  const double wire =
      bytes / (1000.0 * (c.correction != nullptr ? c.gbps * tree_correction(*c.correction, bytes) : c.gbps));
  const double ramp = wire >= c.ramp_us ? c.ramp_us : c.ramp_us * three_eighths_power(wire / c.ramp_us);
  return c.latency_us + wire + ramp + std::min(c.fill_us, bytes / (1000.0 * c.fill_gbps));
}

Choice fastest(std::span<const Candidate> candidates, double bytes) {
  Choice best{nullptr, std::numeric_limits<double>::infinity()};
  for (const Candidate& c : candidates) {
    if (c.latency_us >= best.us) continue;
    if (const double us = time_us(c, bytes); us < best.us) best = {&c, us};
  }
  CHECK(best.candidate != nullptr) << "no finite time for " << bytes << " bytes";
  return best;
}

std::span<const CollectiveInfo> collective_registry() {
  static const auto infos = [] {
    std::array<CollectiveInfo, kAlgorithms.size()> out;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = kAlgorithms[i].info;
    return out;
  }();
  return infos;
}

}  // namespace distsim::collectives
