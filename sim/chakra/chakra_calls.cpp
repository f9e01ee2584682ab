#include "sim/chakra/chakra_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "base/text/printable.hpp"

namespace distsim::chakra {
namespace {

constexpr std::array<graph::CollectiveKind, 10> kKinds{
    graph::CollectiveKind::all_reduce, graph::CollectiveKind::reduce,         graph::CollectiveKind::all_gather,
    graph::CollectiveKind::gather,     graph::CollectiveKind::scatter,        graph::CollectiveKind::broadcast,
    graph::CollectiveKind::all_to_all, graph::CollectiveKind::reduce_scatter, graph::CollectiveKind::reduce_scatter,
    graph::CollectiveKind::barrier};

/// For nodes without comm_type: what the name of the kernel says.
std::optional<graph::CollectiveKind> kind_in(std::string_view name) {
  static constexpr std::pair<std::string_view, graph::CollectiveKind> kWords[] = {
      {"AllReduce", graph::CollectiveKind::all_reduce},         {"AllGather", graph::CollectiveKind::all_gather},
      {"ReduceScatter", graph::CollectiveKind::reduce_scatter}, {"Broadcast", graph::CollectiveKind::broadcast},
      {"AllToAll", graph::CollectiveKind::all_to_all},          {"SendRecv", graph::CollectiveKind::all_to_all}};
  for (const auto& [word, kind] : kWords) {
    if (name.find(word) != std::string_view::npos) return kind;
  }
  return std::nullopt;
}

/// What a node asks for, as far as it says.
std::optional<graph::CollectiveKind> kind_of(const traces::ChakraGraph& graph, const traces::ChakraNode& node) {
  if (node.comm == traces::ChakraComm::unknown) return kind_in(graph.text_of(node.name));
  const graph::CollectiveKind kind = kKinds[static_cast<std::size_t>(node.comm)];
  return node.send_recv && kind == graph::CollectiveKind::all_to_all ? graph::CollectiveKind::send_recv : kind;
}

/// comm_size in the size column of nccl-tests: what it counts differs where one side holds all parts.
std::int64_t bytes_of(graph::CollectiveKind kind, std::int64_t comm_bytes, std::size_t ranks) {
  if (kind == graph::CollectiveKind::send_recv && ranks == 2)
    return comm_bytes / 2;  // half of an all-to-all of two stays
  const bool of_one_part = kind == graph::CollectiveKind::all_gather || kind == graph::CollectiveKind::gather;
  if (!of_one_part) return comm_bytes;
  const auto n = static_cast<std::int64_t>(ranks);
  return comm_bytes > INT64_MAX / n ? INT64_MAX : comm_bytes * n;
}

/// Of two recorded durations; 0 is none.
std::int64_t shorter(std::int64_t a, std::int64_t b) { return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b); }

/// A group that names a rank that the job has not: it is not complete, and what its members wait for would never come.
Result<void> check_ranks(const ChakraGroups& groups, const std::string& of, const traces::ChakraSet& set) {
  const std::size_t ranks = set.ranks_of_job(), traces = set.ranks.size();
  for (const auto& [name, members] : groups) {
    const auto beyond =
        std::find_if(members.begin(), members.end(), [ranks](std::uint32_t rank) { return rank >= ranks; });
    if (beyond == members.end()) continue;
    return Error{
        fmt::format("{}: found rank {} in group '{}', expected ranks below {}: the number of {}", of, *beyond,
                    printable(name), ranks, ranks == traces ? fmt::format("traces is {}", ranks) : "ranks of the job"),
        "", "pass one trace per rank, or a single trace with --ranks"};
  }
  return {};
}

}  // namespace

std::string ChakraCalls::describe(std::uint32_t rank, std::uint32_t node) const {
  const traces::ChakraGraph& graph = set_->graphs[set_->ranks[rank].graph];
  return fmt::format("rank {}, node {} ({})", rank, graph.nodes[node].id,
                     printable(graph.text_of(graph.nodes[node].name)));
}

