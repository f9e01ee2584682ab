// Pricer: everything about one kind of collective on one kind of group, worked out once.
//
// Curves that are carried to other groups by their regime do not keep to what holds of every collective, so that these
// are floors of a price that was not measured:
//   all_reduce, all_gather, reduce_scatter, broadcast and reduce of more nodes never cost less at the same size than those
//   of fewer: the price is the largest of that of the group and of groups of 2, 3, 4, 6, 8, 12, ... nodes with the same
//   links; within an NVLink domain or a node, of the largest smaller group that a curve was measured on
//   one process that launches on all GPUs of a node is never faster than one for each
//   no link carries more than it can (highest_busbw)
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/analytic_model.hpp"
#include "collectives/blend.hpp"
#include "collectives/curves/curve_library.hpp"

namespace distsim::collectives {

/// What curves say of a group of fewer nodes or ranks, with the same links.
struct FewerNodes {
  topology::GroupFacts facts;
  AnalyticModel model;
  Calibration factors;  ///< as MeasuredPrice::factors
  Blend blend;
};

/// What curves say of a kind of collective on a group with the links that they were measured on. Large and slow to make:
/// kept from one what-if to the next.
struct MeasuredPrice {
  /// `library` and `constants` outlive it.
  MeasuredPrice(graph::CollectiveKind kind, const topology::GroupFacts& facts, LaunchMode mode,
                const std::vector<LibraryCurve>& library, const ModelConstants& constants);

  topology::GroupFacts facts;
  LaunchMode mode;  ///< that of the evidence (mode_of_evidence)
  AnalyticModel model;
  Calibration factors{};  ///< of the most trusted curve, as far as they carry
  std::optional<Blend> blend;
  std::vector<FewerNodes> smaller;  ///< for what may not get cheaper with more of them
  std::shared_ptr<const MeasuredPrice>
      of_processes;                ///< one for each GPU, where a node has one and it was not measured so
  std::vector<std::string> notes;  ///< one line per curve that applies, for explain()
};

// Links that differ from those that the curves were measured on, launches of another length, or a choice that NCCL is
// refused, enter as the ratio of the two analytic models with the curves' factors: which curves apply and how is worked
// out for the group as measured, so that a better link, which the analytic model never makes slower, is not slower here.
// That ratio may fall with the size faster than the measured time rises: a size then costs what the smaller ones do.
class Pricer {
 public:
  Pricer(graph::CollectiveKind kind, const topology::GroupFacts& facts, LaunchMode mode,
         const std::vector<LibraryCurve>& library, const ModelConstants& constants = shipped_constants());
  /// The group as it is to be priced, with constants that outlive the pricer; `as_measured`: they are those of `measured`.
  Pricer(graph::CollectiveKind kind, const topology::GroupFacts& facts, LaunchMode mode,
         const ModelConstants& constants, std::shared_ptr<const MeasuredPrice> measured, bool constants_as_measured);
  Result<graph::Cost> price(double bytes) const;
  const AnalyticModel& model() const { return model_; }
  const std::vector<std::string>& notes() const { return measured_->notes; }

 private:
  /// The group now and as it was measured, both with the curves' factors.
  struct WhatIf {
    AnalyticModel now, measured;
  };
  /// What the curves say of a size, and the time that comes of it now.
  struct Measured {
    Blend::Value value;
    double us = 0;
    bool other = false;  ///< than what was measured
  };
  static double now_over_measured(const std::optional<WhatIf>& what_if, double bytes);
  Measured measured_at(double bytes) const;
  double of_smaller(double bytes) const;
  Result<graph::Cost> alone(double bytes) const;

  bool one_node_, same_links_;
  double least_us_of_byte_;  ///< that the links allow; 0 where it was measured or the links are not known
  std::shared_ptr<const Pricer> of_processes_;
  AnalyticModel model_;
  std::shared_ptr<const MeasuredPrice> measured_;
  std::optional<WhatIf> what_if_;
  std::vector<std::optional<WhatIf>> of_fewer_;  ///< of each of MeasuredPrice::smaller; none where all is as measured
  std::vector<double> of_smaller_;               ///< of a what-if: us of the dearest size of 1, 2, 4, ... 2^i bytes
};

}  // namespace distsim::collectives
