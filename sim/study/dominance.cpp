#include "sim/study/dominance.hpp"

#include <cmath>
#include <map>

#include "sim/study/sensitivity/resources.hpp"

namespace distsim::study {
namespace {

/// How good each figure is that a sensitivity improves, by its key.
std::map<std::string, double> goodness_of(config::Experiment e) {
  std::map<std::string, double> out;
  for (const Resource& resource : resources()) {
    if (resource.figures == nullptr) continue;
    for (const Figure& figure : resource.figures(e)) out.emplace(figure.key, figure.good);
  }
  return out;
}

}  // namespace

Better better_hardware(const config::Experiment& a, const config::Experiment& b,
                       const std::vector<std::string>& differing) {
  const std::map<std::string, double> of_a = goodness_of(a), of_b = goodness_of(b);
  bool a_better = false, b_better = false;
  for (const std::string& key : differing) {
    const auto in_a = of_a.find(key), in_b = of_b.find(key);
    if (in_a == of_a.end() || in_b == of_b.end()) return Better::neither;
    if (std::isnan(in_a->second) || std::isnan(in_b->second)) return Better::neither;
    a_better = a_better || in_a->second > in_b->second;
    b_better = b_better || in_b->second > in_a->second;
  }
  if (a_better == b_better) return Better::neither;
  return a_better ? Better::first : Better::second;
}

}  // namespace distsim::study
