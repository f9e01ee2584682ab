// What the kernels of embedding lookups (embedding_bag.cpp) and of their backward passes (sparse_update.cpp) ask of the
// machine. c(x): x rounded up to the 32-byte sectors that memory moves.
#pragma once

#include <algorithm>
#include <cmath>

#include "opmodels/hardware/embedding_reuse.hpp"
#include "opmodels/op_time.hpp"

namespace distsim::opmodels {

inline constexpr double kWarpsPerSm = 45;    // resident, of 64: register bound (arXiv 2201.07821)
inline constexpr double kRowOpenBytes = 48;  // a random row costs as if it were this much longer
// Fitted on FBGEMM's kernels in traces of V100 and A100 (docs/op_models.md).
inline constexpr double kRowSeconds = 0.84e-6;  // a warp's wait for one row, under load
inline constexpr double kUnloaded = 0.5;        // of that where the machine is nearly empty
/// Rows that a warp has in flight: kernels are unrolled from Hopper on (no public rows to check that on).
inline double rows_in_flight(const DeviceRates& device) { return device.capability >= 90 ? 4 : 1; }

/// What the kernels of one or of all tables ask of the machine.
struct Demand {
  double memory = 0;   // bytes from or to HBM
  double l2 = 0;       // bytes through L2, those of memory included
  double latency = 0;  // seconds in which the resident warps wait for their rows
  double tail = 0;     // seconds from the last full wave to the end of the longest bag
  double serial = 0;   // seconds that nothing shortens, beside the others

  void add_memory(double bytes) {
    memory += bytes;
    l2 += bytes;
  }
};

inline double seconds_of(const DeviceRates& device, const Demand& d) {
  return std::max({overlap(d.memory / device.streaming_hbm(), d.latency), d.l2 / device.streaming_l2(), d.serial}) +
         d.tail;
}

/// One table's numbers.
struct TableView {
  double lookups, batch, rows;
  double row_bytes, out_bytes, state_bytes;  // state: fp32 elements of a row; whole sectors
  double index_bytes;
  bool several_ids;
  RowPopularity popularity;
};

inline double sectors(double bytes) { return std::ceil(bytes / 32) * 32; }

inline TableView view_of(const graph::EmbeddingBag& op, const graph::EmbeddingTable& t) {
  const double dim = graph::real(t.dim);
  return {op.lookups_of(t),
          graph::real(op.batch),
          graph::real(t.rows),
          sectors(dim * graph::real(graph::size_of(op.weights))),
          sectors(dim * graph::real(graph::size_of(op.output))),
          sectors(dim * 4),
          graph::real(graph::size_of(op.index)),
          op.several_ids(t),
          RowPopularity(graph::real(t.rows), t.alpha)};
}

/// Backward pass of all tables with the optimizer, without what launches cost. sparse_update.cpp
double sparse_update_seconds(const DeviceRates& device, const graph::EmbeddingBag& op);

}  // namespace distsim::opmodels
