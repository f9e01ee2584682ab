// Which rank stalls a run, from the progress that the ranks report. Pure: the watchdog's thread and sockets are
// elsewhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace distsim::bench {

/// What the monitor knows of a rank. Times are seconds on the monitor's clock.
struct RankState {
  std::uint64_t meetings = 0, calls = 0;  ///< see Pulse
  bool waiting = false;                   ///< for the other ranks
  std::string activity;                   ///< "all_reduce of 1048576 bytes, out-of-place, timing"
  double heard_at = 0;                    ///< last sign of life of its watchdog
  double moved_at = 0;                    ///< last change of meetings or calls
  bool gone = false;                      ///< its connection ended without a farewell
};

struct Verdict {
  std::vector<int> ranks;  ///< who holds the run up
  std::string why;         ///< "does not answer", "has ended", "is stuck", "all ranks wait"
  bool silent = false;     ///< nothing was heard of it: what it reported last may be long past, rank 0 knows better
};

/// A rank that has exited is named at once; one that has said nothing for `limit_s` is named; else, where the rank that
/// is furthest behind has not moved for `limit_s`, all ranks that are as far behind and do not themselves wait for
/// others. Ranks that wait are never named while one that does not is behind.
std::optional<Verdict> verdict_of(const std::vector<RankState>& ranks, double now, double limit_s);

}  // namespace distsim::bench
