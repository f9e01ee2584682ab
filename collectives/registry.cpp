// All algorithms in one array. To add one: a file with its function, a line here.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.hpp"
#include "collectives/algorithms.hpp"
#include "collectives/collective_models.hpp"
#include "collectives/nccl_constants.hpp"

namespace distsim {

namespace collectives {

namespace {

struct Entry {
  CollectiveInfo info;
  AlgorithmFunction add;
};

constexpr std::array<Entry, 7> kAlgorithms{{
    {{"ring", "all_reduce, all_gather, reduce_scatter, broadcast, reduce: chunks travel around rings over all ranks."}, add_ring},
    {{"tree", "all_reduce (and barrier, which is one of a few bytes): up and down a double binary tree of nodes with a chain inside each node."}, add_tree},
    {{"collnet", "all_reduce: the network's switches reduce (SHARP)."}, add_collnet},
    {{"nvls", "all_reduce, all_gather, reduce_scatter inside a node: NVSwitches reduce and multicast."}, add_nvls},
    {{"nvls_tree", "all_reduce: NVSwitches inside the nodes, a tree between them."}, add_nvls_tree},
    {{"exchange", "all_to_all, all_to_all_v: grouped send/recv of every pair, NICs reached over NVLink (PXN)."}, add_exchange},
    {{"direct", "send_recv, gather, scatter: point-to-point messages to or from one rank."}, add_direct},
}};

}  // namespace

std::vector<Candidate> candidates_for(CollectiveKind kind, const Channels& channels) {
  std::vector<Candidate> out;
  out.reserve(12);
  for (const Entry& entry : kAlgorithms) entry.add(kind, channels, out);
  CHECK(!out.empty()) << "no algorithm for " << name_of(kind);
  return out;
}

double time_us(const Candidate& c, double bytes) {
  double gbps = c.gbps;
  if (c.tree_corrected) {  // between the table's powers of two, linear in the exponent: no jump at a size
    const auto& table = kTreeCorrection[static_cast<std::size_t>(c.protocol)];
    const double x = std::clamp(std::log2(std::max(bytes, 64.0) / 64.0), 0.0, static_cast<double>(table.size() - 1));
    const std::size_t i = std::min(static_cast<std::size_t>(x), table.size() - 2);
    gbps *= table[i] + (x - static_cast<double>(i)) * (table[i + 1] - table[i]);
  }
  const double wire = bytes / (1000.0 * gbps);
  const double ramp = wire >= c.ramp_us ? c.ramp_us : c.ramp_us * std::pow(wire / c.ramp_us, kRampPower);
  return c.latency_us + wire + ramp;
}

const Candidate& fastest(std::span<const Candidate> candidates, double bytes) {
  return *std::min_element(candidates.begin(), candidates.end(),
                           [&](const Candidate& a, const Candidate& b) { return time_us(a, bytes) < time_us(b, bytes); });
}

}  // namespace collectives

std::span<const CollectiveInfo> collective_registry() {
  static const auto infos = [] {
    std::array<CollectiveInfo, collectives::kAlgorithms.size()> out;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = collectives::kAlgorithms[i].info;
    return out;
  }();
  return infos;
}

}  // namespace distsim