Result<std::vector<std::uint32_t>> ChakraCalls::members_of(std::uint32_t rank, const traces::ChakraNode& node) const {
  const traces::ChakraGraph& graph = set_->graphs[set_->ranks[rank].graph];
  const std::string name(graph.text_of(node.group));
  std::vector<std::uint32_t> members;
  if (const auto given = options_->groups.find(name); given != options_->groups.end())
    members = given->second;
  else if (const auto own = graph.groups.find(name); own != graph.groups.end())
    members = own->second;
  else if (!name.empty() && name != "0")
    return Error{"pg_name: found '" + printable(name) + "', expected a group of --groups or of the trace", "", ""};
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  if (members.empty()) {
    members.resize(set_->ranks_of_job());
    std::iota(members.begin(), members.end(), 0u);
  }
  return members;  // all of them there: check_ranks
}

Result<std::uint32_t> ChakraCalls::resolve(std::uint32_t rank, const traces::ChakraNode& node) {
  const std::uint32_t g = set_->ranks[rank].graph;
  const std::string_view name = set_->graphs[g].text_of(node.group);
  auto& known = id_of_name_[g];
  auto found = known.find(name);
  if (found == known.end()) {
    TRY_ASSIGN(std::vector<std::uint32_t> members, members_of(rank, node));
    const auto id = static_cast<std::uint32_t>(communicators_.size());
    const auto [entry, is_new] = id_of_members_.emplace(members, id);
    if (is_new) {
      posted_.emplace_back(members.size(), 0);
      communicators_.push_back({std::move(members), {}});
    }
    found = known.emplace(std::string(name), entry->second).first;
  }
  return found->second;
}

std::uint32_t ChakraCalls::communicator_of(std::uint32_t rank, const traces::ChakraNode& node) const {
  const std::uint32_t g = set_->ranks[rank].graph;
  return id_of_name_[g].find(set_->graphs[g].text_of(node.group))->second;
}

std::int64_t ChakraCalls::recorded_by(std::uint32_t rank, std::uint32_t node) const {
  std::int64_t shortest = set_->ps_of(rank, node);
  if (!rank_0_stands_for_all_) return shortest;
  for (std::uint32_t r = 1; r < set_->ranks.size(); ++r) {
    if (!set_->ranks[r].ps.empty()) shortest = shorter(shortest, set_->ps_of(r, node));
  }
  return shortest;
}

/// The place-th collective of a communicator, as one member sees it.
Result<void> ChakraCalls::post(std::uint32_t rank, std::uint32_t index, ChakraCommunicator& communicator,
                               std::size_t place) {
  const traces::ChakraGraph& graph = set_->graphs[set_->ranks[rank].graph];
  const traces::ChakraNode& node = graph.nodes[index];
  const auto named = kind_of(graph, node);
  const bool priced = named && (node.comm_bytes >= 0 || *named == graph::CollectiveKind::barrier);
  const graph::CollectiveKind kind = named.value_or(graph::CollectiveKind::barrier);
  const std::int64_t bytes =
      priced ? bytes_of(kind, std::max<std::int64_t>(0, node.comm_bytes), communicator.members.size()) : 0;
  const std::int64_t recorded = recorded_by(rank, index);
  if (place == communicator.calls.size()) {
    communicator.calls.push_back({{kind, bytes, graph::DType::fp32, {}, {}}, rank, index, recorded, priced, {}});
    return {};
  }
  ChakraCall& call = communicator.calls[place];
  call.recorded_ps = shorter(call.recorded_ps, recorded);
  const bool own_sizes = kind == graph::CollectiveKind::all_to_all || kind == graph::CollectiveKind::send_recv;
  const bool same_size = call.op.bytes == bytes || own_sizes;
  if (call.op.kind == kind && same_size && call.priced == priced) {
    call.op.bytes = std::max(call.op.bytes, bytes);
    return {};
  }
  return Error{
      fmt::format(
          "{}: found {} of {} bytes, expected {} of {} bytes as for {}, in collective number {} of its communicator",
          describe(rank, index), graph::name_of(kind), bytes, graph::name_of(call.op.kind), call.op.bytes,
          describe(call.rank, call.node), place + 1),
      "", "all members must post their collectives in the same order"};
}

