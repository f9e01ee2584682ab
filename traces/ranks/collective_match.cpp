#include "traces/ranks/collective_match.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/median.hpp"
#include "base/text/counted.hpp"
#include "traces/build/collective_join.hpp"
#include "traces/ranks/message_ends.hpp"
#include "traces/ranks/size_alignment.hpp"
#include "traces/ranks/step_numbers.hpp"
#include "traces/ranks/unnamed_groups.hpp"

namespace distsim::traces {
namespace {

using Indices = std::vector<std::uint32_t>;  // of collectives of one rank, by start

/// Which are the same across ranks: equal keys.
struct MatchKey {
  StepPlace place;
  std::int64_t number = 0;  ///< recorded sequence number, or place
  auto operator<=>(const MatchKey&) const = default;
};

/// Two orders that long are compared element by element.
constexpr std::size_t kMostCompared = 1'000'000;

/// "1 of 8 collectives has": the verb agrees with the first number.
std::string of_all_collectives(std::uint64_t n, std::uint64_t all, std::string_view one, std::string_view many) {
  return std::to_string(n) + " of " + counted(all, "collective") + " " + std::string(agreeing(n, one, many));
}

/// Collectives among which each has its partners.
struct LaneOf {
  std::uint32_t group = kNone;
  graph::CollectiveKind kind = graph::CollectiveKind::all_reduce;
  MessageEnds ends;  ///< of sends and receives that state them
  auto operator<=>(const LaneOf&) const = default;
};

/// All collectives of one group and kind, or between two ends.
class MatchLane {
 public:
  MatchLane(const TraceJob& job, const LaneOf& of) : job_(job), kind_(of.kind), by_ends_(of.ends != MessageEnds{}) {}

  void add(std::uint32_t rank, std::uint32_t collective) { of_rank_[rank].push_back(collective); }

  struct Keyed {
    std::uint32_t rank, collective;
    MatchKey key;
  };
  /// Of those that are the same as one of another rank may be; by rank, then start.
  std::vector<Keyed> keyed(const std::vector<std::vector<StepPlace>>& places) {
    if (all_have_sequence()) {
      for (const auto& [rank, list] : of_rank_) {
        for (const std::uint32_t c : list) keys_[{rank, c}] = {{}, of(rank, c).sequence};
      }
    } else {
      key_by_steps(places);
      key_by_order(places);
    }
    std::vector<Keyed> out;
    for (const auto& [member, key] : keys_) out.push_back({member.first, member.second, key});
    return out;
  }

  /// Steps in which some could not be told apart, and ranks counted from the last.
  const std::set<std::int64_t>& open_steps() const { return open_steps_; }
  const std::set<std::uint32_t>& from_last() const { return from_last_; }

 private:
  const TraceCollective& of(std::uint32_t rank, std::uint32_t c) const { return job_.ranks[rank].collectives[c]; }
  std::int64_t end(std::uint32_t rank, std::uint32_t c) const { return end_of(job_.ranks[rank], of(rank, c)); }

  /// Of sends and receives each rank counts its own.
  bool all_have_sequence() const {
    return !by_ends_ && std::ranges::all_of(of_rank_, [&](const auto& at) {
      return std::ranges::all_of(at.second, [&](std::uint32_t c) { return of(at.first, c).sequence >= 0; });
    });
  }

  /// Ranks of a group issue the same ones, of which each says the same size; sends and receives go between two of them.
  bool sizes_tell() const {
    return kind_ != graph::CollectiveKind::all_to_all && kind_ != graph::CollectiveKind::send_recv;
  }
  std::vector<std::int64_t> sizes(std::uint32_t rank, const Indices& list) const {
    std::vector<std::int64_t> out;
    for (const std::uint32_t c : list) out.push_back(of(rank, c).bytes);
    return out;
  }
  /// Whether two orders of equal length cannot be the same: the size of an all-reduce is that of all of its ranks.
  bool contradict(std::uint32_t ra, const Indices& a, std::uint32_t rb, const Indices& b) const {
    if (kind_ != graph::CollectiveKind::all_reduce) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const std::int64_t sa = of(ra, a[i]).bytes, sb = of(rb, b[i]).bytes;
      if (sa >= 0 && sb >= 0 && sa != sb) return true;
    }
    return false;
  }

