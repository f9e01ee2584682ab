#include "programs.hpp"

#include <numeric>

namespace distsim::engine {
namespace {

template <class T>
void shuffle(std::vector<T>& items, Random& random) {
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.below(i)]);
}

Groups strided_groups(Random& random, std::uint32_t ranks) {
  std::vector<Groups> choices;
  for (std::uint32_t size = 1; size <= ranks; ++size) {
    for (std::uint32_t stride = 1; size * stride <= ranks; ++stride) {
      if (ranks % (size * stride) == 0) choices.push_back({size, stride, {}, {}});
    }
  }
  return choices[random.below(choices.size())];
}

Groups listed_groups(Random& random, std::uint32_t ranks) {
  Groups g;
  g.members.resize(ranks);
  std::iota(g.members.begin(), g.members.end(), 0u);
  shuffle(g.members, random);
  g.offsets.push_back(0);
  while (g.offsets.back() < ranks) {
    g.offsets.push_back(g.offsets.back() + 1 + static_cast<std::uint32_t>(random.below(ranks - g.offsets.back())));
  }
  return g;
}

Row random_duration(Random& random, std::uint32_t ranks) {
  // Small ranges make ties, large ones make every bit of an end count.
  const std::uint64_t range = random.below(2) == 0 ? 4 : 1'000'000'000'000;
  if (random.below(3) == 0) return Row(static_cast<std::int64_t>(random.below(range)));
  std::vector<std::int64_t> values(ranks);
  for (auto& v : values) v = static_cast<std::int64_t>(random.below(range));
  return Row(std::move(values));
}

}  // namespace

Program random_program(Random& random, const RandomLimits& limits) {
  Program p;
  p.ranks = 1 + static_cast<std::uint32_t>(random.below(limits.ranks));
  p.streams = 1 + static_cast<std::uint32_t>(random.below(limits.streams));
  const std::uint64_t groups = random.below(4);
  for (std::uint64_t i = 0; i < groups; ++i) {
    p.groups.push_back(random.below(2) == 0 ? strided_groups(random, p.ranks) : listed_groups(random, p.ranks));
  }
  const std::uint64_t steps = random.below(limits.steps + 1);
  for (std::uint32_t s = 0; s < steps; ++s) {
    std::vector<StepId> waits;
    for (std::uint64_t w = s == 0 ? 0 : random.below(limits.waits + 1); w > 0; --w) {
      waits.push_back(StepId(static_cast<std::uint32_t>(random.below(s))));
    }
    const bool joins = groups > 0 && random.below(2) == 0;
    const auto group = joins ? static_cast<std::uint32_t>(random.below(groups)) : Step::kNoGroup;
    const StreamId stream =
        random.below(8) == 0 ? StreamId() : StreamId(static_cast<std::uint32_t>(random.below(p.streams)));
    p.add({stream, random_duration(random, p.ranks), group}, waits);
  }
  return p;
}

Program with_expanded_rows(const Program& program) {
  Program out = program;
  for (Step& step : out.steps) {
    if (step.duration.uniform()) step.duration = Row(std::vector<std::int64_t>(program.ranks, step.duration.scalar()));
  }
  return out;
}

Program with_listed_groups(const Program& program, Random& random) {
  Program out = program;
  for (Groups& g : out.groups) {
    if (g.listed()) continue;
    std::vector<std::vector<std::uint32_t>> lists;
    for (std::uint32_t base = 0; base < program.ranks; base += g.size * g.stride) {
      for (std::uint32_t first = base; first < base + g.stride; ++first) {
        lists.emplace_back();
        for (std::uint32_t i = 0; i < g.size; ++i) lists.back().push_back(first + i * g.stride);
        shuffle(lists.back(), random);
      }
    }
    shuffle(lists, random);
    g = Groups{1, 1, {0}, {}};
    for (const auto& list : lists) {
      g.members.insert(g.members.end(), list.begin(), list.end());
      g.offsets.push_back(static_cast<std::uint32_t>(g.members.size()));
    }
  }
  return out;
}

}  // namespace distsim::engine
