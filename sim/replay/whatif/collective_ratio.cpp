#include "sim/replay/whatif/collective_ratio.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace distsim::replay {
namespace {

bool depends_on_samples(graph::CollectiveKind kind) {
  return kind == graph::CollectiveKind::all_to_all || kind == graph::CollectiveKind::all_to_all_v ||
         kind == graph::CollectiveKind::send_recv;
}

std::size_t size_of(const traces::TraceGroup& group) { return group.size != 0 ? group.size : group.ranks.size(); }

/// Group sizes that one trace may state without all ranks of the job being listed.
bool spans_job(const traces::TraceGroup& group, std::uint32_t world) {
  const std::size_t size = size_of(group);
  return size == 0 || size >= world;
}

bool share_a_rank(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) {
  return std::ranges::any_of(a, [&](std::uint32_t rank) { return std::ranges::binary_search(b, rank); });
}

bool crosses_nodes(const topology::Topology& t, const std::vector<std::uint32_t>& members) {
  const auto domain = [&](std::uint32_t rank) { return t.domains().of_node(t.node_of(rank)); };
  return domain(members.front()) != domain(members.back());
}

/// Adds neighbours of the first until there are `size`: of its own block of so many, then from rank 0 on.
void fill_with_neighbours(std::vector<std::uint32_t>& members, std::size_t size, std::uint32_t world) {
  const std::size_t first = members.empty() ? 0 : members.front() / size * size;
  std::set<std::uint32_t> all(members.begin(), members.end());
  for (std::size_t rank = first; rank < world && all.size() < size; ++rank)
    all.insert(static_cast<std::uint32_t>(rank));
  for (std::uint32_t rank = 0; all.size() < size; ++rank) all.insert(rank);
  members.assign(all.begin(), all.end());
}

}  // namespace

CollectiveRatio::CollectiveRatio(const traces::TraceJob& job, ReplayNetwork from, ReplayNetwork to, Jobs jobs)
    : job_(job), from_(from), to_(to), jobs_(jobs), ranks_of_(job.groups.size()) {
  for (const traces::TraceRank& rank : job.ranks) {
    for (const traces::TraceCollective& c : rank.collectives) {
      if (c.group == traces::kNone) continue;
      groups_of_[c.kind].insert(c.group);
      Members& seen = ranks_of_[c.group];
      if (seen.empty() || seen.back() != rank.rank) seen.push_back(rank.rank);
    }
  }
  for (std::uint32_t g = 0; g < ranks_of_.size(); ++g) {
    Members& ranks = ranks_of_[g];
    if (!job.groups[g].ranks.empty()) ranks = job.groups[g].ranks;
    std::ranges::sort(ranks);
    ranks.erase(std::ranges::unique(ranks).begin(), ranks.end());
    if (ranks.size() > size_of(job.groups[g]) && job.groups[g].ranks.empty())
      ranks.clear();  // several groups of one name
  }
}

CollectiveRatio::Members CollectiveRatio::known_members(const traces::TraceCollective& c) const {
  const std::size_t size = size_of(job_.groups[c.group]);
  if (!ranks_of_[c.group].empty() || c.match == traces::kNone || job_.matches[c.match].members.size() > size)
    return ranks_of_[c.group];
  std::set<std::uint32_t> matched;
  for (const traces::CollectiveMatch::Member& m : job_.matches[c.match].members)
    matched.insert(job_.ranks[m.rank].rank);
  return {matched.begin(), matched.end()};
}

CollectiveRatio::Members CollectiveRatio::placed(const Members& known, std::size_t size, std::uint32_t most) const {
  Members out;
  for (const std::uint32_t rank : known) {
    if (rank < most && out.size() < size) out.push_back(rank);
  }
  if (out.size() < size) fill_with_neighbours(out, std::min<std::size_t>(size, most), most);
  return out;
}

CollectiveRatio::Members CollectiveRatio::members(const traces::TraceCollective& c, std::uint32_t world,
                                                  const ReplayNetwork& network) {
  const std::uint32_t most = std::min(world, network.topology->ranks());
  if (c.group == traces::kNone || spans_job(job_.groups[c.group], jobs_.from_ranks)) {
    Members all(most);
    std::iota(all.begin(), all.end(), 0u);
    return all;
  }
  const Members known = known_members(c);
  const std::size_t size = size_of(job_.groups[c.group]);
  if (known.size() < size) guessed_.insert(c.group);
  return placed(known, size, most);
}

/// Ranks that were not read are taken to do as those that were: all GPUs are busy.
CollectiveRatio::Company CollectiveRatio::company(const ReplayNetwork& network, const traces::TraceCollective& c,
                                                  const Members& members) {
  using topology::Siblings;
  if (c.group == traces::kNone || spans_job(job_.groups[c.group], jobs_.from_ranks)) return {Siblings::idle, {}};
  if (job_.ranks.size() < jobs_.from_ranks) return {Siblings::active, {}};
  const auto [at, is_new] = company_.try_emplace({network.topology, c.kind, c.group});
  if (is_new) at->second = company_of(network, c, members);
  return at->second;
}