  void key_by_steps(const std::vector<std::vector<StepPlace>>& places) {
    std::map<StepPlace, std::map<std::uint32_t, Indices>> parts;
    for (const auto& [rank, list] : of_rank_) {
      if (places[rank].empty()) continue;
      for (const std::uint32_t c : list) parts[places[rank][c]][rank].push_back(c);
    }
    for (const auto& [place, ranks] : parts) {
      if (place.part == StepPlace::Part::in && kind_ != graph::CollectiveKind::send_recv)
        key_step(place, ranks);
      else
        for (const auto& [rank, list] : ranks) key_from_mark(place, rank, list);
    }
  }

  void key_from_mark(const StepPlace& place, std::uint32_t rank, const Indices& list) {
    for (std::size_t k = 0; k < list.size(); ++k) {
      const std::size_t number = place.part == StepPlace::Part::before ? list.size() - k : k;
      keys_[{rank, list[k]}] = {place, static_cast<std::int64_t>(number)};
    }
  }

  /// The rank whose number of collectives most have; of several such, the one with most of them.
  static std::uint32_t usual_rank(const std::map<std::uint32_t, Indices>& ranks) {
    std::map<std::size_t, std::size_t> with;
    for (const auto& [rank, list] : ranks) ++with[list.size()];
    std::uint32_t best = ranks.begin()->first;
    const auto better = [&](std::size_t a, std::size_t b) { return std::pair(with[a], a) > std::pair(with[b], b); };
    for (const auto& [rank, list] : ranks) {
      if (better(list.size(), ranks.at(best).size())) best = rank;
    }
    return best;
  }

  void key_step(const StepPlace& place, const std::map<std::uint32_t, Indices>& ranks) {
    const std::uint32_t usual = usual_rank(ranks);
    const Indices& all = ranks.at(usual);
    key_from_mark(place, usual, all);
    for (const auto& [rank, list] : ranks) {
      if (rank == usual) continue;
      const bool equal = list.size() == all.size();
      if (equal && !contradict(usual, all, rank, list)) {
        key_from_mark(place, rank, list);
        continue;
      }
      const std::size_t in_order = equal ? of_one_size(usual, all, rank, list, 0) : 0;
      const Joined by_sizes = joined_by_sizes(usual, all, rank, list);
      if (by_sizes.count > in_order)
        key_joined(usual, all, rank, list, by_sizes);
      else if (equal)
        key_from_mark(place, rank, list);
      if (!equal && by_sizes.count < std::min(all.size(), list.size())) open_steps_.insert(place.step);
    }
  }

  struct Joined {
    std::vector<std::uint32_t> to;  ///< places in the first order
    std::size_t count = 0;
  };
  Joined joined_by_sizes(std::uint32_t ra, const Indices& a, std::uint32_t rb, const Indices& b) const {
    Joined out;
    if (!sizes_tell() || a.size() * b.size() > kMostCompared) return out;
    out.to = certain_alignment(sizes(ra, a), sizes(rb, b));
    out.count = static_cast<std::size_t>(std::ranges::count_if(out.to, [](auto i) { return i != kUnaligned; }));
    return out;
  }
  void key_joined(std::uint32_t ra, const Indices& a, std::uint32_t rb, const Indices& b, const Joined& joined) {
    for (std::size_t k = 0; k < joined.to.size(); ++k) {
      if (joined.to[k] != kUnaligned) key_as(ra, a[joined.to[k]], rb, b[k]);
    }
  }
  void key_as(std::uint32_t ra, std::uint32_t a, std::uint32_t rb, std::uint32_t b) {
    if (const auto at = keys_.find({ra, a}); at != keys_.end()) keys_[{rb, b}] = at->second;
  }

