// Pooled embedding lookups, forward and backward with the optimizer. Per table, with N = batch * pooling_factor lookups
// of rows of r bytes (c(x): x rounded up to the 32-byte sectors that memory moves), hit rate hr and distinct rows from
// embedding_reuse.hpp, and o bytes that opening a random row costs:
//
//   forward
//     memory   N index + (batch + 1) 8 + batch c(out) + (1 - hr) N (c(r) + o)
//     L2       the same plus hr N c(r)
//     latency  a warp walks a bag row by row: (bags 1.1 us + N 0.84 us / rows in flight) / (45 SMs), one row in flight
//              per warp before Hopper, four from there on (unrolled kernels; no public rows to check that on). Overlaps
//              with memory.
//     tail     bags of unequal length (a pooling factor that is not a whole number) end at different times: half of the
//              longest bag of an exponential distribution, ln(bags)/2 means, at half of a row's latency, which is that
//              of an idle machine
//     latency and tail are fitted on FBGEMM's kernels in traces of V100 and A100 (docs/op_models.md)
//   forward of a framework's plain embedding (one table, one index per sample, not table-batched)
//     at least N dim elements at 0.55 per SM and clock
//   backward, fused
//     indices sorted by row (radix passes over as many bits as the rows need), gradient rows gathered at half the
//     streaming rate, every distinct row read, updated and written with its optimizer state
//   backward, atomic
//     no sort; every lookup adds into its row in L2 (read and write); updates of the most popular row wait for each
//     other
//   backward, sort_dedup
//     64-bit sort, unique, segment sum and scatter as separate generic kernels: the traffic of the sort, 180 SM cycles
//     per index, and 170 us per table in which the host waits for the number of distinct rows. Both figures are fitted,
//     on the nine published runs of NVIDIA's synthetic recommenders (distributed-embeddings, three models on 1 to 128
//     A100)
//
// Kernels: 1 forward; backward 12 (fused, sort_dedup; scans over the device of 2.5 empty kernels each) or 1 (atomic);
// for all tables together if table_batched, else for each. Cached rows: 0.9 L2 / (r * tables in flight), tables in
// flight = max(1, 45 warps * SMs of the architecture's part / batch).
// Sources: arXiv 2201.07821 (forward), FBGEMM's kernels (backward).
#include <algorithm>
#include <cmath>

#include "opmodels/analytic/kernels.hpp"
#include "opmodels/hardware/embedding_reuse.hpp"
#include "opmodels/registry.hpp"
#include "opmodels/shape_check.hpp"

namespace distsim::opmodels {
namespace {

constexpr double kWarpsPerSm = 45;      // resident, of 64: register bound (arXiv 2201.07821)
constexpr double kCacheShare = 0.9;     // of L2, for table rows
constexpr double kRowOpenBytes = 48;    // a random row costs as if it were this much longer
constexpr double kSortPairBytes = 12;   // 64-bit linear index and 32-bit position
constexpr double kSortFixedBytes = 64;  // linearise, histogram, run lengths
// SM cycles per index: unique, segment sum, scatter as generic kernels (fitted: see the head of this file).
constexpr double kDedupCycles = 180;
// Elements per SM and clock of a framework's gather of single rows, one element per thread (Vidur's fp16 vocabularies:
// 0.48 on A100, 0.57 on A40, 0.60 on H100, whatever the batch and dim; MIT).
constexpr double kGatherPerClock = 0.55;
constexpr double kBagSeconds = 1.1e-6;                   // a warp's chain of offsets, first index and store, under load
constexpr double kRowSeconds = 0.84e-6;                  // a warp's wait for one row, under load
constexpr double kUnloaded = 0.5;                        // of that where the machine is nearly empty
constexpr double kUnrolledFrom = 90, kUnrolledRows = 4;  // rows in flight per warp from that capability on
constexpr double kAtomicCycles = 1.5;                    // L2 cycles that one update of a row holds the row
// Sorted order visits gradient rows at random, one warp walking a segment: half the streaming rate.
constexpr double kGatherSlowdown = 2;
constexpr double kBackwardKernels = 12;    // linearise, passes of the sort, run lengths, update
constexpr double kSortKernelFloors = 2.5;  // each of them scans over all of the device: this many empty kernels
constexpr double kDedupKernels = 12;
// Seconds per table: the host reads the number of distinct rows back before it can launch what uses it (fitted).
constexpr double kDedupSync = 170e-6;

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
  const double dim = graph::real(t.dim), batch = graph::real(op.batch);
  return {batch * t.pooling_factor,
          batch,
          graph::real(t.rows),
          sectors(dim * graph::real(graph::size_of(op.weights))),
          sectors(dim * graph::real(graph::size_of(op.output))),
          sectors(dim * 4),
          graph::real(graph::size_of(op.index)),
          RowPopularity(graph::real(t.rows), t.alpha)};
}

double cached_rows(const DeviceRates& device, const TableView& t) {
  const double in_flight = std::max(1.0, kWarpsPerSm * device.traits.sms() / t.batch);
  return kCacheShare * device.l2_bytes / (t.row_bytes * in_flight);
}

/// nn.Embedding: one index per sample, one table at a time. Pooled and table-batched kernels load vectors.
bool is_plain_gather(const graph::EmbeddingBag& op, const graph::EmbeddingTable& table) {
  return !op.table_batched && op.tables.size() == 1 && table.pooling_factor == 1;
}

/// See the head of this file. Not for a plain gather, which has one thread per element.
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

/// Bytes of optimizer state read and written per row.
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
  for (const graph::EmbeddingTable& t : op.tables) {
    TRY(check_product("embedding_bag", {op.batch, t.dim}));
    TRY(check_product("embedding_bag", {t.rows, t.dim}));
  }
  return {};
}

Result<OpTime> price(const DeviceRates& device, const graph::EmbeddingBag& op) {
  TRY(check(op));
  double all_rows = 0;
  for (const graph::EmbeddingTable& t : op.tables) all_rows += graph::real(t.rows);
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
      demand.serial = t.lookups * graph::real(table.dim) / (device.sms * device.clock * kGatherPerClock);
    else if (forward)
      demand_walk(device, t, demand);
    if (op.table_batched) continue;
    seconds += seconds_of(device, demand) + fixed_seconds(device, op);
    demand = Demand{};
  }
  if (op.table_batched) seconds = seconds_of(device, demand) + fixed_seconds(device, op);
  return OpTime{seconds, forward ? Spread{0.25, 1.0} : Spread{0.25, 1.3}};
}

}  // namespace

OpModelEntry op_model(Of<graph::EmbeddingBag>) {
  graph::EmbeddingBag example;
  example.tables.assign(8, {1'000'000, 128, 10, 1.05});
  example.batch = 65536;
  return {
      .sentence =
          "Memory and L2 traffic with expected reuse under index skew; backward by fused, sorted or atomic update",
      .source = "embedding traffic",
      .passes = {graph::Pass::forward, graph::Pass::backward},
      .example = example,
      .price = priced_as<graph::EmbeddingBag, price>,
  };
}

}  // namespace distsim::opmodels
