#include "traces/ranks/message_ends.hpp"

#include <algorithm>

namespace distsim::traces {

Messages::Messages(const TraceJob& job)
    : job_(job), states_places_(job.groups.size() + 1, false), lacks_ends_(job.groups.size() + 1, false) {
  const auto each = [&](auto visit) {
    for (std::uint32_t r = 0; r < job.ranks.size(); ++r) {
      for (const TraceCollective& c : job.ranks[r].collectives) {
        if (c.kind == graph::CollectiveKind::send_recv) visit(r, c);
      }
    }
  };
  each([&](std::uint32_t, const TraceCollective& c) {
    for (const std::int64_t stated : {c.from, c.to}) {
      if (stated >= 0 && !is_member(c.group, stated)) states_places_[place(c.group)] = true;
    }
  });
  each([&](std::uint32_t r, const TraceCollective& c) {
    if (!ends(r, c)) lacks_ends_[place(c.group)] = true;
  });
}

std::optional<MessageEnds> Messages::ends(std::uint32_t rank, const TraceCollective& c) const {
  const std::int64_t own = job_.ranks[rank].rank;
  const MessageEnds e{c.from < 0 ? own : rank_of(c.group, c.from), c.to < 0 ? own : rank_of(c.group, c.to)};
  const bool own_is_one = e.from == own || e.to == own;
  return own_is_one && e.from != e.to && e.from >= 0 && e.to >= 0 ? std::optional(e) : std::nullopt;
}

bool Messages::is_pair(std::uint32_t group) const {
  if (group != kNone && job_.groups[group].size > 0) return job_.groups[group].size == 2;
  return std::max<std::size_t>(job_.world_size, job_.ranks.size()) <= 2;
}

bool Messages::is_member(std::uint32_t group, std::int64_t rank) const {
  return group == kNone || job_.groups[group].ranks.empty() ||
         std::ranges::binary_search(job_.groups[group].ranks, rank);
}

/// -1: no rank of the job.
std::int64_t Messages::rank_of(std::uint32_t group, std::int64_t stated) const {
  if (!states_places_[place(group)]) return stated;
  const std::vector<std::uint32_t>& ranks = job_.groups[group].ranks;
  return static_cast<std::size_t>(stated) < ranks.size() ? std::int64_t{ranks[static_cast<std::size_t>(stated)]} : -1;
}

}  // namespace distsim::traces