  /// Ranks without numbered steps, after the one with most.
  void key_by_order(const std::vector<std::vector<StepPlace>>& places) {
    const auto numbered = [&](std::uint32_t rank) { return !places[rank].empty(); };
    const bool any = std::ranges::any_of(of_rank_, [&](const auto& at) { return numbered(at.first); });
    const Indices* all = nullptr;
    std::uint32_t first = 0;
    for (const auto& [rank, list] : of_rank_) {
      if (numbered(rank) != any || (all != nullptr && list.size() <= all->size())) continue;
      all = &list, first = rank;
    }
    if (all == nullptr) return;
    if (!any) key_from_mark({0, StepPlace::Part::in}, first, *all);
    for (const auto& [rank, list] : of_rank_) {
      if (rank != first && !numbered(rank)) key_after(first, *all, rank, list);
    }
  }

  void key_after(std::uint32_t ra, const Indices& a, std::uint32_t rb, const Indices& b) {
    const bool equal = a.size() == b.size();
    if (equal && !contradict(ra, a, rb, b)) return key_shifted(ra, a, rb, b, 0);
    const std::int64_t back = static_cast<std::int64_t>(a.size()) - static_cast<std::int64_t>(b.size());
    const std::size_t from_first = of_one_size(ra, a, rb, b, 0), from_last = of_one_size(ra, a, rb, b, back),
                      best = std::max(from_first, from_last);
    if (best < std::min(a.size(), b.size())) {
      if (const Joined by_sizes = joined_by_sizes(ra, a, rb, b); by_sizes.count > best)
        return key_joined(ra, a, rb, b, by_sizes);
    }
    const bool by_last = from_last > from_first || (from_last == from_first && !equal && is_closer(ra, a, rb, b, back));
    if (by_last) from_last_.insert(rb);
    key_shifted(ra, a, rb, b, by_last ? back : 0);
  }

  template <class Visit>
  static void visit_pairs(const Indices& a, const Indices& b, std::int64_t shift, Visit visit) {
    for (std::size_t k = 0; k < b.size(); ++k) {
      const std::int64_t i = static_cast<std::int64_t>(k) + shift;
      if (i >= 0 && i < static_cast<std::int64_t>(a.size())) visit(a[static_cast<std::size_t>(i)], b[k]);
    }
  }
  std::size_t of_one_size(std::uint32_t ra, const Indices& a, std::uint32_t rb, const Indices& b,
                          std::int64_t shift) const {
    std::size_t n = 0;
    visit_pairs(a, b, shift,
                [&](std::uint32_t x, std::uint32_t y) { n += of(ra, x).bytes == of(rb, y).bytes ? 1U : 0U; });
    return n;
  }
  /// Whether ends lie closer with `shift` than without. Recordings one after the other are on clocks that do not tell.
  bool is_closer(std::uint32_t ra, const Indices& a, std::uint32_t rb, const Indices& b, std::int64_t shift) const {
    if (!job_.ranks[ra].has_times || !job_.ranks[rb].has_times) return false;
    if (end(ra, a.back()) <= end(rb, b.front()) || end(rb, b.back()) <= end(ra, a.front())) return false;
    const auto apart = [&](std::int64_t by) {
      std::vector<std::int64_t> out;
      visit_pairs(a, b, by,
                  [&](std::uint32_t x, std::uint32_t y) { out.push_back(std::abs(end(ra, x) - end(rb, y))); });
      return upper_median(std::move(out));
    };
    return apart(shift) < apart(0);
  }
  void key_shifted(std::uint32_t ra, const Indices& a, std::uint32_t rb, const Indices& b, std::int64_t shift) {
    visit_pairs(a, b, shift, [&](std::uint32_t x, std::uint32_t y) { key_as(ra, x, rb, y); });
  }

