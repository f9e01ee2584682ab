// Steps that make the most loaded rank less loaded.
#include <algorithm>
#include <limits>

#include "base/threads/stop.hpp"
#include "sim/study/plan_tables/search/packer.hpp"

namespace distsim::study {
namespace {

constexpr double kLess = 1 - 1e-9;  // of a load: what is not below it by this is rounding

}  // namespace

/// Of what stands on a rank alone or with its node.
std::optional<Packer::Move> Packer::best_move(std::uint32_t rank) const {
  std::optional<Move> best;
  const double limit = load_[rank].level() * kLess;
  const auto consider = [&](std::uint32_t table, std::uint32_t from, std::uint32_t places) {
    const Spread spread = chosen(table).spread;
    const ShardPrice& price = price_on(table, from);
    for (std::uint32_t to = 0; to < places; ++to) {
      const double most = level_of(spread, to, price.load);
      if (most >= limit || (best && most >= best->most)) continue;
      if (holds(table, to) || memory_of(spread, to) + price.memory > problem_.memory) continue;
      best = Move{table, from, to, most};
    }
    looked_at_ += places;
  };
  for (const std::uint32_t t : on_rank_[rank]) consider(t, rank, ranks_);
  for (const std::uint32_t t : on_node_[rank / gpus_]) consider(t, rank / gpus_, problem_.nodes);
  return best;
}

std::optional<Packer::Swap> Packer::best_swap(std::uint32_t rank) const {
  std::optional<Swap> best;
  const Load here = load_[rank];
  const double limit = here.level() * kLess;
  for (const std::uint32_t mine : on_rank_[rank]) {
    end_if_stopped();
    const ShardPrice& a = price_on(mine, rank);
    for (std::uint32_t q = 0; q < ranks_; ++q) {
      if (load_[q].level() >= limit || holds(mine, q)) continue;
      looked_at_ += on_rank_[q].size();
      for (const std::uint32_t other : on_rank_[q]) {
        const ShardPrice& b = price_on(other, q);
        const Load less = a.load - b.load;
        const double most = std::max((here - less).level(), (load_[q] + less).level());
        if (most >= limit || (best && most >= best->most)) continue;
        if (memory_[rank] - a.memory + b.memory > problem_.memory ||
            memory_[q] - b.memory + a.memory > problem_.memory || holds(other, rank))
          continue;
        best = Swap{mine, other, q, most};
      }
    }
  }
  return best;
}

/// Tables of every rank that go to some: all ranks lose the same, so that their order stays nearly as it is.
void Packer::consider_shared(double limit, std::optional<Recut>& best) {
  std::vector<Load> loads = load_;
  std::sort(loads.begin(), loads.end(), [](const Load& a, const Load& b) { return a.level() < b.level(); });
  for (const std::uint32_t t : on_all_) {
    const Load less = chosen(t).last.load;
    const std::uint32_t old = choice_[t];
    for (std::uint32_t c = 0; c < problem_.tables[t].size(); ++c) {
      const TableChoice& choice = problem_.tables[t][c];
      ++looked_at_;
      if (choice.spread != Spread::ranks) continue;
      const double most =
          std::max((loads.back() - less).level(), (loads[choice.shards - 1] + choice.each.load - less).level());
      if (most >= limit || (best && most >= best->most)) continue;
      take_off(t);
      auto places = find_places(choice);
      put(t, old, {});
      if (places) best = Recut{t, c, std::move(*places), most};
    }
  }
}

std::optional<Packer::Recut> Packer::best_recut(std::uint32_t rank) {
  std::optional<Recut> best;
  const double limit = load_[rank].level() * kLess;
  for (const std::uint32_t t : tables_on(rank)) {
    end_if_stopped();
    const std::uint32_t old = choice_[t];
    Places old_places = places_[t];
    take_off(t);
    for (std::uint32_t c = 0; c < problem_.tables[t].size(); ++c) {
      if (c == old) continue;
      auto places = find_places(problem_.tables[t][c]);
      if (!places) continue;
      const double most = std::max(most_after(problem_.tables[t][c], *places), load_[rank].level());
      if (most < limit && (!best || most < best->most)) best = Recut{t, c, std::move(*places), most};
    }
    put(t, old, std::move(old_places));
  }
  consider_shared(limit, best);
  return best;
}

void Packer::set_place(std::uint32_t table, std::uint32_t from, std::uint32_t to) {
  Places places = places_[table];
  places[shard_on(table, from)] = to;
  take_off(table);
  put(table, choice_[table], std::move(places));
}

bool Packer::improve_rank(std::uint32_t rank) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  const auto swap = best_swap(rank);
  const auto move = best_move(rank);
  auto recut = best_recut(rank);
  const double by_swap = swap ? swap->most : kNone, by_move = move ? move->most : kNone,
               by_recut = recut ? recut->most : kNone;
  if (by_move < kNone && by_move <= by_swap && by_move <= by_recut) {
    set_place(move->table, move->from, move->to);
  } else if (by_swap < kNone && by_swap <= by_recut) {
    set_place(swap->table, rank, swap->rank);
    set_place(swap->other, swap->rank, rank);
  } else if (recut) {
    take_off(recut->table);
    put(recut->table, recut->choice, std::move(recut->places));
  } else {
    return false;
  }
  return true;
}

void Packer::improve(std::uint64_t end) {
  while (looked_at_ < end && improve_rank(fullest())) end_if_stopped();
}

}  // namespace distsim::study
