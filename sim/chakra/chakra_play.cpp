#include "sim/chakra/chakra_play.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "sim/engine/events/irregular_evaluator.hpp"
#include "sim/engine/program/matching.hpp"
#include "sim/engine/rows/row_evaluator.hpp"
#include "sim/engine/timeline/verify.hpp"

namespace distsim::chakra {
namespace {

constexpr std::uint64_t kMostStreams = std::uint64_t{1} << 26;

enum class Lane : std::uint8_t { host, compute, comm, none };

Lane lane_of(const traces::ChakraNode& node) {
  if (node.on_cpu) return Lane::host;
  if (is_collective(node) || node.kind == traces::ChakraKind::send) return Lane::comm;
  const bool works = node.kind == traces::ChakraKind::compute || node.kind == traces::ChakraKind::load ||
                     node.kind == traces::ChakraKind::store;
  return works ? Lane::compute : Lane::none;
}

/// Streams of one rank, numbered as they appear.
class StreamNumbers {
 public:
  StreamId of(Lane lane, std::int64_t key) {
    if (lane == Lane::none) return StreamId();
    for (std::uint32_t i = 0; i < known_.size(); ++i) {
      if (known_[i] == std::pair(lane, key)) return StreamId(i);
    }
    known_.emplace_back(lane, key);
    return StreamId(static_cast<std::uint32_t>(known_.size() - 1));
  }
  std::uint32_t count() const { return static_cast<std::uint32_t>(known_.size()); }

 private:
  std::vector<std::pair<Lane, std::int64_t>> known_;
};

/// How long work without communication takes.
class WorkTimes {
 public:
  WorkTimes(const topology::DeviceSpec& device, double scale)
      : scale_(scale), bandwidth_(device.hbm.bandwidth.value()) {
    for (const char* dtype : {"bf16", "fp16", "tf32", "fp32"}) {
      const auto peak = device.peak.find(dtype);
      if (peak != device.peak.end() && peak_ == 0) peak_ = peak->second.value();
    }
  }
  Result<std::int64_t> of(const traces::ChakraNode& node, std::int64_t recorded) {
    if (lane_of(node) == Lane::none) return std::int64_t{0};
    if (node.on_cpu) return recorded;
    if (recorded > 0) return scale_ == 1 ? Result<std::int64_t>(recorded) : scaled(recorded);
    if (node.operations == 0 && node.tensor_bytes == 0) return std::int64_t{0};
    ++rooflines_;
    const double seconds = std::max(peak_ > 0 ? static_cast<double>(node.operations) / peak_ : 0,
                                    bandwidth_ > 0 ? static_cast<double>(node.tensor_bytes) / bandwidth_ : 0);
    TRY_ASSIGN(const Duration d, Duration::from_seconds(seconds));
    return d.ps();
  }
  std::uint64_t rooflines() const { return rooflines_; }

 private:
  Result<std::int64_t> scaled(std::int64_t ps) const {
    TRY_ASSIGN(const Duration d, Duration::from_seconds(static_cast<double>(ps) * 1e-12 * scale_));
    return d.ps();
  }
  double scale_, bandwidth_, peak_ = 0;
  std::uint64_t rooflines_ = 0;
};

using Spans = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// Sorts, merges, and returns how much is covered.
std::int64_t merge(Spans& spans) {
  if (!std::is_sorted(spans.begin(), spans.end())) std::sort(spans.begin(), spans.end());
  std::size_t kept = 0;
  std::int64_t covered = 0;
  for (const auto& span : spans) {
    if (kept > 0 && span.first <= spans[kept - 1].second)
      spans[kept - 1].second = std::max(spans[kept - 1].second, span.second);
    else
      spans[kept++] = span;
  }
  spans.resize(kept);
  for (const auto& [begin, end] : spans) covered += end - begin;
  return covered;
}

/// Adds `more` to what is covered; returns by how much that grew.
std::int64_t grow(Spans& covered, std::int64_t before, const Spans& more) {
  covered.insert(covered.end(), more.begin(), more.end());
  return merge(covered) - before;
}

using TimesOfNode = std::function<engine::StepTimes(std::uint32_t)>;

ChakraRankTimes breakdown(const traces::ChakraGraph& graph, std::int64_t makespan, const TimesOfNode& times_of) {
  ChakraRankTimes out;
  Spans compute, comm, waiting, host;
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
    const engine::StepTimes t = times_of(n);
    const Lane lane = lane_of(graph.nodes[n]);
    out.finish = std::max(out.finish, t.end);
    Spans* spans = lane == Lane::host ? &host : lane == Lane::comm ? &comm : lane == Lane::compute ? &compute : nullptr;
    if (spans && t.end > t.start) spans->emplace_back(t.start, t.end);
    if (lane == Lane::comm && t.start > t.ready) waiting.emplace_back(t.ready, t.start);
  }
  out.compute = merge(compute);
  out.comm = merge(comm);
  std::int64_t covered = out.compute;
  covered += out.exposed = grow(compute, covered, comm);
  covered += out.waiting = grow(compute, covered, waiting);
  covered += out.host = grow(compute, covered, host);
  out.idle = makespan - covered;
  return out;
}

class Player {
 public:
  Player(const traces::ChakraSet& set, CommunicationCost& costs, const topology::DeviceSpec& device,
         const ChakraPlayOptions& options)
      : set_(set), costs_(costs), options_(options), work_(device, options.compute_scale) {}

