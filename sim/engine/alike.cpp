#include "sim/engine/alike.hpp"

#include <algorithm>
#include <optional>

namespace distsim {
namespace {

/// Blocks of a listed partition: group by group, each once; nothing where ranks of one block lead to different blocks.
std::optional<Groups> listed_places(const Groups& g, std::uint32_t ranks, std::uint32_t each) {
  const std::uint32_t places = ranks / each;
  std::vector<std::vector<std::uint32_t>> of_place(places);
  std::vector<std::uint32_t> members_in(places, 0), blocks;
  for (std::size_t i = 0; i + 1 < g.offsets.size(); ++i) {
    blocks.clear();
    for (std::uint32_t m = g.offsets[i]; m < g.offsets[i + 1]; ++m) blocks.push_back(g.members[m] / each);
    std::sort(blocks.begin(), blocks.end());
    blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
    for (const std::uint32_t place : blocks) {
      if (of_place[place].empty()) of_place[place] = blocks;
      else if (of_place[place] != blocks) return {};
    }
    for (std::uint32_t m = g.offsets[i]; m < g.offsets[i + 1]; ++m) ++members_in[g.members[m] / each];
  }
  Groups out;
  out.offsets = {0};
  for (std::uint32_t place = 0; place < places; ++place) {
    if (members_in[place] != each) return {};
    if (of_place[place].front() != place) continue;  // listed with its first block
    for (const std::uint32_t other : of_place[place]) {
      if (of_place[other] != of_place[place]) return {};
      out.members.push_back(other);
    }
    out.offsets.push_back(static_cast<std::uint32_t>(out.members.size()));
  }
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

std::uint32_t alike_ranks(const Program& program) {
  const std::uint32_t each = common_block(program);
  if (each == 1 || program.ranks % each != 0) return 1;
  const bool allowed = std::all_of(program.groups.begin(), program.groups.end(), [&](const Groups& g) { return places(g, program.ranks, each).has_value(); });
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

}  // namespace distsim
