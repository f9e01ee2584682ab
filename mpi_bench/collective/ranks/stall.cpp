#include "mpi_bench/collective/ranks/stall.hpp"

#include <algorithm>
#include <tuple>

namespace distsim::bench {
namespace {

/// Of the limit: a rank that was not heard of for so long may have stopped, so that it is not said to be stuck.
constexpr double kQuiet = 0.25;

template <class Holds>
std::vector<int> those(const std::vector<RankState>& ranks, const Holds& holds) {
  std::vector<int> found;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (holds(ranks[r])) found.push_back(static_cast<int>(r));
  }
  return found;
}

/// In the order of progress: a rank that works is behind one that has come to the same meeting and waits there.
std::tuple<std::uint64_t, bool, std::uint64_t> progress(const RankState& r) {
  return {r.meetings, r.waiting, r.waiting ? 0 : r.calls};
}

}  // namespace

std::optional<Verdict> verdict_of(const std::vector<RankState>& ranks, double now, double limit_s) {
  if (auto gone = those(ranks, [](const RankState& r) { return r.gone; }); !gone.empty())
    return Verdict{std::move(gone), "has exited", false};
  if (limit_s <= 0 || ranks.empty()) return std::nullopt;
  if (auto silent = those(ranks, [&](const RankState& r) { return now - r.heard_at > limit_s; }); !silent.empty())
    return Verdict{std::move(silent), "does not respond", true};
  const auto last = progress(*std::min_element(
      ranks.begin(), ranks.end(), [](const RankState& a, const RankState& b) { return progress(a) < progress(b); }));
  auto behind = those(ranks, [&](const RankState& r) { return progress(r) == last; });
  for (const int r : behind) {
    if (now - ranks[r].moved_at <= limit_s) return std::nullopt;
    if (now - ranks[r].heard_at > kQuiet * limit_s) return std::nullopt;  // it is about to be named as silent
  }
  const bool all = behind.size() == ranks.size();
  return Verdict{std::move(behind), all ? "and all others are waiting for each other inside the library" : "is stuck",
                 false};
}

}  // namespace distsim::bench
