// Single ops and collectives.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "experiment.hpp"

namespace distsim::api {

/// An op as a row of a shapes file: docs/op_models.md has the names of ops and of their sizes.
struct OpRequest {
  std::string gpu;    ///< a device, by any of its names
  std::string op;     ///< "linear", "conv2d", "embedding_bag", ...
  std::string dtype;  ///< "fp32", "tf32", "fp16", "bf16", "fp8", ...; empty for an op without
  std::string pass;   ///< "fwd" (also where empty), "bwd", "bwd_data", ...
  std::vector<std::pair<std::string, std::string>> sizes;  ///< {"m", "4096"}
};

struct OpCost {
  double us = 0, low_us = 0, high_us = 0;  ///< mean, and about the 10th and 90th percentile
  std::string basis;                       ///< measured, interpolated, extrapolated, scaled, learned or analytic
  std::string source;                      ///< what the figure comes from; may be empty
  std::string op;                          ///< the op, for people
  std::string device;
  std::string text;                  ///< the line that `distsim cost op` prints
  std::vector<std::string> remarks;  ///< sizes, or a dtype, that were given and that the op is the same without
};

/// Throws ConfigError.
DISTSIM_API OpCost cost_op(const OpRequest& request);

/// A collective over the first `gpus_per_node` GPUs of each of `nodes` nodes.
struct CollectiveRequest {
  std::string system;                   ///< a name of configs/systems, or a file
  std::string kind;                     ///< "all_reduce", "all_gather", "reduce_scatter", "all_to_all", ...
  std::vector<std::string> bytes;       ///< the size column of nccl-tests: "8", "1MiB", "1G"
  std::uint32_t nodes = 1;              ///< 1 to 2^20
  std::uint32_t gpus_per_node = 0;      ///< 0: all
  std::vector<std::string> curves;      ///< measurements to prefer: curve files, nccl-tests logs
  std::vector<std::string> algorithms;  ///< that NCCL may choose, as in NCCL_ALGO
  std::vector<std::string> protocols;   ///< that NCCL may choose, as in NCCL_PROTO
  std::string launch = "mpi";           ///< or "single_process"
  std::string exchange = "grouped";     ///< all_to_all across nodes; or "hierarchical", "rdma"
  std::string all_reduce = "nccl";      ///< or "one_shot"
  bool use_curves = true;               ///< false: the analytic model alone
  bool allow_partial = false;           ///< curve files of a run that did not finish
  bool side_by_side = false;            ///< the other GPUs of the nodes do the same
  bool explain = false;                 ///< how each cost comes about, as comments behind the table
};

struct CollectiveCost {
  std::int64_t bytes = 0;
  double us = 0, low_us = 0, high_us = 0;  ///< 0 where there is an error
  double algbw_GBps = 0,
         busbw_GBps = 0;  ///< bytes / us, and that times nccl-tests' factor: 2(n-1)/n for all_reduce, ...
  std::string basis, source;
  std::string error;  ///< why the size has no cost; empty where it has one
};

struct CollectiveCosts {
  std::vector<CollectiveCost> sizes;
  std::string csv;  ///< what `distsim cost collective` writes
  /// On the files of `curves` and on the system; members of the request that change nothing ("exchange: no effect, the cost is
  /// the same"), and sizes that are no multiple of the ranks.
  std::vector<std::string> remarks;
};

/// Throws ConfigError, also where no size has a cost.
DISTSIM_API CollectiveCosts cost_collective(const CollectiveRequest& request);

}  // namespace distsim::api
