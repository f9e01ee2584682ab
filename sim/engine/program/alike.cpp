#include "sim/engine/program/alike.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

namespace distsim::engine {
namespace {

constexpr std::uint32_t kNoPlace = 0xFFFFFFFFu;

/// Groups of places, found from those of ranks.
class PlaceGroups {
 public:
  explicit PlaceGroups(std::uint32_t places) : group_of_(places, kNoPlace) { out_.offsets = {0}; }

  /// The places of a group's ranks, in any order and number. False where one of them has led to other places before.
  bool add(std::vector<std::uint32_t>& places) {
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    if (places.empty()) return true;
    if (const std::uint32_t known = group_of_[places.front()]; known != kNoPlace) {
      const auto members = std::span(out_.members);
      const std::uint32_t begin = out_.offsets[known], end = out_.offsets[known + 1];
      return std::ranges::equal(members.subspan(begin, end - begin), places);
    }
    for (const std::uint32_t place : places) {
      if (group_of_[place] != kNoPlace) return false;
      group_of_[place] = static_cast<std::uint32_t>(out_.offsets.size() - 1);
    }
    out_.members.insert(out_.members.end(), places.begin(), places.end());
    out_.offsets.push_back(static_cast<std::uint32_t>(out_.members.size()));
    return true;
  }
  Groups take() { return std::move(out_); }

 private:
  std::vector<std::uint32_t> group_of_;  ///< in out_
  Groups out_;
};

/// Blocks of a listed partition: group by group, each once; nothing where ranks of one block lead to different blocks.
std::optional<Groups> listed_places(const Groups& g, std::uint32_t ranks, std::uint32_t each) {
  std::vector<std::uint32_t> members_in(ranks / each, 0), blocks;
  PlaceGroups found(ranks / each);
  for (std::size_t i = 0; i + 1 < g.offsets.size(); ++i) {
    blocks.clear();
    for (std::uint32_t m = g.offsets[i]; m < g.offsets[i + 1]; ++m) {
      blocks.push_back(g.members[m] / each);
      ++members_in[blocks.back()];
    }
    if (!found.add(blocks)) return {};
  }
  if (std::ranges::any_of(members_in, [&](std::uint32_t n) { return n != each; })) return {};
  return found.take();
}

std::optional<Groups> blocks_of(const Groups& g, std::uint32_t ranks, std::uint32_t each) {
  if (g.listed()) return listed_places(g, ranks, each);
  if (each % (std::uint64_t{g.size} * g.stride) == 0) return Groups{1, 1, {}, {}};
  if (g.stride % each == 0) return Groups{g.size, g.stride / each, {}, {}};
  if (g.stride == 1 && g.size % each == 0) return Groups{g.size / each, 1, {}, {}};
  return {};
}

Groups listed_of(const Groups& g, std::uint32_t ranks) {
  if (g.listed()) return g;
  Groups out;
  out.offsets = {0};
  for (std::uint32_t first = 0; first < ranks; ++first) {
    if (first / g.stride % g.size != 0) continue;
    for (std::uint32_t i = 0; i < g.size; ++i) out.members.push_back(first + i * g.stride);
    out.offsets.push_back(static_cast<std::uint32_t>(out.members.size()));
  }
  return out;
}

/// Of groups of blocks, those of the first `period` of them, which all others repeat; nothing where they do not.
std::optional<Groups> first_period(const Groups& g, std::uint32_t blocks, std::uint32_t period) {
  if (!g.listed() && (g.size == 1 || g.stride % period == 0)) return Groups{1, 1, {}, {}};
  if (!g.listed() && period % (std::uint64_t{g.size} * g.stride) == 0) return g;
  if (!g.listed() && g.stride == 1 && g.size % period == 0) return Groups{period, 1, {}, {}};
  const Groups all = listed_of(g, blocks);
  PlaceGroups found(period);
  std::vector<std::uint32_t> places;
  for (std::size_t i = 0; i + 1 < all.offsets.size(); ++i) {
    places.clear();
    for (std::uint32_t m = all.offsets[i]; m < all.offsets[i + 1]; ++m) places.push_back(all.members[m] % period);
    if (!found.add(places)) return {};
  }
  return found.take();
}

Alike common_form(const Program& p) {
  std::optional<Alike> common;
  for (const Step& step : p.steps) {
    if (step.duration.uniform()) continue;
    const Alike form{step.duration.each(), step.duration.repeats()};
    if (common && *common != form) return {};
    common = form;
  }
  return common.value_or(Alike{});
}

}  // namespace

std::optional<Groups> groups_of_places(const Groups& groups, std::uint32_t ranks, const Alike& alike) {
  std::optional<Groups> out = blocks_of(groups, ranks, alike.each);
  if (!out || alike.repeats == 1) return out;
  const std::uint32_t blocks = ranks / alike.each;
  return first_period(*out, blocks, blocks / alike.repeats);
}

Alike alike_ranks(const Program& program) {
  const Alike alike = common_form(program);
  if (!alike.any() || program.ranks % (std::uint64_t{alike.each} * alike.repeats) != 0) return {};
  const bool allowed = std::all_of(program.groups.begin(), program.groups.end(), [&](const Groups& g) {
    return groups_of_places(g, program.ranks, alike).has_value();
  });
  return allowed ? alike : Alike{};
}

Program places_of(const Program& program, const Alike& alike) {
  Program out = program;
  out.ranks = program.ranks / alike.each / alike.repeats;
  for (Groups& g : out.groups) g = *groups_of_places(g, program.ranks, alike);
  for (Step& step : out.steps) step.duration = step.duration.with_each(1);
  return out;
}

Program spread_out(const Program& program) {
  Program out = program;
  for (Step& step : out.steps) {
    if (step.duration.whole()) continue;
    std::vector<std::int64_t> values(program.ranks);
    for (std::uint32_t r = 0; r < program.ranks; ++r) values[r] = step.duration.at(r);
    step.duration = Row(std::move(values));
  }
  return out;
}

}  // namespace distsim::engine
