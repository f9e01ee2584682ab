// Backward pass of embedding lookups with the optimizer: the kernels of each SparseUpdate, by the bytes they move. Per
// table, with N = batch * pooling_factor lookups of D distinct rows, gradient rows of g bytes, keys of k bytes:
//
//   sort      radix sort of N pairs of key and position, 8 bits of the key per pass: k N for the histogram, and in each
//             pass 2 (k + 4) N at 0.68 of the streaming rate, because a pass scatters into 256 bins. From 20 passes in
//             traces of two A100 (HolisticTraceAnalysis, MIT; 9 to 30 million pairs, 0.58 to 0.9)
//   fused     sort by as many bits as all rows need; 80 N for linear row numbers, run lengths, their sum and the search
//             for long runs (the same traces: 48 to 63 ps an index); gradient rows gathered, 1.75 g N, because a warp
//             walks a run in sorted order (6.9 ms for 15.8 million rows of 330 bytes there); update
//   atomic    no sort; every lookup adds into its row in L2 (read and write); updates of the most popular row wait for
//             each other
//   block_per_row
//             samples of the ids (8 N), sort by as many bits as the rows need, run starts and lengths (32 N), gradient
//             rows gathered; a block takes the gradients of its row in turn, four in flight in a loop that compilers
//             unroll, so that the most popular row's N p_1 are a chain on a machine that is empty by then; update
//   sort_dedup
//             a gradient row for every id where bags have several (g N written); `unique`: sort of whole keys, sum of
//             run starts (k + 4), run ends (8), positions scattered (8 and a sector), sort of the D first positions;
//             `unsorted_segment_sum`: D rows zeroed, N rows read and added with atomics as above; update. These kernels
//             run one after the other, and small tables stay in L2 between them
//   update    every distinct row read and written, with its optimizer state
//
// Launches are counted in EmbeddingBag::kernels.
// Sources: cub/device/device_radix_sort.cuh (onesweep); FBGEMM codegen/embedding_backward_split_template.cu; HugeCTR
// sparse_embedding_functors (update_params); TensorFlow unique_op_gpu.cu.h, segment_reduction_ops_gpu.cu.h, Keras
// _deduplicate_indexed_slices.
#include "opmodels/analytic/embedding_kernels.hpp"

