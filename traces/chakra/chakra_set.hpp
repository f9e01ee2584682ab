// ChakraSet: the traces of all ranks of a job, `<prefix>.<rank>.et`. What ranks have in common is kept once.
#pragma once

#include <algorithm>

#include "base/result.hpp"
#include "traces/chakra/chakra.hpp"

namespace distsim::traces {

struct ChakraRank {
  std::uint32_t graph = 0;       ///< index into ChakraSet::graphs
  std::vector<std::int64_t> ps;  ///< durations by node, where they differ from the graph's own; empty where they do not
};

struct ChakraSet {
  std::vector<ChakraGraph> graphs;  ///< distinct structures
  std::vector<ChakraRank> ranks;
  std::size_t files = 0;        ///< read
  std::size_t same_files = 0;   ///< of them, equal to an earlier one to the byte
  std::uint32_t job_ranks = 0;  ///< ranks of the job where they are more than there are traces; else 0
  bool order_is_known = true;  ///< false: distsim wrote the files together, and what it wrote of their order is missing
  /// Ranks of the job, with a trace or without one.
  std::uint32_t ranks_of_job() const { return std::max(static_cast<std::uint32_t>(ranks.size()), job_ranks); }
  bool has_trace(std::uint32_t rank) const { return rank < ranks.size(); }
  std::int64_t ps_of(std::uint32_t rank, std::uint32_t node) const {
    const ChakraRank& r = ranks[rank];
    return r.ps.empty() ? graphs[r.graph].nodes[node].ps : r.ps[node];
  }
};

/// Files that the words name: files, folders (their .et files), patterns, or a prefix as ASTRA-sim takes it ("dlrm" for
/// dlrm.0.et, dlrm.1.et, ...). In the order of their ranks. Errors: nothing found, two files of one rank, a rank that
/// is missing between others.
Result<std::vector<std::string>> find_chakra_files(const std::vector<std::string>& words);

/// Reads them; file i is rank i. With `copies` > 1 a single file is that many ranks. Errors: a set that is not as its
/// manifest says (chakra_manifest.hpp).
Result<ChakraSet> read_chakra_set(const std::vector<std::string>& files, std::uint32_t copies = 1);

}  // namespace distsim::traces
