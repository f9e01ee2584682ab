#include "opmodels/analytic/embedding_bag_analytic.hpp"

#include <algorithm>
#include <cmath>

#include "opmodels/hardware/embedding_reuse.hpp"
#include "opmodels/shape_check.hpp"

namespace distsim::opmodels {
namespace {

constexpr double kWarpsPerSm = 45;                // resident, of 64: register bound (arXiv 2201.07821)
constexpr double kCacheShare = 0.9;               // of L2, for table rows
constexpr double kRowOpenBytes = 48;              // a random row costs as if it were this much longer
constexpr double kSortPairBytes = 12;             // 64-bit linear index and 32-bit position
constexpr double kSortFixedBytes = 64;            // linearise, histogram, run lengths
constexpr double kGenericSortBytes = 8 * 3 * 16;  // 8 passes over 64-bit pairs; each reads twice and writes once
constexpr double kDedupCycles =
    180;  // SM cycles an index: unique, segment sum, scatter as generic kernels (fitted, see the header)
constexpr double kGatherPerClock =
    0.55;  // elements an SM and clock of a framework's gather of single rows, one element a thread (Vidur's fp16
           // vocabularies: 0.48 on A100, 0.57 on A40, 0.60 on H100, whatever the batch and dim; MIT)
constexpr double kBagSeconds = 1.1e-6;                   // a warp's chain of offsets, first index and store, under load
constexpr double kRowSeconds = 0.84e-6;                  // a warp's wait for one row, under load
constexpr double kUnloaded = 0.5;                        // of that where the machine is nearly empty
constexpr double kUnrolledFrom = 90, kUnrolledRows = 4;  // rows in flight a warp from that capability on
constexpr double kAtomicCycles = 1.5;                    // L2 cycles that one update of a row holds the row
constexpr double kGatherSlowdown =
    2;  // sorted order visits gradient rows at random, one warp walking a segment: half the streaming rate
constexpr double kBackwardKernels = 12;    // linearise, passes of the sort, run lengths, update
constexpr double kSortKernelFloors = 2.5;  // each of them scans over the whole device: this many empty kernels
constexpr double kDedupKernels = 12;
constexpr double kDedupSync =
    170e-6;  // seconds a table: the host reads the number of distinct rows back before it can launch what uses it

/// What the kernels of one or of all tables ask of the machine.
struct Demand {
  double memory = 0;   // bytes from or to HBM
  double l2 = 0;       // bytes through L2, those of memory included
  double latency = 0;  // seconds in which the resident warps wait for their rows
  double tail = 0;     // seconds from the last full wave to the end of the longest bag
  double serial = 0;   // seconds that cannot overlap with anything
  double compute = 0;  // seconds of all SMs

