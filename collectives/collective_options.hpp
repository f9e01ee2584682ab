// CollectiveOptions: the `collectives` section of an experiment, and the words of its keys.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/config/schema.hpp"
#include "base/text/names/words.hpp"
#include "collectives/algorithms/algorithm.hpp"
#include "topology/devices/cluster_spec.hpp"

namespace distsim::collectives {

/// Who launches collectives: a process per GPU, or one process for all GPUs of a node.
enum class Launch : std::uint8_t { mpi, single_process };

struct CollectiveOptions {
  bool use_curves = true;                ///< false: analytic model only
  std::vector<std::string> curve_files;  ///< extra curves, first in order of trust
  /// Folders configs/curves, the first in order of trust first; set by the loader, not a key.
  std::vector<std::string> curve_dirs;
  Launch launch = Launch::mpi;
  bool cuda_graph = false;
  std::vector<const AlgorithmInfo*> algorithms;  ///< NCCL_ALGO; empty: all
  std::vector<Protocol> protocols;               ///< NCCL_PROTO; empty: all
  Exchange exchange = Exchange::automatic;       ///< automatic: grouped here
  /// Time to launch a collective over what the model and the curves have.
  double launch_scale = 1;
  bool allow_partial = false;                   ///< use curve files of a run that did not end
  Reduction all_reduce = Reduction::automatic;  ///< automatic: NCCL here
  std::string constants;  ///< a file as configs/collectives/nccl.yaml, any part of it; empty: as shipped
  /// The system's file without the keys of the experiment, whose links `curve_files` were measured on; set by the loader, not
  /// a key.
  std::optional<topology::ClusterSpec> described{};
  bool operator==(const CollectiveOptions&) const = default;
};
Schema<CollectiveOptions> collective_schema();

Words<Launch> launch_words();
Words<Exchange> exchange_words();
Words<Reduction> reduction_words();
Words<Protocol> protocol_words();
/// As NCCL_ALGO has them: Ring, Tree, CollnetDirect, ...
Words<const AlgorithmInfo*> nccl_algorithm_words();

/// A line for each algorithm of the registry, for `distsim list collectives`.
struct CollectiveInfo {
  std::string_view name;
  std::string sentence;
};
std::vector<CollectiveInfo> collective_registry();

}  // namespace distsim::collectives
