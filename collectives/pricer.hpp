// Pricer: everything about one kind of collective on one kind of group, worked out once.
//
// An all_reduce of more nodes never costs less at the same size than one of fewer, unless it was measured so: curves
// that are carried to other groups by their regime do not keep to that by themselves. So the price is the largest of
// that of the group and of groups of 2, 3, 4, 6, 8, 12, ... nodes with the same links.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "collectives/analytic_model.hpp"
#include "collectives/blend.hpp"
#include "collectives/curves/curve_library.hpp"

namespace distsim::collectives {

class Pricer {
 public:
  Pricer(graph::CollectiveKind kind, const topology::GroupFacts& facts, LaunchMode mode,
         const std::vector<LibraryCurve>& library, const ModelConstants& constants = shipped_constants());
  Result<graph::Cost> price(double bytes) const;
  const AnalyticModel& model() const { return model_; }
  const std::vector<std::string>& notes() const { return notes_; }  ///< one line per curve that applies, for explain()

 private:
  bool one_node_;
  AnalyticModel model_;
  std::optional<Blend> blend_;
  std::vector<Blend> smaller_;  ///< of groups of fewer nodes, for what may not get cheaper with them
  std::vector<std::string> notes_;
};

}  // namespace distsim::collectives
