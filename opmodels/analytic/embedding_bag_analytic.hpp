// Pooled embedding lookups, forward and backward with the optimizer. Per table, with N = batch * pooling_factor lookups
// of rows of r bytes (c(x): x rounded up to the 32-byte sectors that memory moves), and hit rate and distinct rows from
// embedding_reuse.hpp:
//
//   forward   memory  N index + (batch + 1) 8 + batch c(out) + (1 - hr) N (c(r) + o)       o: what opening a random row
//   costs, in bytes
//             L2      the same plus hr N c(r)
//             latency a warp walks a bag row by row: (bags 1.1 us + N 0.84 us / rows in flight) / (45 SMs), one row in
//             flight a warp before Hopper, four
//                     from there on (unrolled kernels; no public rows to check that on). Overlaps with memory. Bags of
//                     unequal length (a pooling factor that is no whole number) leave a tail: half of the longest bag
//                     of an exponential distribution, ln(bags)/2 means, at the unloaded latency of half a row's. Fitted
//                     on FBGEMM's kernels in traces of V100 and A100 (docs/op_models.md)
//   forward of a framework's plain embedding (one table, one index a sample, not table-batched): at least N dim
//   elements at 0.55 an SM and clock backward, fused   indices sorted by row (radix passes over as many bits as the
//   rows need), gradient rows gathered at half the streaming rate,
//                     every distinct row read, updated and written with its optimizer state
//   backward, atomic  no sort; every lookup adds into its row in L2 (read and write); updates of the most popular row
//   wait for each other backward, sort_dedup  64-bit sort, unique, segment sum and scatter as separate generic kernels:
//   the traffic of the sort, 180 SM cycles an index, and
//                     170 us a table in which the host waits for the number of distinct rows. Both figures are fitted,
//                     on the nine published runs of NVIDIA's synthetic recommenders (distributed-embeddings, three
//                     models on 1 to 128 A100)
// Kernels: 1 forward; backward 12 (fused, sort_dedup; scans over the device of 2.5 empty kernels each) or 1 (atomic);
// for all tables together if table_batched, else for each. Cached rows: 0.9 L2 / (r * tables in flight), tables in
// flight = ceil(45 warps * SMs / batch). Validity: rows 1..1e15, dim 1..2^31, pooling factor 0..1e6, alpha 0..4.
// Sources: arXiv 2201.07821 (forward), FBGEMM's kernels (backward).
#pragma once

#include "opmodels/op_time.hpp"

namespace distsim::opmodels {

Result<OpTime> price_embedding_bag(const DeviceRates& device, const graph::EmbeddingBag& op);

}  // namespace distsim::opmodels
