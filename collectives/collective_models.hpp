// CollectiveModels: the cost of one collective over one group of ranks. Pure and const.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/config/schema.hpp"
#include "base/result.hpp"
#include "sim/graph/cost.hpp"
#include "sim/graph/op.hpp"
#include "topology/topology.hpp"

namespace distsim::collectives {

/// The `collectives` section of an experiment.
struct CollectiveOptions {
  bool use_curves = true;                ///< false: analytic model only
  std::vector<std::string> curve_files;  ///< extra curves, first in order of trust
  std::vector<std::string>
      curve_dirs;  ///< folders configs/curves, the first in order of trust first; set by the loader, not a key
  std::string launch = "mpi";  ///< mpi (a rank per process) or single_process
  bool cuda_graph = false;
  std::vector<std::string> algorithms;  ///< NCCL_ALGO: Ring, Tree, ...; empty: all
  std::vector<std::string> protocols;   ///< NCCL_PROTO: LL, LL128, Simple; empty: all
  std::string exchange = "auto";  ///< all_to_all: grouped (NCCL send/recv of all pairs) or hierarchical (NVLink, then
                                  ///< rails) or rdma (rails without NCCL); auto: grouped here
  bool allow_partial = false;     ///< use curve files of a run that did not end
  std::string constants;          ///< a file as configs/collectives/nccl.yaml, any part of it; empty: as shipped
  bool operator==(const CollectiveOptions&) const = default;
};
Schema<CollectiveOptions> collective_schema();

class CollectiveModels {
 public:
  /// Loads the curves that belong to the topology's system (ClusterSpec::name) and device. A broken curve file is an
  /// error with its position.
  static Result<CollectiveModels> create(const topology::Topology& topology, const CollectiveOptions& options);

  /// Cost from the moment the last member has arrived until the slowest has finished. `facts` describe the group.
  /// Bytes = 0 and groups of one rank cost nothing beyond a kernel. Errors: negative bytes, send/recv vectors of
  /// another length than the group.
  Result<graph::Cost> price(const graph::Collective& op, const topology::GroupFacts& facts) const;

  /// What a user should know of his curve files, a line each: that they were measured on another device than the system
  /// has.
  const std::vector<std::string>& remarks() const;

  /// Why it costs what it costs, for people: candidates with their times, the chosen one, steps, bottleneck link.
  std::string explain(const graph::Collective& op, const topology::GroupFacts& facts) const;

 private:
  struct Impl;
  explicit CollectiveModels(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

struct CollectiveInfo {
  std::string_view name;
  std::string_view sentence;
};
std::span<const CollectiveInfo> collective_registry();

}  // namespace distsim::collectives
