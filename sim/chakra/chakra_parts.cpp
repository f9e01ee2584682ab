#include "sim/chakra/chakra_parts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/intervals.hpp"

namespace distsim::chakra {
namespace {

/// Chosen: dozens are usual; more is damage. In total: what fits memory.
constexpr std::uint32_t kMostStreamsOfRank = 4096;
constexpr std::uint64_t kMostStreams = std::uint64_t{1} << 26;

}  // namespace

Lane lane_of(const traces::ChakraNode& node) {
  if (node.on_cpu) return Lane::host;
  if (is_collective(node) || node.kind == traces::ChakraKind::send) return Lane::comm;
  const bool works = node.kind == traces::ChakraKind::compute || node.kind == traces::ChakraKind::load ||
                     node.kind == traces::ChakraKind::store;
  return works ? Lane::compute : Lane::none;
}

StreamId StreamNumbers::of(const traces::ChakraNode& node, std::uint32_t communicator) {
  const Lane lane = lane_of(node);
  if (lane == Lane::none) return StreamId();
  std::int64_t key = node.lane;
  if (lane == Lane::comm && key == traces::ChakraNode::kAbsent)  // below kAbsent: -2 messages, -3 .. communicators
    key = node.kind == traces::ChakraKind::send ? -2 : -3 - std::int64_t{communicator};
  const auto at = std::ranges::find(known_, std::pair(lane, key));
  if (at != known_.end()) return StreamId(static_cast<std::uint32_t>(at - known_.begin()));
  known_.emplace_back(lane, key);
  return StreamId(count() - 1);
}

Result<std::uint32_t> count_streams(const traces::ChakraSet& set, const ChakraCalls& calls) {
  std::vector<std::uint32_t> of_graph(set.graphs.size(), 0);  // a graph's ranks have the same groups
  std::uint32_t most = 1;
  for (std::uint32_t r = 0; r < set.ranks.size() && most <= kMostStreamsOfRank; ++r) {
    std::uint32_t& known = of_graph[set.ranks[r].graph];
    if (known > 0) continue;
    StreamNumbers streams;
    for (const traces::ChakraNode& node : set.graphs[set.ranks[r].graph].nodes) {
      streams.of(node, is_collective(node) ? calls.communicator_of(r, node) : 0);
      if (streams.count() > kMostStreamsOfRank) break;
    }
    known = streams.count();
    most = std::max(most, known);
  }
  if (most > kMostStreamsOfRank || std::uint64_t{most} * set.ranks.size() > kMostStreams) {
    return Error{fmt::format("found {} or more streams per rank on {} ranks, expected at most {}, and 2^26 in total",
                             most, set.ranks.size(), kMostStreamsOfRank),
                 "", ""};
  }
  return most;
}

WorkTimes::WorkTimes(const topology::DeviceSpec& device, double scale)
    : scale_(scale), bandwidth_(device.hbm.bandwidth.value()) {
  for (const char* dtype : {"bf16", "fp16", "tf32", "fp32"}) {
    const auto peak = device.peak.find(dtype);
    if (peak != device.peak.end() && peak_ == 0) peak_ = peak->second.value();
  }
}

Result<void> WorkTimes::check_rates(const traces::ChakraNode& node) const {
  const bool no_peak = node.operations > 0 && peak_ <= 0;
  if (!no_peak && (node.tensor_bytes <= 0 || bandwidth_ > 0)) return {};
  const std::string what =
      no_peak ? fmt::format("num_ops {} and no duration, expected a system that states peak-perf", node.operations)
              : fmt::format("tensor_size {} and no duration, expected a system that states local-mem-bw",
                            node.tensor_bytes);
  return Error{fmt::format("node {}: found {}", node.id, what), "", "both are keys of --network-system"};
}

Result<std::int64_t> WorkTimes::of(const traces::ChakraNode& node, std::int64_t recorded) {
  if (lane_of(node) == Lane::none) return std::int64_t{0};
  if (node.on_cpu || (recorded > 0 && scale_ == 1)) return recorded;
  double seconds = static_cast<double>(recorded) * 1e-12 * scale_;
  if (recorded <= 0) {
    if (node.operations == 0 && node.tensor_bytes == 0) {
      timeless_ += lane_of(node) == Lane::compute ? 1 : 0;
      return std::int64_t{0};
    }
    TRY(check_rates(node));
    ++rooflines_;
    seconds = std::max(peak_ > 0 ? static_cast<double>(node.operations) / peak_ : 0,
                       bandwidth_ > 0 ? static_cast<double>(node.tensor_bytes) / bandwidth_ : 0);
  }
  TRY_ASSIGN(const Duration d, Duration::from_seconds(seconds));
  return d.ps();
}

ChakraRankTimes breakdown(const traces::ChakraGraph& graph, std::int64_t makespan, const TimesOfNode& times_of) {
  ChakraRankTimes out;
  std::vector<Interval> compute, comm, waiting, host;
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
    const engine::StepTimes t = times_of(n);
    const Lane lane = lane_of(graph.nodes[n]);
    out.finish = std::max(out.finish, t.end);
    auto* spans = lane == Lane::host ? &host : lane == Lane::comm ? &comm : lane == Lane::compute ? &compute : nullptr;
    if (spans != nullptr) spans->push_back({t.start, t.end});
    if (lane == Lane::comm) waiting.push_back({t.ready, t.start});
  }
  IntervalSet covered = IntervalSet::union_of(std::move(compute));
  const auto grow_by = [&covered](const IntervalSet& more) {
    const std::int64_t before = covered.total();
    covered = covered.plus(more);
    return covered.total() - before;
  };
  const IntervalSet transfers = IntervalSet::union_of(std::move(comm));
  out.compute = covered.total();
  out.comm = transfers.total();
  out.exposed = grow_by(transfers);
  out.waiting = grow_by(IntervalSet::union_of(std::move(waiting)));
  out.host = grow_by(IntervalSet::union_of(std::move(host)));
  out.idle = makespan - covered.total();
  return out;
}

}  // namespace distsim::chakra
