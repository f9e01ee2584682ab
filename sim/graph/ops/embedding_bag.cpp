#include "sim/graph/ops/embedding_bag.hpp"

#include <algorithm>
#include <bit>

namespace distsim::graph {
namespace {

// What the kernels of a backward pass are, as traces of FBGEMM on A100 show them (HolisticTraceAnalysis, MIT) and as
// the sources of HugeCTR and TensorFlow launch them. A sort is its histogram, a prefix sum of that, and its passes.
constexpr std::int64_t kSort = 2;
constexpr std::int64_t kScan = 2;   // initialise, scan
constexpr std::int64_t kFused = 5;  // linear row numbers, run lengths, long segments, update of long and of short ones
constexpr std::int64_t kBlockPerRow = 4;  // sample of each id, run starts, run lengths, update
constexpr std::int64_t kUnique = 6;  // two ranges of positions, count to the host, run ends, positions, distinct keys
constexpr std::int64_t kUniqueInvert = 1;  // order of first appearance
constexpr std::int64_t kSegmentSum = 2;    // zeroes, sum
constexpr std::int64_t kSparseApply = 1;

}  // namespace

std::int64_t radix_passes(double keys) {
  const auto last = static_cast<std::uint64_t>(std::clamp(keys, 2.0, 1e18)) - 1;
  return (std::bit_width(last) + 7) / 8;
}

std::int64_t EmbeddingBag::kernels_of_launch(double rows, double lookups, bool several) const {
  const bool tensorflow = update == SparseUpdate::sort_dedup;
  const std::int64_t expands = tensorflow && several ? 1 : 0;
  if (pass == Pass::forward) return 1 + expands;
  switch (update) {
    case SparseUpdate::fused:
      return kFused + kSort + radix_passes(rows) + kScan;
    case SparseUpdate::atomic:
      return 1;
    case SparseUpdate::block_per_row:
      return kBlockPerRow + kSort + radix_passes(rows) + kScan;
    case SparseUpdate::sort_dedup:
      return expands + kUnique + kSort + size_of(index) + kScan + kSort + radix_passes(lookups) + kUniqueInvert +
             kSegmentSum + kSparseApply;
  }
  return 1;
}

std::int64_t EmbeddingBag::kernels() const {
  std::int64_t sum = 0;
  double rows = 0, lookups = 0;
  bool several = false;
  for (const EmbeddingTable& t : tables) {
    if (!table_batched) sum += kernels_of_launch(real(t.rows), lookups_of(t), several_ids(t));
    rows += real(t.rows);
    lookups += lookups_of(t);
    several = several || several_ids(t);
  }
  return table_batched ? kernels_of_launch(rows, lookups, several) : sum;
}

}  // namespace distsim::graph