CollectiveRatio::Company CollectiveRatio::company_of(const ReplayNetwork& network, const traces::TraceCollective& c,
                                                     const Members& members) const {
  const topology::Topology& t = *network.topology;
  const std::uint32_t most = std::min(network.topology == to_.topology ? jobs_.to_ranks : jobs_.from_ranks, t.ranks());
  const bool crosses = crosses_nodes(t, members);
  std::set<std::uint32_t> busy(members.begin(), members.end());
  for (const std::uint32_t other : groups_of_.at(c.kind)) {
    const traces::TraceGroup& group = job_.groups[other];
    if (spans_job(group, jobs_.from_ranks)) continue;
    if (ranks_of_[other].size() < size_of(group)) return {topology::Siblings::active, {}};
    if (share_a_rank(ranks_of_[c.group], ranks_of_[other])) continue;
    const Members beside = placed(ranks_of_[other], size_of(group), most);
    if (!crosses || crosses_nodes(t, beside)) busy.insert(beside.begin(), beside.end());
  }
  if (busy.size() == members.size()) return {topology::Siblings::idle, {}};
  return {topology::Siblings::active, Members(busy.begin(), busy.end())};
}

Result<std::int64_t> CollectiveRatio::price(const ReplayNetwork& network, const traces::TraceCollective& c,
                                            std::int64_t bytes, const Members& members) {
  const Company beside = company(network, c, members);
  const topology::GroupFacts facts = network.topology->facts(members, beside.siblings, {}, beside.busy);
  const std::string key = std::to_string(static_cast<int>(c.kind)) + "/" + std::to_string(bytes) + "/" +
                          (network.topology == to_.topology ? "to/" : "from/") + facts.key();
  if (const auto it = known_.find(key); it != known_.end()) return it->second;
  graph::Collective op;
  op.kind = c.kind == graph::CollectiveKind::all_to_all_v ? graph::CollectiveKind::all_to_all : c.kind;
  op.bytes = bytes;
  op.dtype = c.dtype;
  TRY_ASSIGN(const graph::Cost cost, network.models->price(op, facts));
  known_.emplace(key, cost.mean.ps());
  return cost.mean.ps();
}

/// The size that takes `ps` on the system of the trace, by bisection of its logarithm; prices grow with bytes. A time below
/// that of the smallest size is that one's; of a time that no size takes, as where prices do not depend on bytes, none is known.
Result<std::optional<std::int64_t>> CollectiveRatio::bytes_for(const traces::TraceCollective& c, std::int64_t ps,
                                                               const Members& members) {
  int low = 2, high = 36;
  TRY_ASSIGN(const std::int64_t least, price(from_, c, std::int64_t{1} << (low - 1), members));
  TRY_ASSIGN(const std::int64_t most, price(from_, c, std::int64_t{1} << high, members));
  if (most <= least || most < ps) return std::optional<std::int64_t>();
  while (low < high) {
    const int middle = (low + high) / 2;
    TRY_ASSIGN(const std::int64_t at_middle, price(from_, c, std::int64_t{1} << middle, members));
    if (at_middle < ps)
      low = middle + 1;
    else
      high = middle;
  }
  // Between two powers of two, time is taken as a straight line.
  TRY_ASSIGN(const std::int64_t above, price(from_, c, std::int64_t{1} << low, members));
  TRY_ASSIGN(const std::int64_t below, price(from_, c, std::int64_t{1} << (low - 1), members));
  const double part =
      above > below ? std::clamp(static_cast<double>(ps - below) / static_cast<double>(above - below), 0.0, 1.0) : 1;
  return std::optional<std::int64_t>(std::llround(std::ldexp(1 + part, low - 1)));
}

/// A collective of the one rank that was read, of a job that does not say how many it has.
bool CollectiveRatio::is_of_unknown_ranks(const traces::TraceCollective& c) const {
  if (jobs_.from_ranks > 1 || job_.world_size > 0) return false;
  return c.group == traces::kNone || size_of(job_.groups[c.group]) == 0;
}

Result<std::int64_t> CollectiveRatio::scaled(const traces::TraceCollective& c, std::int64_t ps, bool joined) {
  if (!c.kind_known || to_.topology == nullptr || (c.bytes < 0 && from_.topology == nullptr)) {
    ++kept_;
    return ps;
  }
  if (from_.topology != nullptr && is_of_unknown_ranks(c)) {
    ++of_unknown_ranks_;
    return ps;
  }
  std::int64_t bytes = c.kind == graph::CollectiveKind::barrier ? std::max<std::int64_t>(0, c.bytes) : c.bytes;
  const Members before = from_.topology == nullptr ? Members{} : members(c, jobs_.from_ranks, from_);
  if (bytes < 0) {
    TRY_ASSIGN(const std::optional<std::int64_t> found, bytes_for(c, ps, before));
    if (!found) {
      ++of_no_size_;
      return ps;
    }
    bytes = *found;
    ++inferred_;
  }
  const auto new_bytes =
      depends_on_samples(c.kind) ? std::llround(static_cast<double>(bytes) * jobs_.batch_scale) : bytes;
  TRY_ASSIGN(const std::int64_t after, price(to_, c, new_bytes, members(c, jobs_.to_ranks, to_)));
  if (from_.topology == nullptr) {
    ++by_prediction_;
    return after;
  }
  TRY_ASSIGN(const std::int64_t reference, price(from_, c, bytes, before));
  ++by_ratio_;
  if (!joined && ps > reference) return after + (ps - reference);
  return reference > 0
             ? std::llround(static_cast<double>(ps) * static_cast<double>(after) / static_cast<double>(reference))
             : after;
}

}  // namespace distsim::replay
