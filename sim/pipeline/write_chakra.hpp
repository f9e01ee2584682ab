// `distsim predict --write-et PREFIX`: what every rank does as Chakra traces, so that others can play our programs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "sim/graph/costed_graph.hpp"
#include "sim/pipeline/lower.hpp"

namespace distsim::pipeline {

/// Writes PREFIX.<rank>.et for every rank, PREFIX.groups.json with the communicators, and PREFIX.set.json, the manifest,
/// which says that the set is unfinished until all is written. An older set with that prefix stays whole until all of the new
/// one is written; then its files are replaced, and those of a larger one removed. Other traces in its place are an Error, and
/// so is another run that writes to the prefix (PREFIX.set.lock, while it is written). A node is a step of the program, of
/// all iterations played; it waits for the step before it on its stream. An all_to_all_v becomes an ALL_TO_ALL of its largest
/// send buffer. Kernels, gaps and the host's work carry their predicted durations; so do collectives, which players that
/// price them themselves ignore. `ranks`: those from 0 that are written, 0 for all.
/// REQUIRES: check_chakra_size() of them has no error.
Result<void> write_chakra(const std::string& prefix, const graph::CostedGraph& costed, const Lowered& lowered,
                          std::uint32_t ranks = 0);

/// Error: more ranks than 2^20, which are a file each, or, with 0 for all of them, more than 4 GB.
Result<void> check_chakra_size(const graph::CostedGraph& costed, const Lowered& lowered, std::uint32_t ranks);

/// Error: traces at the prefix that a set of so many ranks would stand among, and does not replace.
Result<void> check_chakra_place(const std::string& prefix, std::uint32_t ranks);

/// The files that write_chakra writes of so many ranks, the lock while it does, and those of a larger set that it removes.
std::vector<std::string> files_of_chakra_set(const std::string& prefix, std::uint32_t ranks);

}  // namespace distsim::pipeline
