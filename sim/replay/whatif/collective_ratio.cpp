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

/// Group sizes that one trace may state without all ranks of the job being listed.
bool spans_job(const traces::TraceGroup& group, std::uint32_t world) {
  const std::size_t size = group.size != 0 ? group.size : group.ranks.size();
  return size == 0 || size >= world;
}

bool share_a_rank(const traces::TraceGroup& a, const traces::TraceGroup& b) {
  return std::ranges::any_of(a.ranks, [&](std::uint32_t rank) { return std::ranges::binary_search(b.ranks, rank); });
}

}  // namespace

CollectiveRatio::CollectiveRatio(const traces::TraceJob& job, ReplayNetwork from, ReplayNetwork to, Jobs jobs)
    : job_(job), from_(from), to_(to), jobs_(jobs) {
  for (const traces::TraceRank& rank : job.ranks) {
    for (const traces::TraceCollective& c : rank.collectives) {
      if (c.group != traces::kNone) groups_of_[c.kind].insert(c.group);
    }
  }
}

/// Ranks that were not read are taken to do as those that were.
topology::Siblings CollectiveRatio::siblings(const traces::TraceCollective& c) const {
  if (c.group == traces::kNone || spans_job(job_.groups[c.group], jobs_.from_ranks)) return topology::Siblings::idle;
  if (job_.ranks.size() < jobs_.from_ranks || job_.groups[c.group].ranks.empty()) return topology::Siblings::active;
  const bool has_company = std::ranges::any_of(groups_of_.at(c.kind), [&](std::uint32_t other) {
    return !share_a_rank(job_.groups[c.group], job_.groups[other]);
  });
  return has_company ? topology::Siblings::active : topology::Siblings::idle;
}

CollectiveRatio::Members CollectiveRatio::members(const traces::TraceCollective& c, std::uint32_t world,
                                                  const ReplayNetwork& network) const {
  const std::uint32_t most = std::min(world, network.topology->ranks());
  Members out;
  if (c.group != traces::kNone && !spans_job(job_.groups[c.group], jobs_.from_ranks)) {
    const traces::TraceGroup& group = job_.groups[c.group];
    for (const std::uint32_t rank : group.ranks) {
      if (rank < most) out.push_back(rank);
    }
    const std::size_t size = group.size != 0 ? group.size : group.ranks.size();
    if (out.size() == size) return out;
    out.resize(std::min<std::size_t>(size, most));
  } else {
    out.resize(most);
  }
  std::iota(out.begin(), out.end(), 0u);
  return out;
}

Result<std::int64_t> CollectiveRatio::price(const ReplayNetwork& network, const traces::TraceCollective& c,
                                            std::int64_t bytes, const Members& members) {
  const topology::GroupFacts facts = network.topology->facts(members, siblings(c));
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

/// The size that takes `ps` on the system of the trace, by bisection of its logarithm; prices grow with bytes.
Result<std::int64_t> CollectiveRatio::bytes_for(const traces::TraceCollective& c, std::int64_t ps,
                                                const Members& members) {
  int low = 2, high = 36;
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
  return std::llround(std::ldexp(1 + part, low - 1));
}

Result<std::int64_t> CollectiveRatio::scaled(const traces::TraceCollective& c, std::int64_t ps, bool joined) {
  if (!c.kind_known || to_.topology == nullptr || (c.bytes < 0 && from_.topology == nullptr)) {
    ++kept_;
    return ps;
  }
  std::int64_t bytes = c.bytes;
  const Members before = from_.topology == nullptr ? Members{} : members(c, jobs_.from_ranks, from_);
  if (bytes < 0) {
    TRY_ASSIGN(bytes, bytes_for(c, ps, before));
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
