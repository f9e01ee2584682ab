// Compare: experiments side by side: what differs in their inputs, where the time went, and how sure their ratio is.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/config/variants.hpp"
#include "sim/pipeline/pipeline.hpp"
#include "sim/study/idle/without_effect.hpp"

namespace distsim::study {

/// One side of a comparison, as it is asked for.
struct Side {
  std::string name;                                        ///< for people: the file, or the --set group that makes it
  std::string config;                                      ///< file
  std::vector<std::string> sets;                           ///< overrides
  std::shared_ptr<config::Variants> experiment = nullptr;  ///< in place of the file `config`
};

struct ComparedSide {
  std::string name;
  config::Experiment experiment;
  pipeline::Prediction prediction;
};

/// A configuration key whose value is not the same on all sides.
struct InputDifference {
  std::string key;
  std::vector<std::string> values;  ///< one per side, as written; "-" where it is not given
};

/// A part of the difference between a side and the first, scaled to the samples of the first. Parts sum to the whole.
struct DifferencePart {
  std::string_view name;  ///< compute, exposed communication, waiting, host-bound, idle
  double first_ms = 0, ms = 0;
  double change_ms() const { return ms - first_ms; }
};

/// The time of a side over that of the first, per sample.
struct Ratio {
  /// low and high: errors that both predictions share cancel. An error class is an op kind and its basis; it is shared
  /// where both sides run it on the same device (collectives: the same system, host times: the same framework and host
  /// system). With a and b what it does to the logarithms of the two iterations (ratio_range.hpp), a shared class moves
  /// that of the ratio by b - a, another by a and b each; classes are independent. Where the sides differ in hardware
  /// only, and one has the better or equal figure everywhere (dominance.hpp), the range ends at 1.
  double value = 1, low = 1, high = 1;
};

struct Comparison {
  std::vector<ComparedSide> sides;  ///< at least two
  std::vector<InputDifference> inputs;
  std::vector<std::vector<DifferencePart>> parts;  ///< one list per side; those of the first are all zero
  std::vector<Ratio> ratios;                       ///< one per side; the first is 1
  bool per_sample = false;        ///< the sides have different batches: times are scaled to the samples of the first
  std::vector<double> scaled_ms;  ///< iteration of each side for the samples of the first
};

/// An Error about a side, with its name.
Error of_side(const std::string& name, Error error);

/// Errors: any side that cannot be predicted, with its name.
Result<Comparison> compare(const std::vector<Side>& sides);

/// The overrides that change nothing: of all sides, where all have them, else of the sides that do.
std::vector<IdleArgument> compare_without_effect(const std::vector<Side>& sides);

/// A row per side; the first line of it is the header.
std::string comparison_csv(const Comparison& c);
std::string comparison_text(const Comparison& c);
/// Both timelines on one axis, one below the other.
std::string comparison_html(const Comparison& c);

}  // namespace distsim::study