  Result<ChakraPlay> play() {
    out_.rows =
        set_.graphs.size() == 1 && std::none_of(set_.graphs[0].nodes.begin(), set_.graphs[0].nodes.end(), is_message);
    TRY_ASSIGN(ChakraCalls calls, ChakraCalls::find(set_, options_, out_.rows));
    TRY(calls.price(costs_, options_.recorded_collectives));
    TRY(out_.rows ? play_rows(calls) : play_lists(calls));
    out_.communicators = calls.communicators();
    take_notes();
    return std::move(out_);
  }

 private:
  /// Every rank the same steps: one program over rank vectors.
  Result<void> play_rows(const ChakraCalls& calls) {
    const traces::ChakraGraph& graph = set_.graphs[0];
    engine::Program program;
    program.ranks = static_cast<std::uint32_t>(set_.ranks.size());
    program.groups.push_back({program.ranks, 1, {}, {}});
    TRY_ASSIGN(program.streams, count_streams(calls));
    StreamNumbers streams;
    std::vector<std::size_t> next_call(calls.communicators().size(), 0);
    std::vector<StepId> waits;
    for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
      const traces::ChakraNode& node = graph.nodes[n];
      waits.clear();
      for (const std::uint32_t dep : graph.deps_of(n)) waits.emplace_back(dep);
      if (is_collective(node)) {
        const std::uint32_t c = calls.communicator_of(0, node);
        const ChakraCall& call = calls.communicators()[c].calls[next_call[c]++];
        program.add({stream_of(streams, node, c), engine::Row(call.cost.mean.ps()), 0}, waits);
      } else {
        TRY_ASSIGN(engine::Row row, work_row(n));
        program.add({stream_of(streams, node, 0), std::move(row), engine::Step::kNoGroup}, waits);
      }
    }
    TRY_ASSIGN(const engine::Timeline timeline, engine::evaluate_rows(program));
    if (auto lawful = engine::verify(program, timeline); !lawful) return lawful;
    read_rows(timeline);
    out_.steps = std::uint64_t{program.ranks} * program.steps.size();
    return {};
  }

  Result<engine::Row> work_row(std::uint32_t n) {
    const traces::ChakraNode& node = set_.graphs[0].nodes[n];
    TRY_ASSIGN(const std::int64_t first, work_.of(node, set_.ps_of(0, n)));
    bool uniform = true;
    for (std::uint32_t r = 1; r < set_.ranks.size() && uniform; ++r) uniform = set_.ps_of(r, n) == set_.ps_of(0, n);
    if (uniform) return engine::Row(first);
    std::vector<std::int64_t> values(set_.ranks.size());
    for (std::uint32_t r = 0; r < values.size(); ++r) {
      TRY_ASSIGN(values[r], work_.of(node, set_.ps_of(r, n)));
    }
    return engine::Row(std::move(values));
  }