namespace distsim::opmodels {
namespace {

constexpr double kPositionBytes = 4;      // 32-bit position that travels with a key
constexpr double kSortShare = 0.68;       // of the streaming rate, in a pass of the sort
constexpr double kFusedRunBytes = 80;     // of fused, see the head of this file
constexpr double kAtomicCycles = 1.6;     // L2 cycles that one update of a row holds the row
constexpr double kGatherSlowdown = 1.75;  // of fused, see the head of this file
constexpr double kSampleBytes = 8;        // of block_per_row: 64-bit number of an id's sample
constexpr double kRunStartBytes = 32;     // flags (k in, 4 out), sum (4 and 4), starts (8 in, 4 out)
constexpr double kUnrolledLoop = 4;       // of block_per_row, see the head of this file
constexpr double kSector = 32;

double pass_bytes(double key_bytes) { return 2 * (key_bytes + kPositionBytes); }

/// The sort alone, keys and positions that fit staying in L2.
double sort_seconds(const DeviceRates& device, double keys, double key_bytes, double passes) {
  return memory_seconds(device, keys * key_bytes) +
         passes * memory_seconds(device, keys * pass_bytes(key_bytes)) / kSortShare;
}

/// Bytes of optimizer state read and written per row.
double state_traffic(graph::EmbeddingOptimizer optimizer, const TableView& t) {
  switch (optimizer) {
    case graph::EmbeddingOptimizer::none:
    case graph::EmbeddingOptimizer::sgd:
      return 0;
    case graph::EmbeddingOptimizer::rowwise_adagrad:
      return 2 * kSector;
    case graph::EmbeddingOptimizer::adagrad:
      return 2 * t.state_bytes;
    case graph::EmbeddingOptimizer::adam:
      return 4 * t.state_bytes;
  }
  return 0;
}

/// Each distinct row once: read, updated, written, with its state. Without an optimizer the summed gradient is written
/// instead.
void demand_update(const TableView& t, graph::EmbeddingOptimizer optimizer, Demand& demand) {
  const double row =
      optimizer == graph::EmbeddingOptimizer::none ? t.state_bytes : 2 * t.row_bytes + state_traffic(optimizer, t);
  demand.add_memory(t.popularity.distinct(t.lookups) * (row + 2 * kRowOpenBytes));
}

double updates_of_top_row(const TableView& t) { return t.lookups * t.popularity.share_of_top(1); }

void demand_fused(const TableView& t, double sorted_rows, Demand& demand) {
  const double sort =
      t.index_bytes + graph::real(graph::radix_passes(sorted_rows)) * pass_bytes(t.index_bytes) / kSortShare;
  demand.add_memory(t.lookups * (sort + kFusedRunBytes - t.index_bytes));  // the traces' figure holds the histogram
  demand.add_memory(t.lookups * t.out_bytes * kGatherSlowdown);
}

/// Rows of `bytes` added to where they belong, in L2.
void demand_atomics(const DeviceRates& device, const TableView& t, double bytes, Demand& demand) {
  demand.l2 += 2 * t.lookups * bytes;
  demand.serial = std::max(demand.serial, updates_of_top_row(t) * kAtomicCycles / device.l2_clock);
}

void demand_atomic(const DeviceRates& device, const TableView& t, Demand& demand) {
  demand.add_memory(t.lookups * t.index_bytes + std::min(t.batch, t.lookups) * t.out_bytes);  // bag by bag, in order
  demand_atomics(device, t, t.row_bytes, demand);
}

void demand_blocks(const DeviceRates& device, const TableView& t, double sorted_rows, Demand& demand) {
  const double passes = graph::real(graph::radix_passes(sorted_rows));
  demand.add_memory(t.lookups * (kSampleBytes + t.index_bytes + kRunStartBytes));
  demand.add_memory(t.lookups * passes * 2 * (t.index_bytes + kSampleBytes) / kSortShare);
  demand.add_memory(t.lookups * t.out_bytes);
  demand.latency += t.lookups * kRowSeconds / rows_in_flight(device) / (kWarpsPerSm * device.sms);
  demand.tail = std::max(demand.tail, updates_of_top_row(t) * kRowSeconds * kUnloaded / kUnrolledLoop);
}

/// TensorFlow's `unique` over the ids of one table.
double unique_seconds(const DeviceRates& device, const TableView& t) {
  const double n = t.lookups, distinct = t.popularity.distinct(n), key = t.index_bytes, p = kPositionBytes;
  const double scan = memory_seconds(device, n * (key + p)),
               ends = memory_seconds(device, n * 2 * p + distinct * 2 * p);
  const double positions = memory_seconds(device, n * (2 * p + kSector));
  const double first = sort_seconds(device, distinct, p, graph::real(graph::radix_passes(n)));
  return memory_seconds(device, n * p) + sort_seconds(device, n, key, key) + scan + ends + first + positions;
}

double dedup_seconds(const DeviceRates& device, const TableView& t, graph::EmbeddingOptimizer optimizer) {
  const double n = t.lookups, distinct = t.popularity.distinct(n);
  const double expand = t.several_ids ? memory_seconds(device, n * t.out_bytes + t.batch * t.out_bytes) : 0;
  Demand atomics, update;
  atomics.l2 = n * (t.out_bytes + kPositionBytes);
  demand_atomics(device, t, t.out_bytes, atomics);
  const double sum = memory_seconds(device, distinct * t.out_bytes) +
                     std::max(memory_seconds(device, n * (t.out_bytes + kPositionBytes)), seconds_of(device, atomics));
  demand_update(t, optimizer, update);
  return expand + unique_seconds(device, t) + sum + seconds_of(device, update);
}

/// All but sort_dedup: kernels that keep the machine busy from table to table.
void demand_backward(const DeviceRates& device, const graph::EmbeddingBag& op, const TableView& t, double sorted_rows,
                     Demand& demand) {
  if (op.update == graph::SparseUpdate::fused) demand_fused(t, sorted_rows, demand);
  if (op.update == graph::SparseUpdate::atomic) demand_atomic(device, t, demand);
  if (op.update == graph::SparseUpdate::block_per_row) demand_blocks(device, t, sorted_rows, demand);
  demand_update(t, op.optimizer, demand);
}

}  // namespace

double sparse_update_seconds(const DeviceRates& device, const graph::EmbeddingBag& op) {
  double all_rows = 0, seconds = 0;
  for (const graph::EmbeddingTable& t : op.tables) all_rows += graph::real(t.rows);
  Demand together;
  for (const graph::EmbeddingTable& table : op.tables) {
    const TableView t = view_of(op, table);
    if (op.update == graph::SparseUpdate::sort_dedup) {
      seconds += dedup_seconds(device, t, op.optimizer);
    } else if (op.table_batched) {
      demand_backward(device, op, t, all_rows, together);
    } else {
      Demand alone;
      demand_backward(device, op, t, t.rows, alone);
      seconds += seconds_of(device, alone);
    }
  }
  return seconds + seconds_of(device, together);
}

}  // namespace distsim::opmodels
