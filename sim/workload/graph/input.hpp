// The input of a micro-step: preparing it on the host, copying it to the device.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/workload/graph/iteration.hpp"

namespace distsim::workload {

/// Host work that finds what each sample consists of (neighbours in a graph), before its input: by the thread that
/// launches kernels, or where it `overlaps` by others, an iteration ahead. Nothing where `per_sample` is none.
void add_sampling(Iteration& iteration, const SampleSplit& split, Duration per_sample, bool overlaps);

/// Bytes that a rank copies whatever its samples: of_set[set_of_rank[r]]. With one set all ranks copy as many; none: 0.
struct FixedBytes {
  std::vector<double> of_set;
  std::vector<std::uint32_t> set_of_rank;
};

/// The node's cores decode samples ahead (input.decode_rate). Each rank prepares its samples (input.per_sample on the
/// host) and copies bytes_per_sample x samples + its fixed bytes
/// to its device. With input.overlap this is the next batch, prepared and copied during the iteration, and nothing waits
/// for it; else compute waits. Returns what a collective over the input must wait for, an invalid id where that is
/// nothing.
TaskId add_input(Iteration& iteration, const SampleSplit& split, double bytes_per_sample, const FixedBytes& fixed = {});

}  // namespace distsim::workload
