// Between which two ranks a send or receive goes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "traces/trace.hpp"

namespace distsim::traces {

/// Ranks of the job.
struct MessageEnds {
  std::int64_t from = -1, to = -1;
  auto operator<=>(const MessageEnds&) const = default;
};

/// Sends and receives of a job by what their calls state. What a call leaves out is its own rank, so that a send and its receive
/// have equal ends. Numbers that are no members of their group are places in it.
class Messages {
 public:
  explicit Messages(const TraceJob& job);

  /// Nothing where the other rank is not stated.
  std::optional<MessageEnds> ends(std::uint32_t rank, const TraceCollective& c) const;

  /// Whether they are matched by their ends: in groups of two only where all state them.
  bool by_ends(std::uint32_t group) const { return !is_pair(group) || !lacks_ends_[place(group)]; }

  /// A group of two, where both ends are known without a word.
  bool is_pair(std::uint32_t group) const;

 private:
  std::size_t place(std::uint32_t group) const { return group == kNone ? job_.groups.size() : group; }
  bool is_member(std::uint32_t group, std::int64_t rank) const;
  std::int64_t rank_of(std::uint32_t group, std::int64_t stated) const;

  const TraceJob& job_;
  std::vector<bool> states_places_, lacks_ends_;  ///< by group, the last of those without one
};

}  // namespace distsim::traces
