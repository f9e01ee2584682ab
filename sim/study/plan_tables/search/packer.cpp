#include "sim/study/plan_tables/search/packer.hpp"

#include <algorithm>
#include <numeric>

#include "base/threads/stop.hpp"

namespace distsim::study {
namespace {

void insert_sorted(std::vector<std::uint32_t>& v, std::uint32_t x) {
  v.insert(std::lower_bound(v.begin(), v.end(), x), x);
}
void erase_sorted(std::vector<std::uint32_t>& v, std::uint32_t x) { v.erase(std::lower_bound(v.begin(), v.end(), x)); }

/// Tables from the largest shard to the smallest, those of all ranks and of nodes before the others.
std::vector<std::uint32_t> largest_first(const TableProblem& problem, const std::vector<std::uint32_t>& choice) {
  double work = 0;
  for (std::size_t t = 0; t < choice.size(); ++t) work += problem.work_of(problem.tables[t][choice[t]]);
  const double load = std::max(work / problem.ranks(), 1e-30), room = std::max<double>(1, double(problem.memory));
  std::vector<std::pair<Spread, double>> size(choice.size());
  for (std::size_t t = 0; t < choice.size(); ++t) {
    const TableChoice& c = problem.tables[t][choice[t]];
    size[t] = {c.spread, std::max(c.each.load.level() / load, static_cast<double>(c.each.memory) / room)};
  }
  std::vector<std::uint32_t> order(choice.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return size[a] > size[b]; });
  return order;
}

}  // namespace

Packer::Packer(const TableProblem& problem) : problem_(problem), ranks_(problem.ranks()), gpus_(problem.gpus) {
  clear();
}

void Packer::clear() {
  choice_.assign(problem_.tables.size(), 0);
  places_.assign(problem_.tables.size(), {});
  load_.assign(ranks_, {});
  memory_.assign(ranks_, 0);
  on_rank_.assign(ranks_, {});
  on_node_.assign(problem_.nodes, {});
  on_all_.clear();
}

std::size_t Packer::shard_on(std::uint32_t table, std::uint32_t place) const {
  const Places& p = places_[table];
  return static_cast<std::size_t>(std::find(p.begin(), p.end(), place) - p.begin());
}

void Packer::add(Spread spread, std::uint32_t place, const ShardPrice& price, int sign) {
  const std::uint32_t first = spread == Spread::ranks ? place : spread == Spread::nodes ? place * gpus_ : 0;
  const std::uint32_t count = spread == Spread::ranks ? 1 : spread == Spread::nodes ? gpus_ : ranks_;
  for (std::uint32_t r = first; r < first + count; ++r) {
    sign > 0 ? load_[r] += price.load : load_[r] -= price.load;
    memory_[r] += sign * price.memory;
  }
}

void Packer::put(std::uint32_t table, std::uint32_t choice, Places places) {
  choice_[table] = choice;
  places_[table] = std::move(places);
  const TableChoice& c = chosen(table);
  if (c.spread == Spread::everywhere) {
    add(c.spread, 0, c.last, 1);
    insert_sorted(on_all_, table);
  }
  for (std::size_t i = 0; i < places_[table].size(); ++i) {
    const std::uint32_t place = places_[table][i];
    add(c.spread, place, c.price(i), 1);
    insert_sorted(c.spread == Spread::ranks ? on_rank_[place] : on_node_[place], table);
  }
}

void Packer::take_off(std::uint32_t table) {
  const TableChoice& c = chosen(table);
  if (c.spread == Spread::everywhere) {
    add(c.spread, 0, c.last, -1);
    erase_sorted(on_all_, table);
  }
  for (std::size_t i = 0; i < places_[table].size(); ++i) {
    const std::uint32_t place = places_[table][i];
    add(c.spread, place, c.price(i), -1);
    erase_sorted(c.spread == Spread::ranks ? on_rank_[place] : on_node_[place], table);
  }
  places_[table].clear();
}

void Packer::restore(const Packing& packing) {
  clear();
  for (std::uint32_t t = 0; t < packing.choice.size(); ++t) put(t, packing.choice[t], packing.places[t]);
}

double Packer::level_of(Spread spread, std::uint32_t place, const Load& more) const {
  if (spread == Spread::ranks) return (load_[place] + more).level();
  double level = 0;
  for (std::uint32_t r = place * gpus_; r < (place + 1) * gpus_; ++r)
    level = std::max(level, (load_[r] + more).level());
  return level;
}

std::int64_t Packer::memory_of(Spread spread, std::uint32_t place) const {
  if (spread == Spread::ranks) return memory_[place];
  const auto first = memory_.begin() + place * gpus_;
  return *std::max_element(first, first + gpus_);
}

