#include "sim/workload/dlrm/embedding_ops.hpp"

#include <algorithm>

namespace distsim::workload {
namespace {

/// One entry for each feature, so that the kernel writes as many vectors as the model has.
void append_tables(graph::EmbeddingBag& op, const ModelTable& table, std::int64_t rows, std::int64_t dim,
                   double pooling) {
  const graph::EmbeddingTable entry{rows, dim, pooling / static_cast<double>(table.features), table.alpha};
  op.tables.insert(op.tables.end(), static_cast<std::size_t>(table.features), entry);
}

/// Kernels of a backward pass, as counted in profiles.
std::int64_t update_kernels(graph::SparseUpdate update) {
  switch (update) {
    case graph::SparseUpdate::sort_dedup:
      return 6;  // sorts, finds runs, sums, scatters
    case graph::SparseUpdate::fused:
      return 3;  // sorts, updates
    case graph::SparseUpdate::atomic:
      return 1;  // scatters
  }
  CHECK(false) << "sparse update " << static_cast<int>(update);
  return 0;
}

}  // namespace

graph::EmbeddingBag embedding_bag(const DlrmSpec& spec, std::int64_t samples, graph::Pass pass, const LayerContext& c) {
  graph::EmbeddingBag op;
  op.batch = samples;
  op.weights = spec.embedding_dtype;
  op.output = exchange_dtype(spec, c.numerics);
  op.pass = pass;
  op.optimizer = spec.embedding_optimizer;
  // Plain SGD needs no sum of duplicates first: every gradient row is added where it belongs (TensorFlow's
  // resource_scatter_add).
  const bool scatter = c.framework->embedding.sparse_update == graph::SparseUpdate::sort_dedup &&
                       spec.embedding_optimizer == graph::EmbeddingOptimizer::sgd;
  // Adam needs the sum of a row's gradients, so that atomics do not suffice (HugeCTR's hash embeddings sort).
  const bool sum = c.framework->embedding.sparse_update == graph::SparseUpdate::atomic &&
                   spec.embedding_optimizer == graph::EmbeddingOptimizer::adam;
  op.update = scatter ? graph::SparseUpdate::atomic
              : sum   ? graph::SparseUpdate::sort_dedup
                      : c.framework->embedding.sparse_update;
  op.table_batched = c.framework->embedding.table_batched;
  return op;
}

graph::DType exchange_dtype(const DlrmSpec& spec, const Numerics& numerics) {
  return spec.exchange_dtype.value_or(numerics.activation);
}

std::vector<graph::Op> embedding_ops(const DlrmSpec& spec, const Placement& placement, std::int64_t samples,
                                     graph::Pass pass, const LayerContext& c) {
  std::vector<graph::Op> ops;
  for (const ShardSet& set : placement.sets) {
    if (set.shards.empty()) {
      ops.push_back(graph::Absent{});
      continue;
    }
    graph::EmbeddingBag op = embedding_bag(spec, samples, pass, c);
    for (const Shard& s : set.shards) append_tables(op, placement.tables[s.table], s.rows, s.dim, s.pooling_factor);
    ops.push_back(std::move(op));
  }
  return ops;
}

graph::Op replicated_embedding_op(const DlrmSpec& spec, const Placement& placement, std::int64_t samples,
                                  graph::Pass pass, const LayerContext& c) {
  graph::EmbeddingBag op = embedding_bag(spec, samples, pass, c);
  op.optimizer = graph::EmbeddingOptimizer::none;
  for (const std::uint32_t t : placement.replicated) {
    const ModelTable& table = placement.tables[t];
    append_tables(op, table, table.rows, table.dim, table.pooling_factor);
  }
  return op;
}

graph::Dispatch embedding_dispatch(const FrameworkSpec& f, std::int64_t tables, graph::Pass pass) {
  const std::int64_t kernels = pass == graph::Pass::forward ? 1 : update_kernels(f.embedding.sparse_update);
  const std::int64_t calls = f.embedding.table_batched ? 1 : tables;
  return {capped(calls), capped(calls * kernels)};
}

std::int64_t most_tables(const Placement& placement) {
  std::size_t most = 0;
  for (const ShardSet& set : placement.sets) most = std::max(most, set.shards.size());
  return static_cast<std::int64_t>(most);
}

}  // namespace distsim::workload
