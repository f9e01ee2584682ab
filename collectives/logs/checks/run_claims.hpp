// What a run of nccl-tests says of itself beside the rows of its tables: iterations, the range of sizes, the mean of all bus
// bandwidths. Where the rows say otherwise, the log is not the one that the run printed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "collectives/logs/nccl_tests_row.hpp"

namespace distsim::collectives {

/// "agg iters: found 8, ...": what to say of a run that launches so many calls as one group (`-m`), whose times are not
/// those of a call of its own. Empty: each call is launched alone.
std::string calls_at_once(double aggregated);

class RunClaims {
 public:
  /// "# nThread 1 nGpus 8 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 ...". Errors: no
  /// iterations, a range that ends before it begins.
  Result<void> read_launch(const std::vector<std::string_view>& words);

  /// As calls_at_once says it of that line.
  static std::string aggregated(const std::vector<std::string_view>& words);

  /// The same of a run that says it in another way; nothing: not said.
  Result<void> read(std::optional<double> iterations, double least, double most);

  /// Any row, also one that is no curve's point. Why its size is none of the run's; empty where it is.
  std::string add(const NcclRow& row);

  /// "# Avg bus bandwidth    : 93.4", which ends a run. What its rows come to instead; empty where that is it. Text that
  /// is no number is never it.
  std::string end(std::string_view line);

 private:
  void begin() { *this = RunClaims(); }

  double least_ = 0, most_ = 0;  ///< bytes; 0: not said
  bool out_of_range_ = false;    ///< said once a run
  bool has_gaps_ = false;        ///< a row without a bandwidth: the mean is not known
  double outside_ = 0, both_ = 0;
  std::size_t rows_ = 0, filled_ = 0, in_place_ = 0;
};

}  // namespace distsim::collectives
