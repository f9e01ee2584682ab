#include "sim/report/rank_sweep.hpp"

#include <algorithm>
#include <limits>

namespace distsim::report {
namespace {

struct Earlier {
  bool operator()(const Piece& a, const Piece& b) const {
    return a.begin != b.begin ? a.begin < b.begin : a.index < b.index;
  }
};

/// Pieces come stream by stream in order, folded ones first: mostly sorted already, or after one rotation.
void sort_pieces(std::vector<Piece>& v) {
  const auto descent = std::is_sorted_until(v.begin(), v.end(), Earlier());
  if (descent == v.end()) return;
  std::rotate(v.begin(), descent, v.end());
  if (!std::is_sorted(v.begin(), v.end(), Earlier())) std::sort(v.begin(), v.end(), Earlier());
}

/// Union of sorted pieces as disjoint ones.
void unite(const std::vector<Piece>& pieces, std::vector<Piece>& out) {
  out.clear();
  for (const Piece& p : pieces) {
    if (!out.empty() && p.begin <= out.back().end) {
      out.back().end = std::max(out.back().end, p.end);
    } else {
      out.push_back(p);
    }
  }
}

/// Union of two lists of sorted pieces as disjoint ones. `merged` is room to work in.
void unite_both(const std::vector<Piece>& a, const std::vector<Piece>& b, std::vector<Piece>& merged,
                std::vector<Piece>& out) {
  merged.resize(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), merged.begin(), Earlier());
  unite(merged, out);
}

std::int64_t length_of(const std::vector<Piece>& disjoint) {
  std::int64_t sum = 0;
  for (const Piece& p : disjoint) sum += p.end - p.begin;
  return sum;
}

/// Time in both of two lists of disjoint, sorted pieces.
std::int64_t overlap_of(const std::vector<Piece>& a, const std::vector<Piece>& b) {
  std::int64_t sum = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    sum += std::max<std::int64_t>(0, std::min(a[i].end, b[j].end) - std::max(a[i].begin, b[j].begin));
    a[i].end < b[j].end ? ++i : ++j;
  }
  return sum;
}

}  // namespace

void fold_into_window(const SteadyState& state, Piece piece, std::vector<Piece>& out) {
  const std::int64_t period = state.period();
  if (piece.end - piece.begin >= period) {
    if (period > 0) out.push_back({state.begin, state.end, piece.launched, piece.index});
    return;
  }
  while (piece.begin < piece.end) {
    const std::int64_t periods = piece.begin >= state.begin ? 0 : (state.begin - piece.begin + period - 1) / period;
    const std::int64_t shift = periods * period;
    const std::int64_t cut = std::min(piece.end + shift, state.end);
    out.push_back({piece.begin + shift, cut, piece.launched + shift, piece.index});
    piece.begin = cut - shift;
  }
}

std::int64_t RankSweep::launched(const DeviceStep& d, std::uint32_t rank) const {
  std::int64_t latest = std::numeric_limits<std::int64_t>::min() / 2;  // room for shifts
  for (const RowView& row : state_.launches_of(d)) latest = std::max(latest, row.at(rank));
  return latest;
}

void RankSweep::add_compute(const DeviceStep& d, std::uint32_t rank, std::int64_t start, std::int64_t end,
                            std::uint32_t index) {
  if (end == start) return;
  if (start < state_.begin) {
    fold_into_window(state_, {start, end, launched(d, rank), index}, compute_);
  } else if (!compute_.empty() && compute_.back().end == start) {
    compute_.back().end = end;
  } else {
    compute_.push_back({start, end, launched(d, rank), index});
  }
}

void RankSweep::collect(std::uint32_t rank, std::uint32_t count) {
  compute_.clear();
  comm_.clear();
  transfer_.clear();
  for (std::uint32_t i = 0; i < state_.steps.size(); ++i) {
    const DeviceStep& d = state_.steps[i];
    const std::int64_t start = d.start.at(rank), end = d.end.at(rank);
    sums_[i].time += WideTime(end - start) * count;
    if (!d.collective) {
      add_compute(d, rank, start, end, i);
      continue;
    }
    fold_into_window(state_, {d.ready.at(rank), end, 0, i}, comm_);
    fold_into_window(state_, {start, end, 0, i}, transfer_);
  }
  sort_pieces(compute_);
  sort_pieces(comm_);
  sort_pieces(transfer_);
}

/// Charges the time of `pieces` outside `cover` (disjoint) to their steps, to the earliest piece where several run at
/// once. Leaves the gaps between both in gaps_.
std::int64_t RankSweep::charge(const std::vector<Piece>& pieces, const std::vector<Piece>& cover,
                               WideTime StepSums::*to, std::uint32_t count) {
  gaps_.clear();
  std::int64_t sum = 0;
  std::size_t b = 0, c = 0;
  std::int64_t now = state_.begin;
  while (now < state_.end) {
    while (b < cover.size() && cover[b].end <= now) ++b;
    const std::int64_t cover_from = b < cover.size() ? cover[b].begin : state_.end;
    if (cover_from <= now) {
      now = cover[b].end;
      continue;
    }
    while (c < pieces.size() && pieces[c].end <= now) ++c;
    const bool inside = c < pieces.size() && pieces[c].begin <= now;
    const std::int64_t edge = c >= pieces.size() ? state_.end : inside ? pieces[c].end : pieces[c].begin;
    const std::int64_t until = std::min(cover_from, edge);
    if (inside) {
      sums_[pieces[c].index].*to += WideTime(until - now) * count;
      sum += until - now;
    } else {
      gaps_.push_back({now, until, 0, 0});
    }
    now = until;
  }
  return sum;
}

/// Of each gap, the part before the next compute step was launched. After the last step of the window comes the first
/// one, a period later.
std::int64_t RankSweep::host_bound_time() const {
  if (compute_.empty()) return 0;
  std::int64_t sum = 0;
  std::size_t next = 0;
  for (const Piece& gap : gaps_) {
    while (next < compute_.size() && compute_[next].begin < gap.end) ++next;
    if (next == compute_.size() && !state_.repeats) break;
    const std::int64_t launched =
        next < compute_.size() ? compute_[next].launched : compute_.front().launched + state_.period();
    sum += std::max<std::int64_t>(0, std::min(gap.end, launched) - gap.begin);
  }
  return sum;
}

RankTime RankSweep::sweep(std::uint32_t rank, std::uint32_t count) {
  RankTime out;
  if (state_.period() <= 0) return out;
  collect(rank, count);
  unite(compute_, busy_);
  unite(transfer_, moving_);
  unite_both(busy_, moving_, gaps_, active_);
  const std::int64_t compute = length_of(busy_);
  const std::int64_t exposed = charge(transfer_, busy_, &StepSums::exposed, count);
  const std::int64_t waiting =
      charge(comm_, active_, &StepSums::waiting, count);  // what of comm_ is not active is waiting
  const std::int64_t host = host_bound_time();
  out.compute = Duration::picoseconds(compute);
  out.comm = Duration::picoseconds(length_of(moving_));
  out.hidden_comm = Duration::picoseconds(overlap_of(moving_, busy_));
  out.exposed_comm = Duration::picoseconds(exposed);
  out.waiting = Duration::picoseconds(waiting);
  out.host_bound = Duration::picoseconds(host);
  out.idle = Duration::picoseconds(state_.period() - compute - exposed - waiting - host);
  return out;
}

}  // namespace distsim::report
