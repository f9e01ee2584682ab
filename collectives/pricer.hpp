// Pricer: everything about one kind of collective on one kind of group, worked out once.
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
  std::vector<std::string> notes_;
};

}  // namespace distsim::collectives
