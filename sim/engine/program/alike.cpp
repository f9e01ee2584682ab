#include "sim/engine/program/alike.hpp"

#include <algorithm>
#include <optional>
#include <span>

namespace distsim::engine {
namespace {

/// Blocks of a listed partition: group by group, each once; nothing where ranks of one block lead to different blocks.
std::optional<Groups> listed_places(const Groups& g, std::uint32_t ranks, std::uint32_t each) {
  const std::uint32_t places = ranks / each;
  constexpr std::uint32_t kNone = 0xFFFFFFFFu;
  std::vector<std::uint32_t> group_of(places, kNone), members_in(places, 0), blocks;  // group_of: in the result
  Groups out;
  out.offsets = {0};
  const auto blocks_of = [&](std::uint32_t group) {
    return std::span(out.members).subspan(out.offsets[group], out.offsets[group + 1] - out.offsets[group]);
  };
  for (std::size_t i = 0; i + 1 < g.offsets.size(); ++i) {
    blocks.clear();
    for (std::uint32_t m = g.offsets[i]; m < g.offsets[i + 1]; ++m) {
      blocks.push_back(g.members[m] / each);
      ++members_in[blocks.back()];
    }
    std::sort(blocks.begin(), blocks.end());
    blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
    if (blocks.empty()) continue;
    const std::uint32_t known = group_of[blocks.front()];
    if (known != kNone) {
      if (!std::ranges::equal(blocks_of(known), blocks)) return {};
      continue;
    }
    for (const std::uint32_t place : blocks) {
      if (group_of[place] != kNone) return {};
      group_of[place] = static_cast<std::uint32_t>(out.offsets.size() - 1);
    }
    out.members.insert(out.members.end(), blocks.begin(), blocks.end());
    out.offsets.push_back(static_cast<std::uint32_t>(out.members.size()));
  }
  if (std::ranges::any_of(members_in, [&](std::uint32_t n) { return n != each; })) return {};
  return out;
}

std::optional<Groups> places(const Groups& g, std::uint32_t ranks, std::uint32_t each) {
  if (g.listed()) return listed_places(g, ranks, each);
  if (each % (std::uint64_t{g.size} * g.stride) == 0) return Groups{1, 1, {}, {}};
  if (g.stride % each == 0) return Groups{g.size, g.stride / each, {}, {}};
  if (g.stride == 1 && g.size % each == 0) return Groups{g.size / each, 1, {}, {}};
  return {};
}

std::uint32_t common_block(const Program& p) {
  std::uint32_t each = 0;
  for (const Step& step : p.steps) {
    if (step.duration.uniform()) continue;
    if (each != 0 && step.duration.each() != each) return 1;
    each = step.duration.each();
  }
  return std::max(1u, each);
}

}  // namespace

std::optional<Groups> groups_of_places(const Groups& groups, std::uint32_t ranks, std::uint32_t each) {
  return places(groups, ranks, each);
}

std::uint32_t alike_ranks(const Program& program) {
  const std::uint32_t each = common_block(program);
  if (each == 1 || program.ranks % each != 0) return 1;
  const bool allowed = std::all_of(program.groups.begin(), program.groups.end(),
                                   [&](const Groups& g) { return places(g, program.ranks, each).has_value(); });
  return allowed ? each : 1;
}

Program places_of(const Program& program, std::uint32_t each) {
  Program out = program;
  out.ranks = program.ranks / each;
  for (Groups& g : out.groups) g = *places(g, program.ranks, each);
  for (Step& step : out.steps) step.duration = step.duration.with_each(1);
  return out;
}

Program spread_out(const Program& program) {
  Program out = program;
  for (Step& step : out.steps) {
    if (step.duration.each() == 1) continue;
    std::vector<std::int64_t> values(program.ranks);
    for (std::uint32_t r = 0; r < program.ranks; ++r) values[r] = step.duration.at(r);
    step.duration = Row(std::move(values));
  }
  return out;
}

}  // namespace distsim::engine
