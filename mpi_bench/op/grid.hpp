// The grids of shapes that op_bench measures.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "mpi_bench/op/op_case.hpp"

namespace distsim::bench {

enum class GridSize : std::uint8_t { smoke, standard };

/// One op that can be measured: its dtypes and the shapes of its grid.
struct MeasurableOp {
  std::string_view name;
  std::string_view sentence;
  std::span<const std::string_view> dtypes;
  std::vector<OpCase> (*grid)(std::string_view dtype, GridSize size);
};
std::span<const MeasurableOp> measurable_ops();

/// Cases of the named ops (empty: all) in the named dtypes (empty: all of each op), in a fixed order. An unknown name
/// is an error with the nearest spelling; so is a dtype that none of the chosen ops has.
Result<std::vector<OpCase>> build_grid(const std::vector<std::string>& ops, const std::vector<std::string>& dtypes,
                                       GridSize size);

}  // namespace distsim::bench
