// Ranks that differ: each plays a list of its own, with messages between them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "sim/chakra/chakra_parts.hpp"
#include "sim/engine/program/matching.hpp"

namespace distsim::chakra {
namespace {

class ListPlayer {
 public:
  explicit ListPlayer(const ChakraJob& job) : job_(job), ranks_(static_cast<std::uint32_t>(job.set.ranks.size())) {}

  Result<ChakraPlay> play() {
    TRY_ASSIGN(const engine::IrregularProgram program, program_of_ranks());
    const auto timeline = engine::evaluate_irregular(program);
    if (!timeline) return named(timeline.error(), program);
    ChakraPlay out;
    out.makespan = timeline->makespan;
    out.digest = timeline->digest;
    out.steps = program.steps.size();
    for (std::uint32_t r = 0; r < ranks_; ++r) {
      out.ranks.push_back(breakdown(job_.graph_of(r), timeline->makespan.ps(),
                                    [&](std::uint32_t n) { return timeline->steps[StepId(first_[r] + n)]; }));
    }
    return out;
  }

 private:
  using Post = engine::MatchingBuilder::Post;

  Result<engine::IrregularProgram> program_of_ranks() {
    TRY_ASSIGN(const std::uint32_t streams, count_streams(job_.set, job_.calls));
    engine::MatchingBuilder builder(ranks_, streams);
    for (const ChakraCommunicator& c : job_.calls.communicators()) {
      std::vector<std::uint32_t> played;
      std::ranges::copy_if(c.members, std::back_inserter(played), [&](auto rank) { return job_.set.has_trace(rank); });
      TRY_ASSIGN(const auto id, builder.add_communicator(played));
      communicators_.push_back(id);
    }
    first_.assign(ranks_ + 1, 0);
    for (std::uint32_t r = 0; r < ranks_; ++r) {
      TRY(post_rank(r, builder));
      first_[r + 1] = first_[r] + static_cast<std::uint32_t>(job_.graph_of(r).nodes.size());
    }
    TRY(check_sizes());
    return std::move(builder).finish();
  }

  Result<void> post_rank(std::uint32_t rank, engine::MatchingBuilder& builder) {
    const traces::ChakraGraph& graph = job_.graph_of(rank);
    StreamNumbers streams;
    std::vector<StepId> waits;
    next_call_.assign(job_.calls.communicators().size(), 0);
    for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
      const traces::ChakraNode& node = graph.nodes[n];
      waits.clear();
      for (const std::uint32_t dep : graph.deps_of(n)) waits.emplace_back(first_[rank] + dep);
      const std::uint32_t c = is_collective(node) ? job_.calls.communicator_of(rank, node) : 0;
      Post post{RankId(rank), streams.of(node, c), 0, waits};
      if (is_collective(node)) {
        post.duration = job_.calls.communicators()[c].calls[next_call_[c]++].cost.mean.ps();
        builder.collective(post, communicators_[c]);
      } else if (is_message(node)) {
        TRY(post_message(post, node, builder));
      } else {
        TRY_ASSIGN(post.duration, job_.work.of(node, job_.set.ps_of(rank, n)));
        builder.work(post);
      }
    }
    return {};
  }

  Result<void> post_message(Post post, const traces::ChakraNode& node, engine::MatchingBuilder& builder) {
    if (node.peer >= static_cast<std::int64_t>(ranks_)) {
      return Error{fmt::format("rank {}, node {}: found a message with rank {}, expected one of {} ranks",
                               post.rank.value(), node.id, node.peer, ranks_),
                   "", ""};
    }
    const RankId peer(static_cast<std::uint32_t>(node.peer));
    const auto tag = static_cast<std::uint32_t>(node.tag);
    const bool takes = node.kind == traces::ChakraKind::receive;
    const auto between =
        takes ? std::tuple(peer.value(), post.rank.value(), tag) : std::tuple(post.rank.value(), peer.value(), tag);
    ends_[between][takes ? 1 : 0].push_back(&node);
    if (takes) {
      builder.take_message(post, peer, tag);
      return {};
    }
    TRY_ASSIGN(const graph::Cost cost, job_.costs.message(post.rank.value(), peer.value(), node.comm_bytes));
    post.duration = cost.mean.ps();
    builder.post_message(post, peer, tag);
    return {};
  }

  /// The n-th message that is sent under a tag is the n-th that is received; a receive need not state a size.
  Result<void> check_sizes() const {
    for (const auto& [between, ends] : ends_) {
      const auto& [from, to, tag] = between;
      for (std::size_t i = 0; i < std::min(ends[0].size(), ends[1].size()); ++i) {
        const traces::ChakraNode &sent = *ends[0][i], &taken = *ends[1][i];
        if (taken.comm_bytes == traces::ChakraNode::kAbsent || taken.comm_bytes == sent.comm_bytes) continue;
        return Error{fmt::format("rank {}, node {}: found a receive of {} bytes, expected {} as rank {}, node {} sends "
                                 "under tag {}",
                                 to, taken.id, taken.comm_bytes, sent.comm_bytes, from, sent.id, tag),
                     "", "a send and its receive have one comm_size"};
      }
    }
    return {};
  }

  /// A deadlock in words of the trace.
  Error named(const Error& error, const engine::IrregularProgram& program) const {
    const auto cycle = engine::find_deadlock(program);
    if (cycle.empty()) return error;
    constexpr std::size_t kMostNamed = 12;
    std::string text = "deadlock: ";
    for (std::size_t i = 0; i <= std::min(cycle.size(), kMostNamed); ++i) {
      const std::uint32_t step = cycle[i % cycle.size()].value();
      const std::uint32_t rank = program.steps[StepId(step)].rank.value();
      const traces::ChakraGraph& graph = job_.graph_of(rank);
      const traces::ChakraNode& node = graph.nodes[step - first_[rank]];
      text +=
          fmt::format("{}rank {} node {} ({})", i == 0 ? "" : " waits for ", rank, node.id, graph.text_of(node.name));
    }
    return {text, "", error.hint};
  }

  const ChakraJob& job_;
  const std::uint32_t ranks_;
  std::vector<engine::MatchingBuilder::CommunicatorId> communicators_;
  using Ends = std::array<std::vector<const traces::ChakraNode*>, 2>;             ///< sends, receives
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, Ends> ends_;  ///< by sender, receiver and tag
  std::vector<std::uint32_t> first_;                                              ///< by rank: its first step
  std::vector<std::size_t> next_call_;  ///< by communicator, of the rank being posted
};

}  // namespace

Result<ChakraPlay> play_lists(const ChakraJob& job) { return ListPlayer(job).play(); }

}  // namespace distsim::chakra