  const TraceJob& job_;
  graph::CollectiveKind kind_;
  bool by_ends_;
  std::map<std::uint32_t, Indices> of_rank_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, MatchKey> keys_;  ///< by rank and collective
  std::set<std::int64_t> open_steps_;
  std::set<std::uint32_t> from_last_;
};

/// How many of the ranks that were read belong to a group; 0: not known.
std::size_t members_read(const TraceJob& job, std::uint32_t group) {
  const std::size_t size = group == kNone ? 0 : job.groups[group].size;
  if (group == kNone || job.groups[group].ranks.empty()) {
    const bool all = size > 0 && size >= job.world_size && size >= job.ranks.size();
    return all ? job.ranks.size() : 0;
  }
  return static_cast<std::size_t>(std::ranges::count_if(job.ranks, [&](const TraceRank& r) {
    return r.has_times && std::ranges::binary_search(job.groups[group].ranks, r.rank);
  }));
}

/// Collectives that some ranks of their group lack, though these were read: of a trace that ends before the others.
void note_lacking_members(TraceJob& job) {
  std::uint64_t lacking = 0;
  for (const CollectiveMatch& m : job.matches) {
    if (m.kind != graph::CollectiveKind::send_recv && m.members.size() < members_read(job, m.group)) ++lacking;
  }
  if (lacking > 0)
    job.notes.assume(std::to_string(lacking) + " of " + counted(job.matches.size(), "matched collective") + " " +
                     std::string(agreeing(lacking, "is", "are")) + " not in all traces of " +
                     std::string(agreeing(lacking, "its group", "their groups")) +
                     " that were read: does one of them end before the others?");
}

std::vector<std::vector<StepPlace>> places_of_ranks(const TraceJob& job) {
  std::vector<std::vector<StepPlace>> out;
  for (const TraceRank& rank : job.ranks)
    out.push_back(has_numbered_steps(rank) ? step_places(rank) : std::vector<StepPlace>{});
  return out;
}

void note_open_steps(TraceJob& job, const std::set<std::int64_t>& steps) {
  if (steps.empty()) return;
  job.notes.assume("ranks have different numbers of collectives in " + counted(steps.size(), "step") +
                   " (the first: #" + std::to_string(*steps.begin()) +
                   "), of which what sizes do not tell apart is matched with none: were kernels lost?");
}

/// Pairs of a rank with the first that are in steps of different numbers, and the times between the ends of the others. Those
/// of groups that no trace names count where there are no others.
struct ClockEvidence {
  std::vector<std::int64_t> apart, unnamed_apart;
  std::size_t other_steps = 0;
};

bool in_other_step(const StepPlace& a, const StepPlace& b) {
  return a.part == StepPlace::Part::in && b.part == StepPlace::Part::in && a.step != b.step;
}

/// How far the clocks of other ranks are from that of one, by the collectives that they share with it, which end at once.
class ClockEvidences {
 public:
  explicit ClockEvidences(const TraceJob& job) : job_(job), places_(places_of_ranks(job)), matches_(job.ranks.size()) {
    for (std::uint32_t i = 0; i < job.matches.size(); ++i) {
      const CollectiveMatch& m = job.matches[i];
      if (m.kind == graph::CollectiveKind::send_recv || m.kind == graph::CollectiveKind::broadcast) continue;
      for (const CollectiveMatch::Member& member : m.members) matches_[member.rank].push_back(i);
    }
  }

  /// Of each rank.
  std::vector<ClockEvidence> against(std::uint32_t reference) const {
    std::vector<ClockEvidence> out(job_.ranks.size());
    for (const std::uint32_t i : matches_[reference]) {
      const auto& members = job_.matches[i].members;
      const auto own = std::ranges::find(members, reference, &CollectiveMatch::Member::rank);
      if (!is_timed(*own)) continue;
      for (const CollectiveMatch::Member& member : members) {
        if (member.rank != reference && is_timed(member))
          add(*own, member, is_of_unnamed_group(job_, job_.matches[i]), out[member.rank]);
      }
    }
    return out;
  }

