// validate: predict the experiments of a case file and compare with what was measured.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "sim/study/validate/case_file.hpp"

namespace distsim::study {

/// A case with its prediction, or the reason why there is none to compare.
struct ValidatedCase {
  const Case* source = nullptr;
  std::string
      failure;  ///< why it is not compared: there is no prediction, or the measured time cannot be that of the case
  bool predicted = false;                           ///< a failure is then one of the measured time
  std::string framework, model, system, precision;  ///< that the case was predicted with
  std::string series;                               ///< series_text
  std::string values;                               ///< values_text of its experiment; empty: there is none
  std::int64_t nodes = 0, gpus = 0;
  double predicted_ms = 0, low_ms = 0, high_ms = 0;
  double memory_gb = 0;                        ///< of the fullest GPU, in 10^9 bytes
  bool memory_exceeded = false;                ///< more than the GPU has, though it ran
  std::optional<double> tokens_per_s_per_gpu;  ///< of models whose samples are sequences
  std::string basis, limited_by;

  bool measured() const { return failure.empty() && source->measured_ms.has_value(); }
  /// predicted / measured - 1. REQUIRES: measured().
  double error() const { return predicted_ms / *source->measured_ms - 1; }
  std::array<double, 6> parts_ms{};  ///< compute, exposed communication, waiting, host, idle (they sum to
                                     ///< predicted_ms), and hidden communication
};

/// Why a prediction is what it is: parts, terms of the critical cycle with their ranges, and which of them could account
/// for the difference alone. A measured time that why_implausible refuses is explained, and that is said. Errors: the case is
/// not in the file (nearest ids), or could not be predicted.
Result<std::string> explain_case(const CaseFile& file, const std::string& case_id);

/// Why a measured time cannot be that of the case: more than the peak of its GPUs (`mfu` is that of the predicted time), or a hundred
/// times off. Empty where it can be, or nothing was measured.
std::string why_implausible(const Case& c, double predicted_ms, double mfu);

/// Predicts every case. `jobs` threads; the result does not depend on their number.
std::vector<ValidatedCase> validate_cases(const CaseFile& file, unsigned jobs, const std::function<void()>& on_case);

/// Times of one experiment that are this many times apart contradict each other. Chosen: versions and machines differ by less,
/// as those of one op do.
inline constexpr double kMeasuredApart = 3;

/// "cases.csv:3: measured_ms: found 1000, where cases.csv:2 has the same experiment with 100": the first case whose
/// experiment another was measured with as well, far apart; with how many more there are. Empty: none.
std::string measured_apart(const CaseFile& file, const std::vector<ValidatedCase>& cases);

/// "cases.csv:3: found the experiment and the time of cases.csv:2 again (and 4 rows more like it); each counts": rows of which
/// the same was measured. Empty: none.
std::string measured_again(const CaseFile& file, const std::vector<ValidatedCase>& cases);

/// The input columns, then predicted_ms, low_ms, high_ms, error_percent, memory_gb, tokens_per_s_per_gpu, limited_by,
/// error (why there is no prediction), and what the prediction is made of. An input column of one of these names is
/// written as input_<name>.
std::string validation_csv(const CaseFile& file, const std::vector<ValidatedCase>& cases);

/// Count, median, mean, 90th percentile and worst absolute error, signed bias and share inside [low, high], over all,
/// by family, system, node count and tier. Cases without a prediction, and those whose measured time is refused, are counted
/// and listed with their reasons.
std::string validation_summary(const std::vector<ValidatedCase>& cases);

}  // namespace distsim::study
