// Overrides of a comparison that change nothing.
#include <algorithm>
#include <iterator>

#include "base/text/printable.hpp"
#include "sim/study/compare.hpp"

namespace distsim::study {
namespace {

bool has(const Side& side, const std::string& set) { return std::ranges::find(side.sets, set) != side.sets.end(); }

/// Nothing where the file cannot be read.
std::vector<VariedExperiment> experiments_of(const std::vector<Side>& sides) {
  std::vector<VariedExperiment> out;
  for (const Side& side : sides) {
    std::shared_ptr<config::Variants> experiment = side.experiment;
    if (!experiment) {
      auto read = config::Variants::of(side.config);
      if (!read) return {};
      experiment = std::move(*read);
    }
    out.push_back({std::move(experiment), side.sets});
  }
  return out;
}

}  // namespace

std::vector<IdleArgument> compare_without_effect(const std::vector<Side>& sides) {
  const std::vector<VariedExperiment> experiments = experiments_of(sides);
  if (experiments.empty()) return {};
  const auto sides_with = [&](const std::string& set) {
    return static_cast<std::size_t>(std::ranges::count_if(sides, [&](const Side& side) { return has(side, set); }));
  };
  std::vector<std::string> shared;
  std::ranges::copy_if(sides.front().sets, std::back_inserter(shared),
                       [&](const std::string& set) { return sides_with(set) == sides.size(); });
  std::vector<IdleArgument> out = sets_without_effect(experiments, shared);
  for (std::size_t i = 0; i < sides.size(); ++i) {
    std::vector<std::string> alike;  // one after another that only this side has, or that some have: asked together
    bool of_some = false;
    const auto look = [&] {
      const std::string of = of_some ? " of " + printable(sides[i].name, 200) : "";
      for (IdleArgument& idle : sets_without_effect({experiments[i]}, alike, of)) out.push_back(std::move(idle));
      alike.clear();
    };
    for (const std::string& set : sides[i].sets) {
      const std::size_t count = sides_with(set);
      if (count == sides.size()) continue;
      if ((count > 1) != of_some) look();
      of_some = count > 1;
      alike.push_back(set);
    }
    look();
  }
  return out;
}

}  // namespace distsim::study
