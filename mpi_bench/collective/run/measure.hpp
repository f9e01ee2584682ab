// One row of the table: out-of-place and in-place, timed and then verified.
#pragma once

#include <optional>
#include <string>

#include "mpi_bench/collective/backend.hpp"
#include "mpi_bench/collective/options.hpp"
#include "mpi_bench/collective/run/ranks.hpp"
#include "mpi_bench/collective/table.hpp"

namespace distsim::bench {

/// What is measured at every size of one sweep.
struct Sweep {
  const CollectiveCase* what = nullptr;
  DataType type = DataType::float32;
  RedOp op = RedOp::sum;
  int root = 0;
};

struct MeasuredRow {
  Row row;
  std::optional<std::string> fault;  ///< the first wrong element: rank, element, byte, values
};

/// All ranks together. Timing as in nccl-tests: warm-up, barrier, `iterations` calls without pause. Of each iteration the slowest rank counts in the
/// statistics. Then the buffers are filled afresh, the collective runs once more, and every element is checked.
Result<MeasuredRow> measure_row(Backend& backend, const Ranks& ranks, const Options& options, const Sweep& sweep, std::uint64_t size_bytes);

}  // namespace distsim::bench