  void add_memory(double bytes) {
    memory += bytes;
    l2 += bytes;
  }
};

double sectors(double bytes) { return std::ceil(bytes / 32) * 32; }

/// One table's numbers.
struct TableView {
  double lookups, batch, rows;
  double row_bytes, out_bytes, state_bytes;  // state: fp32 elements of a row
  double index_bytes;
  RowPopularity popularity;
};

TableView view(const graph::EmbeddingBag& op, const graph::EmbeddingTable& t) {
  const double dim = as_double(t.dim), batch = as_double(op.batch);
  return {batch * t.pooling_factor,
          batch,
          as_double(t.rows),
          sectors(dim * as_double(graph::size_of(op.weights))),
          sectors(dim * as_double(graph::size_of(op.output))),
          sectors(dim * 4),
          as_double(graph::size_of(op.index)),
          RowPopularity(as_double(t.rows), t.alpha)};
}

double cached_rows(const DeviceRates& device, const TableView& t) {
  const double in_flight = std::max(1.0, std::ceil(kWarpsPerSm * device.sms / t.batch));
  return kCacheShare * device.l2_bytes / (t.row_bytes * in_flight);
}

/// nn.Embedding: one index a sample, a table at a time. Pooled and table-batched kernels load whole vectors a thread.
bool is_plain_gather(const graph::EmbeddingBag& op, const graph::EmbeddingTable& table) {
  return !op.table_batched && op.tables.size() == 1 && table.pooling_factor == 1;
}

/// See the header. Not for a plain gather, which has a thread an element.
void demand_walk(const DeviceRates& device, const TableView& t, Demand& demand) {
  const double in_flight = device.capability >= kUnrolledFrom ? kUnrolledRows : 1;
  const double row = kRowSeconds / in_flight;
  demand.latency += (t.batch * kBagSeconds + t.lookups * row) / (kWarpsPerSm * device.sms);
  const double length = t.lookups / t.batch;
  if (length != std::floor(length))
    demand.tail = std::max(demand.tail, 0.5 * std::log(t.batch) * length * row * kUnloaded);
}

void demand_forward(const DeviceRates& device, const TableView& t, Demand& demand) {
  const double hits = t.popularity.hit_rate(t.lookups, cached_rows(device, t));
  demand.add_memory(t.lookups * t.index_bytes + (t.batch + 1) * 8 + t.batch * t.out_bytes);
  demand.add_memory((1 - hits) * t.lookups * (t.row_bytes + kRowOpenBytes));
  demand.l2 += hits * t.lookups * t.row_bytes;
}

/// Bytes of optimizer state read and written a row.
double state_traffic(graph::EmbeddingOptimizer optimizer, const TableView& t) {
  switch (optimizer) {
    case graph::EmbeddingOptimizer::none:
    case graph::EmbeddingOptimizer::sgd:
      return 0;
    case graph::EmbeddingOptimizer::rowwise_adagrad:
      return 2 * 32;
    case graph::EmbeddingOptimizer::adagrad:
      return 2 * t.state_bytes;
    case graph::EmbeddingOptimizer::adam:
      return 4 * t.state_bytes;
  }
  return 0;
}

/// Each distinct row once: read, updated, written, with its state. Without an optimizer the summed gradient is written
/// instead.
void demand_update(const TableView& t, graph::EmbeddingOptimizer optimizer, double distinct, Demand& demand) {
  const double row =
      optimizer == graph::EmbeddingOptimizer::none ? t.state_bytes : 2 * t.row_bytes + state_traffic(optimizer, t);
  demand.add_memory(distinct * (row + 2 * kRowOpenBytes));
}

double radix_passes(double rows) { return std::max(1.0, std::ceil(std::log2(std::max(2.0, rows)) / 8)); }

/// Seconds for which the updates of the most popular row queue up.
double conflict_seconds(const DeviceRates& device, const TableView& t) {
  return t.lookups * t.popularity.share_of_top(1) * kAtomicCycles / device.clock;
}

void demand_backward(const DeviceRates& device, const graph::EmbeddingBag& op, const TableView& t, double all_rows,
                     Demand& demand) {
  const double distinct = t.popularity.distinct(t.lookups);
  switch (op.update) {
    case graph::SparseUpdate::fused:
      demand.add_memory(t.lookups * (radix_passes(all_rows) * 2 * kSortPairBytes + kSortFixedBytes));
      demand.add_memory(t.lookups * t.out_bytes * kGatherSlowdown);
      break;
    case graph::SparseUpdate::atomic:
      demand.add_memory(t.lookups * t.index_bytes +
                        std::min(t.batch, t.lookups) * t.out_bytes);  // bag by bag, in order
      demand.l2 += 2 * t.lookups * t.row_bytes;
      demand.serial = std::max(demand.serial, conflict_seconds(device, t));
      break;
    case graph::SparseUpdate::sort_dedup:
      demand.add_memory(t.lookups * (kGenericSortBytes + t.out_bytes));
      demand.compute += t.lookups * kDedupCycles / (device.sms * device.clock);
      break;
  }
  demand_update(t, op.optimizer, distinct, demand);
}

double seconds_of(const DeviceRates& device, const Demand& d) {
  return std::max({overlap(d.memory / device.streaming_hbm(), d.latency), d.l2 / device.streaming_l2(), d.serial}) +
         d.tail + d.compute;
}

/// Kernels of one launch of the op, in empty kernels' time.
double kernels_of(const graph::EmbeddingBag& op) {
  if (op.pass == graph::Pass::forward) return 1;
  switch (op.update) {
    case graph::SparseUpdate::fused:
      return kBackwardKernels * kSortKernelFloors;
    case graph::SparseUpdate::atomic:
      return 1;
    case graph::SparseUpdate::sort_dedup:
      return kDedupKernels * kSortKernelFloors;
  }
  return 1;
}

/// What one launch of the op costs whatever its size.
double fixed_seconds(const DeviceRates& device, const graph::EmbeddingBag& op) {
  const bool waits = op.pass == graph::Pass::backward && op.update == graph::SparseUpdate::sort_dedup;
  return kernels_of(op) * device.floor + (waits ? kDedupSync : 0);
}

Result<void> check(const graph::EmbeddingBag& op) {
  TRY(check_dims("embedding_bag", {{"tables", static_cast<std::int64_t>(op.tables.size())}}));
  TRY(check_pass("embedding_bag", op.pass, {graph::Pass::forward, graph::Pass::backward}));
  for (const graph::EmbeddingTable& t : op.tables) {
    TRY(check_dims("embedding_bag", {{"batch", op.batch}, {"dim", t.dim}}));
    TRY(check_dims("embedding_bag", {{"rows", t.rows}, {"dim", t.dim}}));
    TRY(check_number("embedding_bag", "rows", as_double(t.rows), 1, 1e15));
    TRY(check_number("embedding_bag", "pooling_factor", t.pooling_factor, 0, 1e6));
    TRY(check_number("embedding_bag", "alpha", t.alpha, 0, 4));
  }
  return {};
}

}  // namespace

Result<OpTime> price_embedding_bag(const DeviceRates& device, const graph::EmbeddingBag& op) {
  TRY(check(op));
  double all_rows = 0;
  for (const graph::EmbeddingTable& t : op.tables) all_rows += as_double(t.rows);
  const bool forward = op.pass == graph::Pass::forward;
  Demand demand;
  double seconds = 0;
  for (const graph::EmbeddingTable& table : op.tables) {
    const TableView t = view(op, table);
    if (forward)
      demand_forward(device, t, demand);
    else
      demand_backward(device, op, t, op.table_batched ? all_rows : t.rows, demand);
    if (forward && is_plain_gather(op, table))
      demand.serial = t.lookups * as_double(table.dim) / (device.sms * device.clock * kGatherPerClock);
    else if (forward)
      demand_walk(device, t, demand);
    if (op.table_batched) continue;
    seconds += seconds_of(device, demand) + fixed_seconds(device, op);
    demand = Demand{};
  }
  if (op.table_batched) seconds = seconds_of(device, demand) + fixed_seconds(device, op);
  return OpTime{seconds, forward ? Spread{0.25, 1.0} : Spread{0.25, 1.3}};
}

}  // namespace distsim::opmodels
