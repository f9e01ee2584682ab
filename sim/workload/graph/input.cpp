#include "sim/workload/graph/input.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace distsim::workload {

namespace {

// The loaders that decode and sample whatever input.overlap says, and those that prepare the next batch with it: queues
// of their own, so that neither waits for the other or for the copy engine.
constexpr graph::Stream kAhead = graph::Stream::loader, kPreparing = graph::Stream::loader.lane(1);

}  // namespace

void add_sampling(Iteration& iteration, const SampleSplit& split, Duration per_sample, bool overlaps) {
  if (per_sample == Duration{}) return;
  std::vector<graph::Op> work;
  for (const std::int64_t size : split.sizes()) work.push_back(graph::HostWork{per_sample * size});
  iteration.add("sampling", {overlaps ? kAhead : graph::Stream::host, graph::Phase::input, {0, 0}}, std::move(work),
                iteration.table_of(split));
}

namespace {

/// Decoding by processes of their own, which nobody launches, ahead of what copies its samples.
std::vector<TaskId> decoded(Iteration& iteration, const SampleSplit& split, std::uint32_t table) {
  const Duration each = iteration.framework().input.decode_per_sample;
  if (each <= Duration{}) return {};
  std::vector<graph::Op> work;
  for (const std::int64_t size : split.sizes()) work.push_back(graph::HostWork{each * size});
  return {iteration.add("input.decode", {kAhead, graph::Phase::input, {0, 0}}, std::move(work), table)};
}

struct Copies {
  std::vector<graph::Op> ops;
  std::uint32_t table = graph::Task::kUniform;
};

Copies copies_of(Iteration& iteration, const SampleSplit& split, double bytes_per_sample, const FixedBytes& fixed) {
  Copies out;
  const auto add = [&](std::int64_t samples, double bytes) {
    out.ops.push_back(
        graph::Copy{graph::CopyKind::h2d, std::llround(bytes_per_sample * static_cast<double>(samples) + bytes)});
  };
  if (fixed.of_set.size() <= 1) {
    for (const std::int64_t size : split.sizes()) add(size, fixed.of_set.empty() ? 0 : fixed.of_set.front());
    out.table = iteration.table_of(split);
    return out;
  }
  std::map<std::pair<std::int64_t, double>, std::uint32_t> known;
  std::vector<std::uint32_t> variant_of_rank;
  for (std::uint32_t r = 0; r < split.ranks; ++r) {
    const auto what = std::pair(split.of(r), fixed.of_set[fixed.set_of_rank[r]]);
    const auto [it, is_new] = known.try_emplace(what, static_cast<std::uint32_t>(known.size()));
    if (is_new) add(what.first, what.second);
    variant_of_rank.push_back(it->second);
  }
  if (out.ops.size() > 1) out.table = iteration.table_of(std::move(variant_of_rank));
  return out;
}

}  // namespace

TaskId add_input(Iteration& iteration, const SampleSplit& split, double bytes_per_sample, const FixedBytes& fixed) {
  const FrameworkSpec& f = iteration.framework();
  const std::uint32_t table = iteration.table_of(split);
  std::vector<TaskId> prepared = decoded(iteration, split, table);
  if (f.input.per_sample > Duration{}) {
    std::vector<graph::Op> work;
    for (const std::int64_t size : split.sizes()) work.push_back(graph::HostWork{f.input.per_sample * size});
    prepared.push_back(iteration.add("input.prepare",
                                     {f.input.overlap ? kPreparing : graph::Stream::host, graph::Phase::input, {0, 0}},
                                     std::move(work), table, prepared));
  }
  if (bytes_per_sample == 0 &&
      std::ranges::all_of(fixed.of_set, [](double bytes) { return bytes == 0; })) {  // the samples are made on the GPU
    if (!prepared.empty() && !f.input.overlap) iteration.compute_waits_for(prepared.back());
    return {};
  }
  Copies copies = copies_of(iteration, split, bytes_per_sample, fixed);
  const TaskId copied = iteration.add("input.copy", {graph::Stream::copy, graph::Phase::input, {1, 1}},
                                      std::move(copies.ops), copies.table, prepared);
  if (f.input.overlap) return {};
  iteration.compute_waits_for(copied);
  return copied;
}

}  // namespace distsim::workload
