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
//   forward table by table (not table-batched): gathers, in which no warp walks a bag, so memory and L2 only, and
//     of a framework's plain embedding, a thread for each element of each row, however many ids a sample has:
//       at least N dim elements at 0.55 per SM and clock
//     of TensorFlow (sort_dedup), vectors of a row: several ids are gathered and then summed by a second kernel, so
//       rows are written, N c(r), and read again
//   backward
//     sparse_update.cpp
//
// Kernels: EmbeddingBag::kernels; those of a backward pass with a sort scan over the device, 2.5 empty kernels each.
// Cached rows: 0.9 L2 / (r * tables in flight), tables in flight = max(1, 45 warps * SMs of the architecture's part /
// batch).
// Source: arXiv 2201.07821.
#include <algorithm>
#include <cmath>

#include "opmodels/analytic/embedding_kernels.hpp"
#include "opmodels/analytic/kernels.hpp"
#include "opmodels/registry.hpp"
#include "opmodels/shape_check.hpp"

namespace distsim::opmodels {
namespace {

constexpr double kCacheShare = 0.9;  // of L2, for table rows
// Elements per SM and clock of a framework's gather of single rows, one element per thread (Vidur's fp16 vocabularies:
// 0.48 on A100, 0.57 on A40, 0.60 on H100, whatever the batch and dim; MIT).
constexpr double kGatherPerClock = 0.55;
constexpr double kBagSeconds = 1.1e-6;     // a warp's chain of offsets, first index and store, under load
constexpr double kSortKernelFloors = 2.5;  // empty kernels that one takes which scans over all of the device

double cached_rows(const DeviceRates& device, const TableView& t) {
  const double in_flight = std::max(1.0, kWarpsPerSm * device.traits.sms() / t.batch);
  return kCacheShare * device.l2_bytes / (t.row_bytes * in_flight);
}

/// TensorFlow's lookups, table by table: a gather, and for several ids a sum.
bool is_tensorflow(const graph::EmbeddingBag& op) {
  return !op.table_batched && op.update == graph::SparseUpdate::sort_dedup;
}

/// See the head of this file. Not for gathers, which have a thread for each element or vector.
void demand_walk(const DeviceRates& device, const TableView& t, Demand& demand) {
  const double row = kRowSeconds / rows_in_flight(device);
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

double lookup_seconds(const DeviceRates& device, const graph::EmbeddingBag& op) {
  Demand demand;
  double seconds = 0;
  for (const graph::EmbeddingTable& table : op.tables) {
    const TableView t = view_of(op, table);
    demand_forward(device, t, demand);
    if (op.table_batched)
      demand_walk(device, t, demand);
    else if (!is_tensorflow(op))
      demand.serial = t.lookups * graph::real(table.dim) / (device.sms * device.clock * kGatherPerClock);
    if (op.table_batched) continue;
    const bool sums = is_tensorflow(op) && op.several_ids(table);
    seconds += seconds_of(device, demand) + (sums ? 2 * memory_seconds(device, t.lookups * t.row_bytes) : 0);
    demand = Demand{};
  }
  return seconds + seconds_of(device, demand);
}

/// Bytes of a table that memory moves at least: what demand_forward() has without the opening of rows, each of which comes
/// once, and of a backward pass the gradients in and the rows that they change.
double least_bytes(const DeviceRates& device, const graph::EmbeddingBag& op, const TableView& t) {
  const double distinct = t.popularity.distinct(t.lookups), ids = t.lookups * t.index_bytes;
  const double vectors = std::min(t.batch, t.lookups) * t.out_bytes;
  if (op.pass != graph::Pass::forward) return ids + vectors + distinct * t.row_bytes;
  const double missed = (1 - t.popularity.hit_rate(t.lookups, cached_rows(device, t))) * t.lookups;
  return ids + vectors + std::min(missed, distinct) * t.row_bytes;
}

/// What launches cost, whatever the sizes.
double fixed_seconds(const DeviceRates& device, const graph::EmbeddingBag& op) {
  const bool sorts = op.pass != graph::Pass::forward && op.update != graph::SparseUpdate::atomic;
  return graph::real(op.kernels()) * (sorts ? kSortKernelFloors : 1) * device.floor;
}

Result<void> check(const graph::EmbeddingBag& op) {
  for (const graph::EmbeddingTable& t : op.tables) {
    TRY(check_product("embedding_bag", {op.batch, t.dim}));
    TRY(check_product("embedding_bag", {t.rows, t.dim}));
  }
  return {};
}

Result<OpTime> price_embedding_bag(const DeviceRates& device, const graph::EmbeddingBag& op) {
  TRY(check(op));
  const bool forward = op.pass == graph::Pass::forward;
  const double seconds =
      (forward ? lookup_seconds(device, op) : sparse_update_seconds(device, op)) + fixed_seconds(device, op);
  return OpTime{seconds, forward ? Spread{0.25, 1.0} : Spread{0.25, 1.3}};
}

}  // namespace

double embedding_bytes(const DeviceRates& device, const graph::EmbeddingBag& op) {
  double bytes = 0;
  for (const graph::EmbeddingTable& table : op.tables) bytes += least_bytes(device, op, view_of(op, table));
  return bytes;
}

OpModelEntry op_model(Of<graph::EmbeddingBag>) {
  graph::EmbeddingBag example;
  example.tables.assign(8, {1'000'000, 128, 10, 1.05});
  example.batch = 65536;
  return {
      .sentence =
          "Memory and L2 traffic with expected reuse under index skew; backward by the kernels of the framework's sparse update",
      .source = "embedding traffic",
      .passes = {graph::Pass::forward, graph::Pass::backward},
      .example = example,
      .price = priced_as<graph::EmbeddingBag, price_embedding_bag>,
  };
}

}  // namespace distsim::opmodels
