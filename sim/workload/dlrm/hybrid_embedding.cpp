#include "sim/workload/dlrm/hybrid_embedding.hpp"

#include <algorithm>
#include <cmath>

#include "base/check.hpp"

namespace distsim::workload {
namespace {

// Bandwidths in GB/s that HugeCTR's HybridEmbeddingParam was given in NVIDIA's MLPerf Training v1.1 submission of DLRM,
// for all-to-all and all-reduce.
constexpr double kAllToAllOverAllReduce = 190.0 / 130.0;

/// Sum of i^-alpha for i = 1..n: integral, half of both ends, and the first correction (Euler and Maclaurin).
double power_sum(double n, double alpha) {
  if (n < 1) return 0;
  const double integral = std::abs(alpha - 1) < 1e-9 ? std::log(n) : (std::pow(n, 1 - alpha) - 1) / (1 - alpha);
  const double last = std::pow(n, -alpha);
  return integral + 0.5 * (1 + last) + alpha / 12 * (1 - last / n);
}

/// Rows that appear more than `count` times among `draws`; they are the first ones.
double frequent_rows_of(const ModelTable& t, double draws, double count) {
  const auto rows = static_cast<double>(t.rows);
  if (t.alpha == 0) return draws / rows > count ? rows : 0;
  const double limit = std::pow(draws / (count * power_sum(rows, t.alpha)), 1 / t.alpha);
  return std::clamp(std::floor(limit), 0.0, rows);
}

}  // namespace

HybridSplit hybrid_split(std::span<const ModelTable> tables, std::int64_t batch, std::uint32_t ranks) {
  CHECK(!tables.empty() && batch > 0 && ranks > 0) << tables.size() << " tables, batch " << batch;
  HybridSplit split;
  split.dim = tables.front().dim;
  const double count = ranks * kAllToAllOverAllReduce;
  double beyond_first = 0;
  for (const ModelTable& t : tables) {
    const double rows = frequent_rows_of(t, static_cast<double>(batch), count);
    const double share = t.alpha == 0 ? rows / static_cast<double>(t.rows)
                                      : power_sum(rows, t.alpha) / power_sum(static_cast<double>(t.rows), t.alpha);
    split.frequent_rows += static_cast<std::int64_t>(rows);
    split.all_rows += t.rows;
    split.frequent_ids += std::min(1.0, share);
    beyond_first += std::min(1.0, share) * (t.alpha - tables.front().alpha);
    split.infrequent_ids += 1 - std::min(1.0, share);
  }
  split.frequent_alpha = tables.front().alpha + (split.frequent_ids > 0 ? beyond_first / split.frequent_ids : 0);
  return split;
}

bool hybrid_applies(const DlrmSpec& spec, const TableSplit& split, const FrameworkSpec& framework,
                    std::uint32_t ranks) {
  if (!framework.embedding.hybrid || ranks < 2) return false;
  if (!split.by_planner() || spec.embedding_optimizer != graph::EmbeddingOptimizer::sgd) return false;
  return std::all_of(spec.tables.begin(), spec.tables.end(), [&](const TableSpec& t) {
    return t.pooling_factor == 1 && t.features == 1 && (t.dim == 0 || t.dim == spec.embedding_dim);
  });
}

}  // namespace distsim::workload
