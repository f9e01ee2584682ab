// Flags of op_bench.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "mpi_bench/op/grid.hpp"
#include "mpi_bench/op/repetition.hpp"

namespace distsim::bench {

struct OpBenchOptions {
  std::vector<std::string> ops, dtypes;  ///< empty: all
  GridSize grid = GridSize::standard;
  RepetitionLimits limits;
  bool flush_l2 = false;
  int device = 0;
  std::string gpu;        ///< name in the gpu column; empty: what the driver says
  std::string out = ".";  ///< folder of the CSV files
  bool list = false;      ///< print the grid and stop; needs no GPU
};

struct OpBenchCommand {
  std::optional<std::string> print;  ///< --help
  OpBenchOptions options;
  std::vector<std::string> remarks;  ///< "--device: no effect, ..." for each given flag that changes nothing
};
Result<OpBenchCommand> parse_op_bench(int argc, const char* const* argv);

/// The `timing` column. Warm: launches back to back in a CUDA graph, time divided by their number. Cold: one launch
/// between two events, after a write of twice the L2's size.
std::string timing_name(bool flush_l2);

/// Text of --list: the header line and one line per case.
std::string list_text(const std::vector<OpCase>& cases);

}  // namespace distsim::bench
