#include "sim/workload/graph/input.hpp"

#include <cmath>

namespace distsim::workload {

void add_sampling(Iteration& iteration, const SampleSplit& split, Duration per_sample, bool overlaps) {
  if (per_sample == Duration{}) return;
  std::vector<graph::Op> work;
  for (const std::int64_t size : split.sizes()) work.push_back(graph::HostWork{per_sample * size});
  iteration.add("sampling", {overlaps ? graph::Stream::copy : graph::Stream::host, graph::Phase::input, {0, 0}},
                std::move(work), iteration.table_of(split));
}

namespace {

/// Decoding by processes of their own, which nobody launches: on the copy stream, ahead of what copies its samples.
std::vector<TaskId> decoded(Iteration& iteration, const SampleSplit& split, std::uint32_t table) {
  const Duration each = iteration.framework().input.decode_per_sample;
  if (each <= Duration{}) return {};
  std::vector<graph::Op> work;
  for (const std::int64_t size : split.sizes()) work.push_back(graph::HostWork{each * size});
  return {iteration.add("input.decode", {graph::Stream::copy, graph::Phase::input, {0, 0}}, std::move(work), table)};
}

}  // namespace

TaskId add_input(Iteration& iteration, const SampleSplit& split, double bytes_per_sample, double fixed_bytes) {
  const FrameworkSpec& f = iteration.framework();
  const std::uint32_t table = iteration.table_of(split);
  std::vector<TaskId> prepared = decoded(iteration, split, table);
  if (f.input.per_sample > Duration{}) {
    std::vector<graph::Op> work;
    for (const std::int64_t size : split.sizes()) work.push_back(graph::HostWork{f.input.per_sample * size});
    // Loader threads run in parallel to the thread that launches kernels, so overlapped work keeps the copy stream
    // busy, not the host.
    prepared.push_back(iteration.add(
        "input.prepare", {f.input.overlap ? graph::Stream::copy : graph::Stream::host, graph::Phase::input, {0, 0}},
        std::move(work), table, prepared));
  }
  if (bytes_per_sample == 0 && fixed_bytes == 0) {  // the samples are made on the GPU
    if (!prepared.empty() && !f.input.overlap) iteration.compute_waits_for(prepared.back());
    return {};
  }
  std::vector<graph::Op> copies;
  for (const std::int64_t size : split.sizes()) {
    copies.push_back(
        graph::Copy{graph::CopyKind::h2d, std::llround(bytes_per_sample * static_cast<double>(size) + fixed_bytes)});
  }
  const TaskId copied = iteration.add("input.copy", {graph::Stream::copy, graph::Phase::input, {1, 1}},
                                      std::move(copies), table, prepared);
  if (f.input.overlap) return {};
  iteration.compute_waits_for(copied);
  return copied;
}

}  // namespace distsim::workload
