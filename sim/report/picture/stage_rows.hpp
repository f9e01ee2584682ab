// What the stages of a pipeline do, as rows of slices: for pipeline_picture, and for pages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/graph/pipeline_order.hpp"
#include "sim/report/report.hpp"

namespace distsim::report {

/// What a rank does; `recompute`: of a backward pass, the kernels of the forward pass that it runs again; `idle`: nothing, or it
/// waits.
enum class StageWork : std::uint8_t { forward, recompute, backward, weights, communication, optimizer, idle };
inline constexpr std::size_t kStageWorks = 7;

struct StageSlice {
  std::int64_t begin = 0, end = 0;
  StageWork work = StageWork::idle;
  const graph::PipelinePass* pass = nullptr;  ///< of forward, recompute, backward and weights
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

/// Of at most `most` stages, evenly chosen. What a backward pass computes again, block by block, is drawn at its beginning, as
/// long as its share of the pass's cost. Nothing where the played passes are not those of `order`.
std::optional<StageRows> stage_rows(const Played& played, const graph::PipelineOrder& order, std::uint32_t most);

/// For pages: {"begin", "end", "idle", "stages", "chunks", "micro_batches", "in_iteration", "works": names, "rows"}. Times in
/// picoseconds from `begin` on. A row has `stage` and
///   "slices": [begin, length, work, micro-batch from 1 on (0: none), chunk, ...] of those that take a `columns`-th of the time or
///             longer, without idle ones,
///   "stacks": [begin, length, share of each work but idle in thousandths, ...] of neighbours that are shorter, together.
/// At most `most` slices and stacks: fewer columns where these would be more. Empty where the played passes are not those of `order`.
std::string schedule_json(const Played& played, const graph::PipelineOrder& order, std::size_t most = 20'000);

}  // namespace distsim::report