std::optional<Packer::Places> Packer::find_places(const TableChoice& c, std::optional<double> target) const {
  end_if_stopped();
  if (c.spread == Spread::everywhere) {
    const bool fits = *std::max_element(memory_.begin(), memory_.end()) + c.last.memory <= problem_.memory &&
                      (!target || most_after(c, {}) <= *target);
    return fits ? std::optional(Places()) : std::nullopt;
  }
  std::vector<std::pair<double, std::uint32_t>> open;
  const std::uint32_t places = c.spread == Spread::ranks ? ranks_ : problem_.nodes;
  for (std::uint32_t p = 0; p < places; ++p) {
    if (memory_of(c.spread, p) + c.each.memory > problem_.memory) continue;
    const double level = level_of(c.spread, p, c.each.load);
    if (!target)
      open.emplace_back(level, p);
    else if (level <= *target)
      open.emplace_back(-level, p);
  }
  looked_at_ += places;
  if (open.size() < c.shards) return std::nullopt;
  std::partial_sort(open.begin(), open.begin() + c.shards, open.end());
  if (target) std::reverse(open.begin(), open.begin() + c.shards);  // the least loaded first, as without
  Places out;
  for (std::uint32_t i = 0; i < c.shards; ++i) out.push_back(open[i].second);
  return out;
}

bool Packer::place(const std::vector<std::uint32_t>& choice) {
  clear();
  for (const std::uint32_t t : largest_first(problem_, choice)) {
    auto places = find_places(problem_.tables[t][choice[t]]);
    if (!places) return false;
    put(t, choice[t], std::move(*places));
  }
  return true;
}

std::uint32_t Packer::fullest() const {
  const auto less = [](const Load& a, const Load& b) { return a.level() < b.level(); };
  return static_cast<std::uint32_t>(std::max_element(load_.begin(), load_.end(), less) - load_.begin());
}

double Packer::most_after(const TableChoice& c, const Places& places) const {
  double most = 0;
  if (c.spread == Spread::everywhere) {
    for (const Load& load : load_) most = std::max(most, (load + c.last.load).level());
  }
  for (std::size_t i = 0; i < places.size(); ++i) most = std::max(most, level_of(c.spread, places[i], c.price(i).load));
  return most;
}

bool Packer::put_back(std::uint32_t table, double target) {
  std::optional<Recut> best;
  double least = 0;
  const auto& choices = problem_.tables[table];
  for (std::uint32_t c = 0; c < choices.size(); ++c) {
    const double work = problem_.work_of(choices[c]);
    if (best && best->most <= target && work >= least) continue;
    auto places = find_places(choices[c], target);
    const bool within = places.has_value();
    if (!within && best && best->most <= target) continue;
    if (!within) places = find_places(choices[c]);
    if (!places) continue;
    const double most = within ? target : std::max(most_after(choices[c], *places), target * (1 + 1e-12));
    if (best && !within && most >= best->most) continue;
    best = Recut{table, c, std::move(*places), most};
    least = work;
  }
  if (!best) return false;
  put(table, best->choice, std::move(best->places));
  return true;
}

/// In the order of the work that they were chosen with, the largest first.
bool Packer::put_all_back(const std::vector<std::uint32_t>& tables, double target) {
  std::vector<std::uint32_t> order = tables;
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return problem_.work_of(chosen(a)) > problem_.work_of(chosen(b)); });
  return std::all_of(order.begin(), order.end(), [&](std::uint32_t t) { return put_back(t, target); });
}

bool Packer::build(const std::vector<std::uint32_t>& choice, double target) {
  clear();
  choice_ = choice;
  std::vector<std::uint32_t> others;
  for (std::uint32_t t = 0; t < choice.size(); ++t) {
    if (chosen(t).spread != Spread::everywhere) {
      others.push_back(t);
      continue;
    }
    auto places = find_places(chosen(t));
    if (!places) return false;
    put(t, choice[t], std::move(*places));
  }
  return put_all_back(others, target);
}

std::vector<std::uint32_t> Packer::tables_on(std::uint32_t rank) const {
  std::vector<std::uint32_t> out = on_rank_[rank];
  out.insert(out.end(), on_node_[rank / gpus_].begin(), on_node_[rank / gpus_].end());
  return out;
}

bool Packer::recut(std::uint32_t table, std::uint32_t choice) {
  take_off(table);
  auto places = find_places(problem_.tables[table][choice]);
  if (!places) return false;
  put(table, choice, std::move(*places));
  return true;
}

bool Packer::rebuild(std::span<const std::uint32_t> ranks, double target) {
  std::vector<std::uint32_t> tables;
  for (const std::uint32_t r : ranks) {
    const std::vector<std::uint32_t> here = tables_on(r);
    tables.insert(tables.end(), here.begin(), here.end());
  }
  std::sort(tables.begin(), tables.end());
  tables.erase(std::unique(tables.begin(), tables.end()), tables.end());
  for (const std::uint32_t t : tables) take_off(t);
  return put_all_back(tables, target);
}

}  // namespace distsim::study