  void read_rows(const engine::Timeline& t) {
    out_.makespan = t.makespan;
    out_.digest = t.digest;
    bool uniform = true;
    for (std::uint32_t s = 0; s < t.end.size() && uniform; ++s) {
      uniform = t.ready[StepId(s)].uniform() && t.start[StepId(s)].uniform() && t.end[StepId(s)].uniform();
    }
    for (std::uint32_t r = 0; r < (uniform ? 1 : set_.ranks.size()); ++r) {
      out_.ranks.push_back(breakdown(set_.graphs[0], t.makespan.ps(), [&](std::uint32_t n) {
        const StepId s(n);
        return engine::StepTimes{t.ready[s].at(r), t.start[s].at(r), t.end[s].at(r)};
      }));
    }
  }

  /// Every rank its own list.
  Result<void> play_lists(const ChakraCalls& calls) {
    const auto ranks = static_cast<std::uint32_t>(set_.ranks.size());
    TRY_ASSIGN(const std::uint32_t streams, count_streams(calls));
    engine::MatchingBuilder builder(ranks, streams);
    std::vector<engine::MatchingBuilder::CommunicatorId> ids;
    for (const ChakraCommunicator& c : calls.communicators()) {
      TRY_ASSIGN(const auto id, builder.add_communicator(c.members));
      ids.push_back(id);
    }
    std::vector<std::uint32_t> first(ranks + 1, 0);
    for (std::uint32_t r = 0; r < ranks; ++r) {
      TRY(post_rank(r, first[r], calls, ids, builder));
      first[r + 1] = first[r] + static_cast<std::uint32_t>(graph_of(r).nodes.size());
    }
    TRY_ASSIGN(const engine::IrregularProgram program, std::move(builder).finish());
    const auto timeline = engine::evaluate_irregular(program);
    if (!timeline) return named(timeline.error(), program, first);
    out_.makespan = timeline->makespan;
    out_.digest = timeline->digest;
    out_.steps = program.steps.size();
    for (std::uint32_t r = 0; r < ranks; ++r) {
      out_.ranks.push_back(breakdown(graph_of(r), timeline->makespan.ps(),
                                     [&](std::uint32_t n) { return timeline->steps[StepId(first[r] + n)]; }));
    }
    return {};
  }

