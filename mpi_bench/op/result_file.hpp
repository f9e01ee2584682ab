// The CSV files of op_bench, one per family of ops. Rows are appended as they are measured; a run that is started again
// skips what is there. Columns: gpu,op,pass,dtype, the shape, extra (not gemm), latency_us, timing, framework, then
// what op_bench adds: low_us and high_us (5th and 95th percentile), repetitions, launches (per repetition),
// relative_error, sm_clock_mhz, memory_clock_mhz, temperature_c, power_w, date. Readers that know the first group find
// it by name; what a machine does not tell is left empty.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "base/result.hpp"
#include "base/text/csv.hpp"
#include "mpi_bench/op/op_case.hpp"

namespace distsim::bench {

/// What the driver reports about the GPU during the run; empty where it reports nothing.
struct DeviceState {
  std::string sm_clock_mhz, memory_clock_mhz, temperature_c, power_w;
};

struct OpResult {
  double latency_us = 0, low_us = 0, high_us = 0;
  int repetitions = 0, launches = 1;
  double relative_error = 0;
  DeviceState state;
};

/// What all rows of one run share.
struct RunFacts {
  std::string gpu, timing, framework, date;
};

class ResultFile {
 public:
  /// Reads what an earlier run left. A last line that was cut off is taken away. Errors, with the file as it was: not
  /// writable, or other columns than ours.
  static Result<ResultFile> open(const std::string& path, const std::string& family);

  bool contains(const RunFacts& facts, const OpCase& op_case) const;
  std::size_t rows() const { return keys_.size(); }
  /// Appends one row and flushes it.
  Result<void> append(const RunFacts& facts, const OpCase& op_case, const OpResult& result);

  static std::vector<std::string> columns(const std::string& family);

 private:
  ResultFile(std::string path, std::string family) : path_(std::move(path)), family_(std::move(family)) {}
  Result<void> load();
  Result<void> read_keys(CsvReader& reader);

  std::string path_, family_;
  std::unordered_set<std::string> keys_;
};

}  // namespace distsim::bench
