// validate: predict published iteration times and say how far off the prediction is.
#pragma once

#include <array>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace distsim::study {

/// One measured training iteration, as in iteration_times/core_visible.csv.
struct MeasuredCase {
  std::vector<std::string> fields;  ///< the input row, repeated in the output
  std::string case_id, model_id, framework_id, system_id, precision, tier;
  std::int64_t nodes = 1, gpus = 1, global_batch = 0, accumulation = 1;
  double measured_ms = 0;
  std::string series;  ///< column `series`, where there is one

  /// Cases with equal keys differ in the number of GPUs (and the batch that goes with it).
  std::string series_key() const;
};

struct CaseFile {
  std::vector<std::string> header;
  std::vector<MeasuredCase> cases;
};

/// Columns: model_id, framework_id, system_id, nodes, gpus, precision, global_batch, accum and measured_ms are needed;
/// case_id and tier are used when there; others are repeated. Errors name file and line.
Result<CaseFile> read_cases(std::istream& in, const std::string& name);

/// A case with its prediction, or the reason why there is none.
struct ValidatedCase {
  const MeasuredCase* measured = nullptr;
  std::string failure;  ///< empty when predicted
  std::string profile;  ///< the framework profile that the case was predicted with
  double predicted_ms = 0, low_ms = 0, high_ms = 0;
  double error = 0;  ///< predicted / measured - 1
  std::string basis, dominant_term;
  std::array<double, 6> parts_ms{};  ///< compute, exposed communication, waiting, host, idle (they sum to
                                     ///< predicted_ms), and hidden communication
};

/// Why a prediction is what it is: parts, terms of the critical path with their ranges, and which of them could account
/// for the difference alone. Errors: the case is not in the file (nearest ids), or could not be predicted.
Result<std::string> explain_case(const CaseFile& file, const std::string& case_id);

/// Predicts every case. `jobs` threads; the result does not depend on their number.
std::vector<ValidatedCase> validate_cases(const CaseFile& file, unsigned jobs, const std::function<void()>& on_case);

std::string validation_csv(const CaseFile& file, const std::vector<ValidatedCase>& cases);

/// Count, median, mean, 90th percentile and worst absolute error, signed bias and share inside [low, high], over all,
/// by family, system, node count and tier. Cases without a prediction are counted and listed with their reasons.
std::string validation_summary(const std::vector<ValidatedCase>& cases);

/// Family of a model id: "gpt_h1024_l16_a16_s1024" -> "gpt".
std::string family_of(const std::string& model_id);

}  // namespace distsim::study
