#include "sim/engine/program/roles.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "sim/engine/program/alike.hpp"
#include "sim/engine/timeline/mix.hpp"

namespace distsim::engine {
namespace {

constexpr int kMostRounds = 16;  // of refinement; beyond, every rank is taken for itself

using Members = std::span<const std::uint32_t>;

/// Calls visit(members) for each group.
template <class Visit>
void for_each_group(const Groups& g, std::uint32_t ranks, Visit visit) {
  if (g.listed()) {
    for (std::size_t i = 0; i + 1 < g.offsets.size(); ++i)
      visit(Members(g.members).subspan(g.offsets[i], g.offsets[i + 1] - g.offsets[i]));
    return;
  }
  std::vector<std::uint32_t> members(g.size);
  const std::uint32_t block = g.size * g.stride;
  for (std::uint32_t first = 0; first < ranks; first += block) {
    for (std::uint32_t j = 0; j < g.stride; ++j) {
      for (std::uint32_t i = 0; i < g.size; ++i) members[i] = first + j + i * g.stride;
      visit(Members(members));
    }
  }
}

/// Groups in which ranks meet others, but not all others.
bool tells_apart(const Groups& g, std::uint32_t ranks) {
  return g.listed() ? g.offsets.size() > 2 : g.size > 1 && g.size < ranks;
}

/// Fingerprints as numbers from 0 on, in order of their first rank.
std::uint32_t number(const std::vector<std::uint64_t>& fingerprint, std::vector<std::uint32_t>& colour) {
  std::unordered_map<std::uint64_t, std::uint32_t> seen;
  for (std::size_t r = 0; r < fingerprint.size(); ++r)
    colour[r] = seen.try_emplace(fingerprint[r], static_cast<std::uint32_t>(seen.size())).first->second;
  return static_cast<std::uint32_t>(seen.size());
}

std::vector<std::uint64_t> fingerprints_of_durations(const Program& p) {
  std::vector<std::uint64_t> out(p.ranks, 0);
  std::unordered_set<const std::int64_t*> seen;  // steps of one kind share their numbers
  for (const Step& step : p.steps) {
    const Row& row = step.duration;
    if (row.uniform() || !seen.insert(row.values().data()).second) continue;
    for (std::uint32_t r = 0; r < p.ranks; ++r) out[r] = mix(out[r] ^ static_cast<std::uint64_t>(row.at(r)));
  }
  return out;
}

/// Adds to each fingerprint the set of colours in the rank's groups.
void add_meetings(const Groups& g, const std::vector<std::uint32_t>& colour, std::vector<std::uint64_t>& fingerprint,
                  std::vector<std::uint32_t>& met_in) {
  std::uint32_t group = 0;
  std::fill(met_in.begin(), met_in.end(), 0);
  for_each_group(g, static_cast<std::uint32_t>(colour.size()), [&](Members members) {
    ++group;
    std::uint64_t set = 0;
    for (const std::uint32_t r : members) {
      if (std::exchange(met_in[colour[r]], group) != group) set += mix(colour[r] + 1);
    }
    for (const std::uint32_t r : members) fingerprint[r] = mix(fingerprint[r] ^ set);
  });
}

/// Colours of the ranks, and how many there are.
std::uint32_t refine(const Program& p, std::vector<std::uint32_t>& colour) {
  std::vector<std::uint64_t> fingerprint = fingerprints_of_durations(p);
  std::uint32_t colours = number(fingerprint, colour);
  for (int round = 0; colours > 1 && colours < p.ranks; ++round) {
    if (round == kMostRounds) {
      std::iota(colour.begin(), colour.end(), 0u);
      return p.ranks;
    }
    std::vector<std::uint32_t> met_in(colours);
    for (std::uint32_t r = 0; r < p.ranks; ++r) fingerprint[r] = mix(colour[r]);
    for (const Groups& g : p.groups) {
      if (tells_apart(g, p.ranks)) add_meetings(g, colour, fingerprint, met_in);
    }
    const std::uint32_t before = std::exchange(colours, number(fingerprint, colour));
    if (colours == before) break;
  }
  return colours;
}

/// Of a program whose neighbours are not played together.
Roles roles_of_places(const Program& p) {
  Roles out;
  out.of_place.resize(p.ranks);
  const std::uint32_t roles = refine(p, out.of_place);
  out.first.assign(roles, 0);
  out.count.assign(roles, 0);
  for (std::uint32_t r = 0; r < p.ranks; ++r) {
    if (out.count[out.of_place[r]]++ == 0) out.first[out.of_place[r]] = r;
  }
  if (roles == 1) out.of_place.clear();
  return out;
}

/// A group of roles is what any group of ranks that has one of them consists of.
Groups groups_of_roles(const Groups& g, std::uint32_t ranks, const Roles& roles) {
  if (roles.size() == 1) return {};
  if (!tells_apart(g, ranks)) return g.listed() || g.size > 1 ? Groups{roles.size(), 1, {}, {}} : Groups{};
  Groups out;
  out.offsets = {0};
  std::vector<bool> placed(roles.size(), false);
  for_each_group(g, ranks, [&](Members members) {
    if (placed[roles.of(members.front())]) return;
    for (const std::uint32_t r : members) {
      const std::uint32_t role = roles.of(r);
      if (!placed[role]) out.members.push_back(role);
      placed[role] = true;
    }
    out.offsets.push_back(static_cast<std::uint32_t>(out.members.size()));
  });
  return out;
}

Row row_of_roles(const Row& row, const Roles& roles) {
  if (row.uniform()) return row;
  if (roles.size() == 1) return Row(row.at(0));
  std::vector<std::int64_t> values;
  for (const std::uint32_t rank : roles.first) values.push_back(row.at(rank));
  return Row(std::move(values));
}

}  // namespace

Roles roles_of(const Program& program) {
  const Alike alike = alike_ranks(program);
  if (!alike.any()) return roles_of_places(program);
  Roles out = roles_of_places(places_of(program, alike));
  out.each = alike.each;
  out.repeats = alike.repeats;
  for (std::uint32_t& rank : out.first) rank *= alike.each;
  for (std::uint32_t& ranks : out.count) ranks *= alike.each * alike.repeats;
  return out;
}

Program program_of_roles(const Program& program, const Roles& roles) {
  Program out;
  out.ranks = roles.size();
  out.streams = program.streams;
  out.wait_offsets = program.wait_offsets;
  out.waits = program.waits;
  for (const Groups& g : program.groups) out.groups.push_back(groups_of_roles(g, program.ranks, roles));
  std::unordered_map<const std::int64_t*, Row> known;
  out.steps.reserve(program.steps.size());
  for (const Step& step : program.steps) {
    Row row = step.duration;
    if (!row.uniform()) {
      const auto [at, is_new] = known.try_emplace(row.values().data());
      if (is_new) at->second = row_of_roles(row, roles);
      row = at->second;
    }
    out.steps.push_back(Step{step.stream, std::move(row), step.group});
  }
  return out;
}

}  // namespace distsim::engine
