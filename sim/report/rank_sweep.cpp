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

void RankSweep::collect_compute(std::uint32_t rank) {
  compute_.clear();
  for (std::uint32_t i = 0; i < state_.steps.size(); ++i) {
    const DeviceStep& d = state_.steps[i];
    if (!d.collective && !d.prepares) add_compute(d, rank, d.start.at(rank), d.end.at(rank), i);
  }
  sort_pieces(compute_);
  unite(compute_, busy_);
}

void RankSweep::collect_preparing(std::uint32_t rank) {
  gaps_.clear();
  for (std::uint32_t i = 0; i < state_.steps.size(); ++i) {
    const DeviceStep& d = state_.steps[i];
    if (d.prepares) fold_into_window(state_, {d.start.at(rank), d.end.at(rank), 0, i}, gaps_);
  }
  sort_pieces(gaps_);
  unite(gaps_, preparing_);
}

/// Charges the time of the pieces of comm_ without compute to their steps, to the earliest piece where several run at
/// once. Leaves the gaps between both in gaps_.
std::int64_t RankSweep::charge_waiting(std::uint32_t count) {
  gaps_.clear();
  std::int64_t sum = 0;
  std::size_t b = 0, c = 0;
  std::int64_t now = state_.begin;
  while (now < state_.end) {
    while (b < busy_.size() && busy_[b].end <= now) ++b;
    const std::int64_t busy_from = b < busy_.size() ? busy_[b].begin : state_.end;
    if (busy_from <= now) {
      now = busy_[b].end;
      continue;
    }
    while (c < comm_.size() && comm_[c].end <= now) ++c;
    const bool inside = c < comm_.size() && comm_[c].begin <= now;
    const std::int64_t edge = c >= comm_.size() ? state_.end : inside ? comm_[c].end : comm_[c].begin;
    const std::int64_t until = std::min(busy_from, edge);
    if (inside) {
      sums_[comm_[c].index].waiting += WideTime(until - now) * count;
      sum += until - now;
    } else {
      gaps_.push_back({now, until, 0, 0});
    }
    now = until;
  }
  return sum;
}

/// Of each gap, the part before the next compute step was launched, and of the rest what the host prepares in. After the last
/// step of the window comes the first one, a period later.
std::int64_t RankSweep::host_bound_time() {
  std::int64_t sum = 0;
  std::size_t next = 0;
  for (Piece& gap : gaps_) {
    while (next < compute_.size() && compute_[next].begin < gap.end) ++next;
    if (compute_.empty() || (next == compute_.size() && !state_.repeats)) continue;
    const std::int64_t launched =
        next < compute_.size() ? compute_[next].launched : compute_.front().launched + state_.period();
    const std::int64_t until = std::clamp(launched, gap.begin, gap.end);
    sum += until - gap.begin;
    gap.begin = until;
  }
  return sum + overlap_of(gaps_, preparing_);
}

void RankSweep::transfers(std::uint32_t rank, std::uint32_t count, RankTime& out) {
  if (state_.period() <= 0) return;
  comm_.clear();
  for (std::uint32_t i = 0; i < state_.steps.size(); ++i) {
    const DeviceStep& d = state_.steps[i];
    const std::int64_t start = d.start.at(rank), end = d.end.at(rank);
    sums_[i].time += WideTime(end - start) * count;
    if (d.collective) fold_into_window(state_, {start, end, 0, i}, comm_);
  }
  if (comm_.empty()) return;
  collect_compute(rank);
  sort_pieces(comm_);
  unite(comm_, moving_);
  out.comm = Duration::picoseconds(length_of(moving_));
  out.hidden_comm = Duration::picoseconds(overlap_of(moving_, busy_));
}

void RankSweep::split(std::uint32_t rank, std::uint32_t count, RankTime& out) {
  if (state_.period() <= 0) return;
  collect_compute(rank);
  collect_preparing(rank);
  comm_.clear();
  for (std::uint32_t i = 0; i < state_.steps.size(); ++i) {
    const DeviceStep& d = state_.steps[i];
    if (d.collective) fold_into_window(state_, {d.ready.at(rank), d.start.at(rank), 0, i}, comm_);
  }
  sort_pieces(comm_);
  const std::int64_t compute = length_of(busy_), waiting = charge_waiting(count), host = host_bound_time();
  out.compute = Duration::picoseconds(compute);
  out.waiting = Duration::picoseconds(waiting);
  out.host_bound = Duration::picoseconds(host);
  out.idle = Duration::picoseconds(state_.period() - compute - waiting - host);
}

}  // namespace distsim::report
