// SharedLinks: what collectives share (each GPU's links inside its node, NICs, uplinks of leaves and pods), and how
// much of it a collective takes.
//
// Bytes that one member of a group of n sends, S the collective's size (sim/graph/op.hpp):
//   ring kinds     f S from each member to the next: f = 2(n-1)/n (all_reduce), (n-1)/n (all_gather, reduce_scatter),
//                  1 (broadcast, reduce). A node sends f S in total, in equal parts over the NICs of its members. Of
//                  the nodes under a leaf one sends to other leaves, and so for pods.
//   all_to_all     S/n to each other member: NVLink inside the node, NIC to other nodes, uplinks to other leaves, pods
//   send_recv      S to the next member: NVLink inside the node, else NIC, and uplinks to another leaf or pod
//   all_to_all_v   the larger of what it sends and receives, spread evenly over the others
// Nodes of one NVLink domain count as one node.
// Rates are these bytes over the collective's own duration, so that a collective bound by latency or protocol takes
// little. They are capped so that a single collective on sound hardware is never slowed: its price is what it can do.
// Where a link is slower, the rates on it are set so that a single collective takes what it would take if all its links of
// that kind were: slowdown x what the link has left, be that more than its bytes need (a collective does not reach a link's
// full rate, slow or not) or less (its latency does not grow).
#pragma once

#include <functional>
#include <vector>

#include "base/result.hpp"
#include "sim/config/engine_spec.hpp"
#include "sim/engine/events/contended_evaluator.hpp"
#include "sim/graph/op.hpp"
#include "sim/pipeline/contention/slower_links.hpp"
#include "topology/shapes/fabric.hpp"
#include "topology/topology.hpp"

namespace distsim::pipeline {

/// What a resource is.
enum class LinkLevel : std::uint8_t { gpu, nic, leaf, pod };

/// `node`: of gpu and nic. `index`: of the GPU or NIC in its node, of the leaf, of the pod.
struct LinkPlace {
  LinkLevel level = LinkLevel::gpu;
  std::uint32_t node = 0, index = 0;
};

class SharedLinks {
 public:
  /// Errors: a NIC that is not there, a node without a working NIC.
  static Result<SharedLinks> create(const topology::Topology& topology, const config::EngineSpec& spec);

  /// Bytes/s by resource, degraded.
  const std::vector<double>& capacities() const { return capacities_; }
  /// "NIC 3 of node 12", "uplinks of leaf 2", ...
  std::string name_of(std::uint32_t resource) const;
  LinkPlace place_of(std::uint32_t resource) const;
  const topology::Fabric& fabric() const { return fabric_; }
  std::uint32_t jobs() const { return jobs_; }
  std::uint32_t nics_per_node() const { return nics_; }
  std::uint32_t nodes() const { return nodes_; }  ///< of all jobs

  /// Adds to `out`, by resource, the bytes that one call of `op` by all groups moves over it, without the cap of demands().
  void add_bytes(const graph::Collective& op, const std::vector<std::vector<std::uint32_t>>& groups, std::uint32_t job,
                 std::vector<double>& out) const;

  /// What every rank of `job` takes while all groups of a partition run `op` for `seconds`: by rank. `group_of` lists
  /// the ranks of each group. `slowdown`: of the collective on slower links.
  using Slowdown = std::function<Result<double>(const LinksLeft&)>;
  Result<std::vector<std::vector<engine::Contention::Demand>>> demands(
      const graph::Collective& op, const std::vector<std::vector<std::uint32_t>>& groups, double seconds,
      std::uint32_t job, const Slowdown& slowdown) const;

 private:
  SharedLinks(const topology::Topology& topology, const config::EngineSpec& spec);
  std::uint32_t node(std::uint32_t rank, std::uint32_t job) const { return rank / gpus_ * jobs_ + job; }
  std::uint32_t nic_of(std::uint32_t rank) const;
  std::uint32_t gpu_resource(std::uint32_t rank, std::uint32_t job) const {
    return node(rank, job) * gpus_ + rank % gpus_;
  }
  std::uint32_t nic_resource(std::uint32_t node, std::uint32_t nic) const { return first_nic_ + node * nics_ + nic; }
  struct Place;
  Place group_place(std::uint32_t rank, std::uint32_t job) const;
  void add_nic(std::vector<engine::Contention::Demand>& out, std::uint32_t node, std::uint32_t nic, double rate) const;
  void of_group(const graph::Collective& op, const std::vector<std::uint32_t>& members, double seconds,
                std::uint32_t job, std::vector<std::vector<engine::Contention::Demand>>& out) const;
  std::vector<double> totals(const std::vector<std::vector<engine::Contention::Demand>>& of_rank) const;
  LinksLeft left_of(std::uint32_t resource) const;
  Result<void> fit_to_slower(std::vector<std::vector<engine::Contention::Demand>>& of_rank,
                             const Slowdown& slowdown) const;
  void cap(std::vector<std::vector<engine::Contention::Demand>>& of_rank) const;

  std::uint32_t ranks_ = 0, gpus_ = 1, nics_ = 0, nodes_ = 0, jobs_ = 1;
  topology::NvlinkDomains domains_;  ///< of one job
  std::uint32_t first_nic_ = 0, first_leaf_ = 0, first_pod_ = 0;
  topology::Fabric fabric_;
  std::vector<double> capacities_, sound_;  ///< by resource: as they are, and as they should be
  std::vector<bool> broken_;                ///< by node and NIC
};

}  // namespace distsim::pipeline