Result<void> ChakraCalls::find_of_rank(std::uint32_t rank) {
  const traces::ChakraGraph& graph = set_->graphs[set_->ranks[rank].graph];
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
    if (!is_collective(graph.nodes[n])) continue;
    const auto id = resolve(rank, graph.nodes[n]);
    if (!id) return Error{describe(rank, n) + ": " + id.error().what, "", id.error().hint};
    ChakraCommunicator& communicator = communicators_[*id];
    const auto member = std::lower_bound(communicator.members.begin(), communicator.members.end(), rank);
    if (member == communicator.members.end() || *member != rank) {
      return Error{fmt::format("{}: found a collective of group '{}', expected a member of it", describe(rank, n),
                               printable(graph.text_of(graph.nodes[n].group))),
                   "", ""};
    }
    TRY(post(rank, n, communicator, posted_[*id][static_cast<std::size_t>(member - communicator.members.begin())]++));
  }
  return {};
}

Result<void> ChakraCalls::check_complete() const {
  for (std::size_t id = 0; id < communicators_.size(); ++id) {
    const ChakraCommunicator& c = communicators_[id];
    for (std::size_t i = 0; i < c.members.size(); ++i) {
      if (posted_[id][i] == c.calls.size() || !set_->has_trace(c.members[i])) continue;
      const ChakraCall& missing = c.calls[posted_[id][i]];
      return Error{
          fmt::format("rank {}: found {} collectives on a communicator of {} ranks, expected {}: it never joins {}",
                      c.members[i], posted_[id][i], c.members.size(), c.calls.size(),
                      describe(missing.rank, missing.node)),
          "", "all members must post every collective"};
    }
  }
  return {};
}

Result<ChakraCalls> ChakraCalls::find(const traces::ChakraSet& set, const ChakraPlayOptions& options,
                                      bool same_on_all) {
  TRY(check_ranks(options.groups, "--groups", set));
  for (std::uint32_t g = 0; g < set.graphs.size(); ++g) {
    const auto first =
        std::find_if(set.ranks.begin(), set.ranks.end(), [g](const traces::ChakraRank& r) { return r.graph == g; });
    TRY(check_ranks(set.graphs[g].groups, fmt::format("trace of rank {}", first - set.ranks.begin()), set));
  }
  ChakraCalls calls(set, options);
  calls.rank_0_stands_for_all_ = same_on_all;
  calls.id_of_name_.resize(set.graphs.size());
  for (std::uint32_t rank = 0; rank < (same_on_all ? 1 : set.ranks.size()); ++rank) TRY(calls.find_of_rank(rank));
  if (!same_on_all) TRY(calls.check_complete());
  for (const ChakraCommunicator& c : calls.communicators_) {
    std::uint32_t outside = 0;
    while (std::binary_search(c.members.begin(), c.members.end(), outside)) ++outside;
    if (!same_on_all || !set.has_trace(outside)) continue;
    return Error{fmt::format("rank {}: found a collective of a group that it is not in, expected a member", outside),
                 "", "all ranks play the same trace"};
  }
  return calls;
}

Result<void> ChakraCalls::price(CommunicationCost& costs, bool recorded) {
  for (ChakraCommunicator& c : communicators_) {
    const bool of_all = c.members.size() == set_->ranks_of_job();
    const bool alone = of_all || (communicators_.size() == 1 && set_->job_ranks == 0);
    std::map<std::pair<graph::CollectiveKind, std::int64_t>, graph::Cost> known;
    for (ChakraCall& call : c.calls) {
      if (!call.priced && call.recorded_ps == 0)
        return Error{describe(call.rank, call.node) +
                         ": found a collective without kind or size and without a recorded time, "
                         "expected comm_type and comm_size, or a duration",
                     "", ""};
      if (!call.priced || (recorded && (call.recorded_ps > 0 || c.members.size() == 1))) {
        const Duration d = Duration::picoseconds(call.recorded_ps);
        call.cost = {d, d, d, graph::Basis::measured, "as recorded in the trace"};
        continue;
      }
      auto cost = known.find({call.op.kind, call.op.bytes});
      if (cost == known.end()) {
        const auto priced = costs.collective(call.op, c.members, alone);
        if (!priced) return Error{describe(call.rank, call.node) + ": " + priced.error().what, "", priced.error().hint};
        cost = known.emplace(std::pair(call.op.kind, call.op.bytes), *priced).first;
      }
      call.cost = cost->second;
    }
  }
  return {};
}

}  // namespace distsim::chakra