 private:
  bool is_timed(const CollectiveMatch::Member& member) const {
    return job_.ranks[member.rank].collectives[member.collective].timed;
  }
  std::int64_t end(const CollectiveMatch::Member& member) const {
    return end_of(job_.ranks[member.rank], job_.ranks[member.rank].collectives[member.collective]);
  }
  void add(const CollectiveMatch::Member& own, const CollectiveMatch::Member& other, bool unnamed,
           ClockEvidence& out) const {
    const auto &here = places_[own.rank], &there = places_[other.rank];
    const bool both = !here.empty() && !there.empty();
    if (both && in_other_step(here[own.collective], there[other.collective]))
      ++out.other_steps;
    else
      (unnamed ? out.unnamed_apart : out.apart).push_back(end(other) - end(own));
  }

  const TraceJob& job_;
  std::vector<std::vector<StepPlace>> places_;
  std::vector<std::vector<std::uint32_t>> matches_;  ///< of each rank
};

/// Whether times lie around their middle, but for a few, as those of one collective on two clocks do.
bool agree(const std::vector<std::int64_t>& apart, std::int64_t tolerance_ns) {
  constexpr double kMost = 0.75;  // chosen
  if (apart.empty()) return false;
  const std::int64_t middle = upper_median(apart);
  const auto near =
      std::ranges::count_if(apart, [&](std::int64_t ns) { return std::abs(ns - middle) <= tolerance_ns; });
  return static_cast<double>(near) >= kMost * static_cast<double>(apart.size());
}

/// Moves the clock of a rank to that of `first`, where what they share says so.
void align_clock(TraceRank& rank, ClockEvidence evidence, const std::string& first, std::int64_t tolerance_ns) {
  const std::size_t shared = evidence.apart.size() + evidence.other_steps;
  if (2 * evidence.other_steps > shared) {
    rank.notes.assume(of_all_collectives(evidence.other_steps, shared, "is", "are") +
                      " in a step of another number than on rank " + first +
                      ", so that its clock is left as it is: are the traces of one run?");
    return;
  }
  const std::int64_t shift = upper_median(std::move(evidence.apart));
  if (shift <= tolerance_ns && shift >= -tolerance_ns) return;
  move_times(rank, -shift);
  rank.notes.assume("clock moved by " + std::to_string(-shift / 1000) +
                    " us, so that its collectives end with those of rank " + first);
}

/// Those that share collectives with `first`, in a chain, onto its clock; they are those of which `clock_of` then says so.
void align_to(TraceJob& job, const ClockEvidences& evidences, std::uint32_t first, std::int64_t tolerance_ns,
              std::vector<std::uint32_t>& clock_of) {
  clock_of[first] = first;
  std::vector<std::uint32_t> references{first};
  for (std::size_t next = 0; next < references.size(); ++next) {
    std::vector<ClockEvidence> evidence = evidences.against(references[next]);
    const std::string name = std::to_string(job.ranks[references[next]].rank);
    for (std::uint32_t r = first + 1; r < job.ranks.size(); ++r) {
      ClockEvidence& of = evidence[r];
      if (of.apart.empty() && (of.other_steps > of.unnamed_apart.size() || agree(of.unnamed_apart, tolerance_ns)))
        of.apart = std::move(of.unnamed_apart);
      if (clock_of[r] != kNone || (of.apart.empty() && of.other_steps <= of.unnamed_apart.size())) continue;
      align_clock(job.ranks[r], std::move(of), name, tolerance_ns);
      clock_of[r] = first;
      references.push_back(r);
    }
  }
}

/// Of collectives that two ranks share: how much later they end on the second.
struct Apart {
  std::vector<std::int64_t> ends;
  bool one_way = true;  ///< broadcasts and sends alone
};
using EndsApart = std::map<std::pair<std::uint32_t, std::uint32_t>, Apart>;

/// Between ranks of different clocks only; those of one file have that of its profiler.
EndsApart ends_apart(const TraceJob& job, const std::vector<std::uint32_t>& clock_of) {
  EndsApart out;
  const auto end = [&](const CollectiveMatch::Member& m) {
    return end_of(job.ranks[m.rank], job.ranks[m.rank].collectives[m.collective]);
  };
  const auto timed = [&](const CollectiveMatch::Member& m) {
    const TraceRank& rank = job.ranks[m.rank];
    return rank.has_times && !rank.times_are_medians && rank.collectives[m.collective].timed;
  };
  for (const CollectiveMatch& match : job.matches) {
    const CollectiveMatch::Member& own = match.members.front();  // a pair with each other one shows what all pairs do
    for (const CollectiveMatch::Member& other : match.members) {
      const bool one_clock =
          clock_of[own.rank] == clock_of[other.rank] || job.ranks[own.rank].path == job.ranks[other.rank].path;
      if (one_clock || !timed(own) || !timed(other)) continue;
      Apart& apart = out[{own.rank, other.rank}];
      apart.ends.push_back(end(other) - end(own));
      apart.one_way = apart.one_way && (match.kind == graph::CollectiveKind::send_recv ||
                                        match.kind == graph::CollectiveKind::broadcast);
    }
  }
  return out;
}

/// A root or a sender may leave early, so that such ends move no clock: those that nearly all lie on one side are named.
void note_open_clocks(TraceJob& job, const std::vector<std::uint32_t>& clock_of, std::int64_t tolerance_ns) {
  constexpr double kNearlyAll = 0.75;  // chosen: where both ranks send, either is early about half of the time
  constexpr std::size_t kFewEnds = 3;  // chosen; fewer may be apart by chance
  for (auto& [ranks, shared] : ends_apart(job, clock_of)) {
    std::vector<std::int64_t>& apart = shared.ends;
    const auto later = std::ranges::count_if(apart, [&](std::int64_t ns) { return ns > tolerance_ns; }),
               earlier = std::ranges::count_if(apart, [&](std::int64_t ns) { return ns < -tolerance_ns; });
    const std::size_t all = apart.size(), most = static_cast<std::size_t>(std::max(later, earlier));
    if (all < kFewEnds || static_cast<double>(most) < kNearlyAll * static_cast<double>(all)) continue;
    TraceRank &own = job.ranks[ranks.first], &other = job.ranks[ranks.second];
    own.clock_is_open = other.clock_is_open = true;
    other.notes.assume(
        std::to_string(most) + " of " +
        (shared.one_way ? counted(all, "broadcast or send", "broadcasts and sends") : counted(all, "collective")) +
        " " + std::string(agreeing(most, "ends", "end")) + " " + (later > earlier ? "after" : "before") +
        " those of rank " + std::to_string(own.rank) + ", by " +
        std::to_string(std::abs(median(std::move(apart))) / 1000) +
        " us in the median: whether the two are on one clock is not known, and neither is called a straggler");
  }
}

struct Lanes {
  std::map<LaneOf, MatchLane> lanes;
  std::uint64_t total = 0;
  std::uint64_t open_messages = 0;  ///< of more than two ranks, without their other end
};

Lanes lanes_of(const TraceJob& job) {
  Lanes out;
  const Messages messages(job);
  for (std::uint32_t r = 0; r < job.ranks.size(); ++r) {
    const TraceRank& rank = job.ranks[r];
    for (std::uint32_t i = 0; i < rank.collectives.size(); ++i) {
      const TraceCollective& c = rank.collectives[i];
      if (!c.kind_known && c.group == kNone) continue;
      ++out.total;
      LaneOf of{c.group, c.kind, {}};
      if (c.kind == graph::CollectiveKind::send_recv && c.kind_known && messages.by_ends(c.group)) {
        const auto ends = messages.ends(r, c);
        if (ends) of.ends = *ends;
        if (!ends && c.group != kNone) {
          ++out.open_messages;
          continue;
        }
      }
      out.lanes.try_emplace(of, job, of).first->second.add(r, i);
    }
  }
  return out;
}

}  // namespace

