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

/// Executor nodes of TensorFlow for a table, counted in its Python sources. Forward: the ids' and the result's reshape,
/// ResourceGather, Identity; with several ids a Sum. Backward: gradient of the reshape (2), of the gather (7,
/// resource_variable_ops.py, _GatherGrad) and of a Sum (2); Keras's _deduplicate_indexed_slices (4) and
/// ResourceSparseApply, or for plain SGD a scatter of the negated gradient (2).
struct TensorFlowNodes {
  static constexpr std::int64_t forward = 4, forward_sum = 1, backward = 9, backward_sum = 2, apply = 5, scatter = 2;
};

std::int64_t tensorflow_calls(const graph::EmbeddingBag& op) {
  using Nodes = TensorFlowNodes;
  const bool forward = op.pass == graph::Pass::forward;
  const std::int64_t update = op.update == graph::SparseUpdate::sort_dedup ? Nodes::apply : Nodes::scatter;
  std::int64_t calls = 0;
  for (const graph::EmbeddingTable& t : op.tables) {
    calls += forward ? Nodes::forward : Nodes::backward + update;
    if (op.several_ids(t)) calls += forward ? Nodes::forward_sum : Nodes::backward_sum;
  }
  return calls;
}

bool needs_sum(graph::EmbeddingOptimizer optimizer) {
  return optimizer != graph::EmbeddingOptimizer::none && optimizer != graph::EmbeddingOptimizer::sgd;
}

bool is_tensorflow(const FrameworkSpec& framework) {
  return framework.embedding.sparse_update == graph::SparseUpdate::sort_dedup && !framework.embedding.table_batched;
}

}  // namespace

graph::EmbeddingBag embedding_bag(const DlrmSpec& spec, std::int64_t samples, graph::Pass pass, const LayerContext& c) {
  graph::EmbeddingBag op;
  op.batch = samples;
  op.weights = spec.embedding_dtype;
  op.output = exchange_dtype(spec, c.numerics);
  op.pass = pass;
  op.optimizer = spec.embedding_optimizer;
  op.update = c.framework->embedding.sparse_update;
  // Plain SGD needs no sum of duplicates first: every gradient row is added where it belongs (TensorFlow's
  // resource_scatter_add).
  if (op.update == graph::SparseUpdate::sort_dedup && op.optimizer == graph::EmbeddingOptimizer::sgd)
    op.update = graph::SparseUpdate::atomic;
  // Others need the sum of a row's gradients first, so that atomics do not suffice: HugeCTR's hash embeddings, the only
  // ones with Adam in its benchmarks, and its embedding collection sort.
  if (op.update == graph::SparseUpdate::atomic && needs_sum(op.optimizer))
    op.update = op.optimizer == graph::EmbeddingOptimizer::adam ? graph::SparseUpdate::block_per_row
                                                                : graph::SparseUpdate::fused;
  op.table_batched = c.framework->embedding.table_batched;
  return op;
}

std::int64_t swept_floats(const DlrmSpec& spec) {
  if (spec.embedding_optimizer == graph::EmbeddingOptimizer::none) return 0;
  const std::int64_t dim = std::max<std::int64_t>(1, spec.embedding_dim);
  return 1 + state_bytes_per_row(spec.embedding_optimizer, dim) / (4 * dim);
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

graph::Dispatch embedding_dispatch(const FrameworkSpec& framework, std::span<const graph::Op> ops) {
  std::int64_t calls = 0, kernels = 0;
  for (const graph::Op& op : ops) {
    const auto* bag = std::get_if<graph::EmbeddingBag>(&op);
    if (bag == nullptr) continue;
    const std::int64_t plain = bag->table_batched ? 1 : static_cast<std::int64_t>(bag->tables.size());
    calls = std::max(calls, is_tensorflow(framework) ? tensorflow_calls(*bag) : plain);
    kernels = std::max(kernels, bag->kernels());
  }
  return {capped(calls), capped(kernels)};
}

}  // namespace distsim::workload
