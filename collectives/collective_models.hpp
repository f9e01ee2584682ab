// CollectiveModels: the cost of one collective over one group of ranks. Pure and const.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "collectives/collective_options.hpp"
#include "sim/graph/cost.hpp"
#include "sim/graph/op.hpp"
#include "topology/topology.hpp"

namespace distsim::collectives {

/// As what a kind is priced: a barrier as NCCL's, a small all_reduce; an uneven exchange as an even one.
graph::CollectiveKind kind_priced(graph::CollectiveKind kind);

class CollectiveModels {
 public:
  /// Loads the curves that belong to the topology's system (ClusterSpec::name) and device. A broken curve file is an
  /// error with its position. `like`: models that may be of the same system with other links; then files are not read
  /// again, and what is known of the system as it was measured is shared.
  static Result<CollectiveModels> create(const topology::Topology& topology, const CollectiveOptions& options,
                                         const CollectiveModels* like = nullptr);

  /// Cost from the moment the last member has arrived until the slowest has finished. `facts` describe the group.
  /// Bytes = 0 and groups of one rank cost nothing beyond a kernel. Errors: negative bytes, send/recv vectors of
  /// another length than the group.
  Result<graph::Cost> price(const graph::Collective& op, const topology::GroupFacts& facts) const;

  /// The same where parts of the group's links are slow or taken: `facts` describe it as it is, `sound` when all of it
  /// works. Curves are carried as they are for `sound`, so that the ratio of both prices is that of the links alone.
  Result<graph::Cost> price_degraded(const graph::Collective& op, const topology::GroupFacts& facts,
                                     const topology::GroupFacts& sound) const;

  /// What a user should know of his curve files, a line each: that they were measured on another device or system,
  /// which nodes were assumed, which rows were left out.
  const std::vector<std::string>& remarks() const;

  /// Why it costs what it costs, for people: candidates with their times, the chosen one, steps, bottleneck link.
  std::string explain(const graph::Collective& op, const topology::GroupFacts& facts) const;

 private:
  struct Known;
  struct Impl;
  static Result<std::shared_ptr<const Known>> known_of(const topology::Topology& topology,
                                                       const CollectiveOptions& options);
  explicit CollectiveModels(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

}  // namespace distsim::collectives