void match_collectives(TraceJob& job) {
  job.matches.clear();
  if (job.ranks.size() < 2) return;
  Lanes lanes = lanes_of(job);
  struct Found {
    CollectiveMatch match;
    std::int64_t start = INT64_MAX;
  };
  std::map<std::pair<LaneOf, MatchKey>, Found> found;
  const std::vector<std::vector<StepPlace>> places = places_of_ranks(job);
  std::set<std::int64_t> open_steps;
  std::set<std::uint32_t> from_last;
  for (auto& [of, lane] : lanes.lanes) {
    for (const MatchLane::Keyed& k : lane.keyed(places)) {
      Found& f = found[{of, k.key}];
      if (!f.match.members.empty() && f.match.members.back().rank == k.rank) continue;  // a repeated sequence number
      f.match.kind = of.kind;
      f.match.group = of.group;
      f.match.members.push_back({k.rank, k.collective});
      f.start = std::min(f.start, start_of(job.ranks[k.rank], job.ranks[k.rank].collectives[k.collective]));
    }
    open_steps.insert(lane.open_steps().begin(), lane.open_steps().end());
    from_last.insert(lane.from_last().begin(), lane.from_last().end());
  }
  std::vector<const Found*> order;
  for (const auto& [key, f] : found) {
    const std::uint32_t group = f.match.group;
    // More members than the group has: two groups of one name, whose ranks the traces do not tell.
    const bool too_many =
        group != kNone && job.groups[group].size > 0 && f.match.members.size() > job.groups[group].size;
    if (f.match.members.size() >= 2 && !too_many) order.push_back(&f);
  }
  std::ranges::stable_sort(order, [](const Found* a, const Found* b) { return a->start < b->start; });
  std::uint64_t joined = 0;
  for (const Found* f : order) {
    const auto index = static_cast<std::uint32_t>(job.matches.size());
    job.matches.push_back(f->match);
    joined += f->match.members.size();
    for (const CollectiveMatch::Member& m : f->match.members) job.ranks[m.rank].collectives[m.collective].match = index;
  }
  if (joined < lanes.total)
    job.notes.assume(of_all_collectives(lanes.total - joined, lanes.total, "has", "have") +
                     " no partner on another rank that was read");
  if (lanes.open_messages > 0)
    job.notes.assume(
        of_all_collectives(lanes.open_messages, lanes.total, "is a send or receive", "are sends and receives") +
        " in a group of more than two ranks that " + std::string(agreeing(lanes.open_messages, "does", "do")) +
        " not say with which of them: matched with none");
  note_lacking_members(job);
  note_open_steps(job, open_steps);
  for (const std::uint32_t r : from_last)
    job.ranks[r].notes.assume("collectives matched from the last one backward, as their sizes or ends say");
}

/// From the first rank on: those that share collectives with it, then those that share some with these; and so from the first
/// of those that are left.
void align_clocks(TraceJob& job, std::int64_t tolerance_ns) {
  const ClockEvidences evidences(job);
  std::vector<std::uint32_t> clock_of(job.ranks.size(), kNone);
  for (std::uint32_t first = 0; first < job.ranks.size(); ++first) {
    if (clock_of[first] == kNone) align_to(job, evidences, first, tolerance_ns, clock_of);
  }
  note_open_clocks(job, clock_of, tolerance_ns);
}

}  // namespace distsim::traces
