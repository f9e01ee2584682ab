#include "sim/workload/graph/exchange.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

namespace distsim::workload {
namespace {

/// bytes[size][set]: what `sizes[size]` samples exchange with one rank that holds `set`.
struct PairBytes {
  std::vector<std::int64_t> sizes;
  std::vector<std::vector<std::int64_t>> bytes;
};

template <class BytesPerSample>
PairBytes pair_bytes(const Placement& placement, const SampleSplit& split, BytesPerSample per_sample) {
  PairBytes out{split.sizes(), {}};
  for (const std::int64_t size : out.sizes) {
    auto& row = out.bytes.emplace_back();
    for (const ShardSet& set : placement.sets) row.push_back(std::llround(static_cast<double>(size) * per_sample(set)));
  }
  return out;
}

std::vector<std::int64_t> ranks_with_set(const Placement& placement) {
  std::vector<std::int64_t> count(placement.sets.size(), 0);
  for (const std::uint32_t set : placement.set_of_rank) ++count[set];
  return count;
}

/// What a rank with samples of that size exchanges with all owners, itself included.
std::int64_t with_all_owners(const std::vector<std::int64_t>& row, const std::vector<std::int64_t>& ranks_with) {
  std::int64_t sum = 0;
  for (std::size_t set = 0; set < row.size(); ++set) sum += row[set] * ranks_with[set];
  return sum;
}

/// What an owner of `set` exchanges with all samples, its own included.
std::int64_t with_all_samples(const PairBytes& pairs, const SampleSplit& split, std::size_t set) {
  if (split.uniform()) return pairs.bytes[0][set] * split.ranks;
  return pairs.bytes[0][set] * split.larger_ranks + pairs.bytes[1][set] * (split.ranks - split.larger_ranks);
}

bool all_equal(const std::vector<std::int64_t>& v) {
  return std::adjacent_find(v.begin(), v.end(), std::not_equal_to<>()) == v.end();
}

graph::Collective all_to_all(std::int64_t send_buffer, graph::DType dtype) {
  graph::Collective c;
  c.kind = graph::CollectiveKind::all_to_all;
  c.bytes = send_buffer;
  c.dtype = dtype;
  return c;
}

graph::Collective exchange(const Placement& placement, const SampleSplit& split, const PairBytes& pairs,
                           graph::DType dtype, Direction direction) {
  if (split.uniform() && all_equal(pairs.bytes[0])) return all_to_all(with_all_samples(pairs, split, 0), dtype);
  const std::vector<std::int64_t> ranks_with = ranks_with_set(placement);
  std::vector<std::int64_t> samples_side, owner_side;
  for (std::size_t size = 0; size < pairs.sizes.size(); ++size)
    samples_side.push_back(with_all_owners(pairs.bytes[size], ranks_with));
  for (std::size_t set = 0; set < placement.sets.size(); ++set)
    owner_side.push_back(with_all_samples(pairs, split, set));

  graph::Collective c;
  c.kind = graph::CollectiveKind::all_to_all_v;
  c.dtype = dtype;
  c.send_bytes.resize(split.ranks);
  c.recv_bytes.resize(split.ranks);
  for (std::uint32_t r = 0; r < split.ranks; ++r) {
    const std::size_t size = split.uniform() || r < split.larger_ranks ? 0 : 1;
    const std::uint32_t set = placement.set_of_rank[r];
    const std::int64_t own = pairs.bytes[size][set];
    c.send_bytes[r] = owner_side[set] - own;
    c.recv_bytes[r] = samples_side[size] - own;
  }
  if (direction == Direction::samples_to_owners) std::swap(c.send_bytes, c.recv_bytes);
  const auto& buffers = direction == Direction::owners_to_samples ? owner_side : samples_side;
  c.bytes = *std::max_element(buffers.begin(), buffers.end());
  return c;
}

/// Vectors of nodes of these widths, along the rails, to the samples' owners or back.
graph::Collective along_rails(const std::vector<std::int64_t>& widths, const SampleSplit& split, graph::DType dtype,
                              Direction direction) {
  const std::int64_t all = std::accumulate(widths.begin(), widths.end(), std::int64_t{0});
  const std::int64_t vector_bytes = split.largest() * graph::size_of(dtype),
                     others = static_cast<std::int64_t>(widths.size()) - 1;
  graph::Collective across;
  across.kind = graph::CollectiveKind::all_to_all_v;
  across.dtype = dtype;
  for (const std::int64_t width : widths) {
    across.send_bytes.push_back(vector_bytes * others * width);
    across.recv_bytes.push_back(vector_bytes * (all - width));
    across.bytes = std::max(across.bytes, vector_bytes * std::max(all, (others + 1) * width));
  }
  if (direction == Direction::samples_to_owners) std::swap(across.send_bytes, across.recv_bytes);
  return across;
}

/// Partial sums of `width` elements for every sample meet; gradients spread.
graph::Collective meeting_of(std::int64_t width, const SampleSplit& split, graph::DType dtype, Direction direction) {
  graph::Collective c;
  c.kind = direction == Direction::owners_to_samples ? graph::CollectiveKind::reduce_scatter
                                                     : graph::CollectiveKind::all_gather;
  c.bytes = split.total() * width * graph::size_of(dtype);
  c.dtype = dtype;
  return c;
}

}  // namespace

graph::Collective pooled_exchange(const Placement& placement, const SampleSplit& split, graph::DType dtype,
                                  Direction direction) {
  const PairBytes pairs = pair_bytes(placement, split, [&](const ShardSet& s) {
    return static_cast<double>(s.width_of_pairs() * graph::size_of(dtype));
  });
  return exchange(placement, split, pairs, dtype, direction);
}

graph::Collective row_wise_exchange(const Placement& placement, const SampleSplit& split, graph::DType dtype,
                                    Direction direction) {
  return meeting_of(placement.whole_width(Meeting::everywhere), split, dtype, direction);
}

graph::Collective uniform_exchange(std::int64_t bytes, graph::DType dtype) { return all_to_all(bytes, dtype); }

RailExchange rail_exchange(const Placement& placement, const SampleSplit& split, std::uint32_t gpus_per_node,
                           graph::DType dtype, Direction direction) {
  std::int64_t widest = 0;
  for (const ShardSet& set : placement.sets) widest = std::max(widest, set.width);
  return {all_to_all(split.total() * widest * graph::size_of(dtype), dtype),
          along_rails(placement.node_widths(gpus_per_node), split, dtype, direction)};
}

RailExchange node_rows_exchange(const Placement& placement, const SampleSplit& split, std::uint32_t gpus_per_node,
                                graph::DType dtype, Direction direction) {
  const std::vector<std::int64_t> widths = placement.node_widths(gpus_per_node, Meeting::in_node);
  return {meeting_of(*std::max_element(widths.begin(), widths.end()), split, dtype, direction),
          along_rails(widths, split, dtype, direction)};
}

graph::Collective id_exchange(const Placement& placement, const SampleSplit& split, std::int64_t index_bytes) {
  const PairBytes pairs =
      pair_bytes(placement, split, [&](const ShardSet& s) { return s.ids * static_cast<double>(index_bytes); });
  return exchange(placement, split, pairs, graph::DType::int64, Direction::samples_to_owners);
}

}  // namespace distsim::workload
