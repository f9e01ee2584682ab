// Packer: a plan under change. Knows seconds and bytes only. Deterministic: of equals the lower number wins.
#pragma once

#include <optional>
#include <span>

#include "sim/study/plan_tables/search/table_choice.hpp"

namespace distsim::study {

class Packer {
 public:
  explicit Packer(const TableProblem& problem);

  /// Places all tables as chosen: first those of every rank, then those of nodes, then the others, each from the largest
  /// shard (of seconds or of memory, against what a rank has) to the smallest, on the least loaded places with room.
  /// False where some shard finds none.
  bool place(const std::vector<std::uint32_t>& choice);

  /// Makes the most loaded rank less loaded, as long as that is possible: a shard moves to another rank, trades places
  /// with a smaller one, or its table is split in another way (split, merged, another sharding) and placed anew. Of these
  /// the one that leaves the ranks concerned with the least load; every step lowers the load of the most loaded rank.
  /// At most until looked_at() is `end`.
  void improve(std::uint64_t end);

  /// A plan towards a target: tables that `choice` gives to every rank first, the others as in rebuild().
  bool build(const std::vector<std::uint32_t>& choice, double target);

  /// Takes every table off that has a shard on one of the ranks, and puts them back in the order of their work: each
  /// in the way of the least work that leaves no rank above `target`, on the fullest places where that is so; where there
  /// is none, in the way that leaves the least load. False where some table finds no room: the plan is then incomplete.
  bool rebuild(std::span<const std::uint32_t> ranks, double target);

  /// Splits a table in another way, on the least loaded places with room; false where there are none.
  bool recut(std::uint32_t table, std::uint32_t choice);
  /// Tables with a shard on the rank or its node.
  std::vector<std::uint32_t> tables_on(std::uint32_t rank) const;

  std::uint32_t fullest() const;
  double most() const { return load_[fullest()].level(); }
  /// Steps and places that were looked at.
  std::uint64_t looked_at() const { return looked_at_; }
  Packing packing() const { return {choice_, places_, most()}; }
  void restore(const Packing& packing);

 private:
  using Places = std::vector<std::uint32_t>;  ///< of shards, in their order
  struct Move {
    std::uint32_t table = 0, from = 0, to = 0;
    double most = 0;
  };
  struct Swap {
    std::uint32_t table = 0, other = 0, rank = 0;
    double most = 0;
  };
  struct Recut {
    std::uint32_t table = 0, choice = 0;
    Places places;
    double most = 0;
  };
  void clear();
  const TableChoice& chosen(std::uint32_t table) const { return problem_.tables[table][choice_[table]]; }
  std::size_t shard_on(std::uint32_t table, std::uint32_t place) const;
  bool holds(std::uint32_t table, std::uint32_t place) const { return shard_on(table, place) < places_[table].size(); }
  const ShardPrice& price_on(std::uint32_t table, std::uint32_t place) const {
    return chosen(table).price(places_[table].size() == 1 ? 0 : shard_on(table, place));
  }
  void add(Spread spread, std::uint32_t place, const ShardPrice& price, int sign);
  void put(std::uint32_t table, std::uint32_t choice, Places places);
  void take_off(std::uint32_t table);
  void set_place(std::uint32_t table, std::uint32_t from, std::uint32_t to);
  /// Level of a place with `more` on it.
  double level_of(Spread spread, std::uint32_t place, const Load& more = {}) const;
  std::int64_t memory_of(Spread spread, std::uint32_t place) const;
  /// The least loaded ones with room; with a target, the fullest ones that stay within it.
  std::optional<Places> find_places(const TableChoice& c, std::optional<double> target = {}) const;
  double most_after(const TableChoice& c, const Places& places) const;
  bool put_back(std::uint32_t table, double target);
  bool put_all_back(const std::vector<std::uint32_t>& tables, double target);
  std::optional<Move> best_move(std::uint32_t rank) const;
  std::optional<Swap> best_swap(std::uint32_t rank) const;
  std::optional<Recut> best_recut(std::uint32_t rank);
  void consider_shared(double limit, std::optional<Recut>& best);
  bool improve_rank(std::uint32_t rank);

  const TableProblem& problem_;
  std::uint32_t ranks_, gpus_;
  std::vector<std::uint32_t> choice_;
  std::vector<Places> places_;
  std::vector<Load> load_;
  std::vector<std::int64_t> memory_;
  std::vector<std::vector<std::uint32_t>> on_rank_;  ///< tables with a shard of one rank there, ordered
  std::vector<std::vector<std::uint32_t>> on_node_;  ///< tables with a shard of a node there, ordered
  std::vector<std::uint32_t> on_all_;                ///< tables of every rank, ordered
  mutable std::uint64_t looked_at_ = 0;
};

}  // namespace distsim::study