  Result<void> post_rank(std::uint32_t rank, std::uint32_t first, const ChakraCalls& calls,
                         const std::vector<engine::MatchingBuilder::CommunicatorId>& ids,
                         engine::MatchingBuilder& builder) {
    const traces::ChakraGraph& graph = graph_of(rank);
    StreamNumbers streams;
    std::vector<StepId> waits;
    next_call_.assign(calls.communicators().size(), 0);
    for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
      const traces::ChakraNode& node = graph.nodes[n];
      waits.clear();
      for (const std::uint32_t dep : graph.deps_of(n)) waits.emplace_back(first + dep);
      engine::MatchingBuilder::Post post{RankId(rank), StreamId(), 0, waits};
      if (is_collective(node)) {
        const std::uint32_t c = calls.communicator_of(rank, node);
        post.stream = stream_of(streams, node, c);
        post.duration = calls.communicators()[c].calls[next_call_[c]++].cost.mean.ps();
        builder.collective(post, ids[c]);
        continue;
      }
      post.stream = stream_of(streams, node, 0);
      if (!is_message(node)) {
        TRY_ASSIGN(post.duration, work_.of(node, set_.ps_of(rank, n)));
        builder.work(post);
        continue;
      }
      TRY(post_message(post, node, builder));
    }
    return {};
  }

  Result<void> post_message(engine::MatchingBuilder::Post post, const traces::ChakraNode& node,
                            engine::MatchingBuilder& builder) {
    if (node.peer >= static_cast<std::int64_t>(set_.ranks.size())) {
      return Error{fmt::format("rank {}, node {}: found a message with rank {}, expected one of {} ranks",
                               post.rank.value(), node.id, node.peer, set_.ranks.size()),
                   "", ""};
    }
    const RankId peer(static_cast<std::uint32_t>(node.peer));
    const auto tag = static_cast<std::uint32_t>(node.tag);
    if (node.kind == traces::ChakraKind::receive) {
      builder.take_message(post, peer, tag);
      return {};
    }
    TRY_ASSIGN(const graph::Cost cost, costs_.message(post.rank.value(), peer.value(), node.comm_bytes));
    post.duration = cost.mean.ps();
    builder.post_message(post, peer, tag);
    return {};
  }

  /// Collectives of one communicator follow each other, and so do those on one GPU stream; messages of a rank follow
  /// each other.
  static StreamId stream_of(StreamNumbers& streams, const traces::ChakraNode& node, std::uint32_t communicator) {
    std::int64_t key = node.lane;
    if (lane_of(node) == Lane::comm && key == traces::ChakraNode::kAbsent)
      key = node.kind == traces::ChakraKind::send ? -2 : -3 - std::int64_t{communicator};
    return streams.of(lane_of(node), key);
  }

  Result<std::uint32_t> count_streams(const ChakraCalls& calls) const {
    std::vector<std::uint32_t> of_graph(set_.graphs.size(), 0);
    std::uint32_t most = 1;
    for (std::uint32_t r = 0; r < set_.ranks.size(); ++r) {
      StreamNumbers streams;
      std::uint32_t& known = of_graph[set_.ranks[r].graph];
      for (const traces::ChakraNode& node : graph_of(r).nodes) {
        if (known > 0) break;  // a graph's ranks have the same groups
        stream_of(streams, node, is_collective(node) ? calls.communicator_of(r, node) : 0);
        if (streams.count() > 4096) break;
      }
      known = std::max(known, streams.count());
      most = std::max(most, known);
    }
    if (most > 4096 || std::uint64_t{most} * set_.ranks.size() > kMostStreams) {
      return Error{
          fmt::format("found {} or more streams per rank on {} ranks, expected at most 4096, and 2^26 in total", most,
                      set_.ranks.size()),
          "", ""};
    }
    return most;
  }

  /// A deadlock in words of the trace.
  Error named(const Error& error, const engine::IrregularProgram& program,
              const std::vector<std::uint32_t>& first) const {
    const auto cycle = engine::find_deadlock(program);
    if (cycle.empty()) return error;
    constexpr std::size_t kMostNamed = 12;
    std::string text = "deadlock: ";
    for (std::size_t i = 0; i <= std::min(cycle.size(), kMostNamed); ++i) {
      const std::uint32_t step = cycle[i % cycle.size()].value();
      const std::uint32_t rank = program.steps[StepId(step)].rank.value();
      const traces::ChakraNode& node = graph_of(rank).nodes[step - first[rank]];
      text += fmt::format("{}rank {} node {} ({})", i == 0 ? "" : " waits for ", rank, node.id,
                          graph_of(rank).text_of(node.name));
    }
    return {text, "", error.hint};
  }

  void take_notes() {
    std::size_t dropped = 0, recorded = 0;
    for (const traces::ChakraGraph& g : set_.graphs) dropped += g.dropped_deps;
    for (const ChakraCommunicator& c : out_.communicators) {
      recorded += static_cast<std::size_t>(
          std::count_if(c.calls.begin(), c.calls.end(), [](const ChakraCall& call) { return !call.priced; }));
    }
    if (dropped > 0)
      out_.notes.push_back(
          fmt::format("{} control dependencies of the old layout name callers and are ignored", dropped));
    if (recorded > 0)
      out_.notes.push_back(fmt::format("{} collectives without kind or size keep their recorded time", recorded));
    if (work_.rooflines() > 0)
      out_.notes.push_back(fmt::format("{} nodes without a duration use their roofline time", work_.rooflines()));
  }

  const traces::ChakraGraph& graph_of(std::uint32_t rank) const { return set_.graphs[set_.ranks[rank].graph]; }

  const traces::ChakraSet& set_;
  CommunicationCost& costs_;
  const ChakraPlayOptions& options_;
  WorkTimes work_;
  ChakraPlay out_;
  std::vector<std::size_t> next_call_;
};

}  // namespace

Result<ChakraPlay> play_chakra(const traces::ChakraSet& set, CommunicationCost& costs,
                               const topology::DeviceSpec& device, const ChakraPlayOptions& options) {
  return Player(set, costs, device, options).play();
}

}  // namespace distsim::chakra
