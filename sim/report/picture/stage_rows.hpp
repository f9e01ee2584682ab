// What the stages of a pipeline do, as rows of slices: for pipeline_picture.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/graph/pipeline_order.hpp"
#include "sim/report/report.hpp"

namespace distsim::report {

/// What a rank does; `idle`: nothing, or it waits.
enum class StageWork : std::uint8_t { forward, backward, weights, communication, optimizer, idle };
inline constexpr std::size_t kStageWorks = 6;

struct StageSlice {
  std::int64_t begin = 0, end = 0;
  StageWork work = StageWork::idle;
  const graph::PipelinePass* pass = nullptr;  ///< of forward, backward and weights
};

struct StageRow {
  std::uint32_t stage = 0;
  std::vector<StageSlice> slices;  ///< adjacent, from StageRows::begin to end
};

struct StageRows {
  std::int64_t begin = 0, end = 0;
  std::vector<StageRow> rows;
  double idle = 0;  ///< share of the rows' time
};

/// Of at most `most` stages, evenly chosen. Nothing where the played passes are not those of `order`.
std::optional<StageRows> stage_rows(const Played& played, const graph::PipelineOrder& order, std::uint32_t most);

}  // namespace distsim::report
