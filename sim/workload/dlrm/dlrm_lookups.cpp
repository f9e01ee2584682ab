// What a rank does on tables: input, lookups, replicated tables, sparse updates.
#include <algorithm>
#include <utility>

#include "sim/workload/dlrm/dlrm_iteration.hpp"

namespace distsim::workload {

void DlrmIteration::input(const SampleSplit& split) {
  double ids = 0, owned = 0;
  for (const ModelTable& t : placement_.tables) ids += t.pooling_factor;
  for (const ShardSet& set : placement_.sets) owned = std::max(owned, set.ids);
  // Own ids of the local samples; with model-parallel input the owner reads its tables' ids of the whole batch instead.
  const double ids_bytes = spec_.distribute_input ? ids * 8 : 0;
  const double local = static_cast<double>(4 * spec_.dense_features + 4) + ids_bytes;
  const double fixed = spec_.distribute_input ? 0 : owned * 8 * static_cast<double>(split.total());
  const TaskId copied = add_input(it_, split, local, fixed);
  if (!spec_.distribute_input || !placement_.any_sharded() || it_.ranks() == 1) return;
  const TaskId sent = it_.add_collective("input.distribute", it_.exchange_stream(), graph::Phase::input,
                                         id_exchange(placement_, split, kIndexBytes), it_.world(),
                                         copied.valid() ? std::vector<TaskId>{copied} : std::vector<TaskId>{});
  if (!it_.framework().input.pipeline_distribution) it_.compute_waits_for(sent);
}

graph::EmbeddingBag DlrmIteration::hybrid_bag(double rows, double lookups, double alpha, graph::Pass pass) const {
  graph::EmbeddingBag op = embedding_bag(spec_, std::max<std::int64_t>(1, rounded(lookups)), pass, it_.context());
  op.tables = {graph::EmbeddingTable{std::max<std::int64_t>(1, rounded(rows)), hybrid_->dim, 1, alpha}};
  return op;
}

/// Infrequent rows, by their owners for the whole batch.
void DlrmIteration::infrequent(const SampleSplit& split, graph::Pass pass) {
  const bool forward = pass == graph::Pass::forward;
  const double rank_share = static_cast<double>(split.total()) / it_.ranks();
  it_.add(forward ? "embedding" : "embedding.update",
          {graph::Stream::compute, forward ? graph::Phase::forward : graph::Phase::backward, {1, 1}},
          {hybrid_bag(static_cast<double>(hybrid_->all_rows - hybrid_->frequent_rows) / it_.ranks(),
                      rank_share * hybrid_->infrequent_ids, 0, pass)});
}

/// Frequent rows, by every rank for its own samples.
void DlrmIteration::frequent(const SampleSplit& split, graph::Pass pass) {
  const bool forward = pass == graph::Pass::forward;
  std::vector<graph::Op> own;
  for (const std::int64_t size : split.sizes()) {
    graph::EmbeddingBag op = hybrid_bag(static_cast<double>(hybrid_->frequent_rows),
                                        static_cast<double>(size) * hybrid_->frequent_ids, spec_.index_skew, pass);
    op.optimizer = graph::EmbeddingOptimizer::none;
    own.push_back(std::move(op));
  }
  it_.add(forward ? "embedding.frequent" : "embedding.frequent.wgrad",
          {graph::Stream::compute, forward ? graph::Phase::forward : graph::Phase::backward, {1, 1}}, std::move(own),
          it_.table_of(split));
}

/// They need no exchange, only the all-reduce with the dense gradients.
void DlrmIteration::frequent_gradients(const SampleSplit& split, GradientSynchronizer* sync) {
  if (!hybrid_) return;
  frequent(split, graph::Pass::backward);
  if (sync != nullptr) sync->ready(1);
}

void DlrmIteration::lookups(const SampleSplit& split) {
  if (hybrid_) {
    infrequent(split, graph::Pass::forward);
    return frequent(split, graph::Pass::forward);
  }
  if (!placement_.any_sharded()) return;
  it_.add("embedding",
          {graph::Stream::compute, graph::Phase::forward,
           embedding_dispatch(it_.framework(), most_tables(placement_), graph::Pass::forward)},
          embedding_ops(spec_, placement_, split.total(), graph::Pass::forward, it_.context()), set_table_);
}

void DlrmIteration::replicated(const SampleSplit& split, graph::Pass pass, GradientSynchronizer* sync) {
  if (placement_.replicated.empty()) return;
  const bool forward = pass == graph::Pass::forward;
  std::vector<graph::Op> ops;
  for (const std::int64_t size : split.sizes())
    ops.push_back(replicated_embedding_op(spec_, placement_, size, pass, it_.context()));
  const auto tables = static_cast<std::int64_t>(placement_.replicated.size());
  it_.add(forward ? "embedding.replicated" : "embedding.replicated.wgrad",
          {graph::Stream::compute, forward ? graph::Phase::forward : graph::Phase::backward,
           embedding_dispatch(it_.framework(), tables, pass)},
          std::move(ops), it_.table_of(split));
  if (sync != nullptr) sync->ready(placement_.replicated.size());
}

void DlrmIteration::sparse_update(const SampleSplit& split) {
  if (hybrid_) return infrequent(split, graph::Pass::backward);
  if (!placement_.any_sharded() || spec_.embedding_optimizer == graph::EmbeddingOptimizer::none) return;
  it_.add("embedding.update",
          {graph::Stream::compute, graph::Phase::backward,
           embedding_dispatch(it_.framework(), most_tables(placement_), graph::Pass::backward)},
          embedding_ops(spec_, placement_, split.total(), graph::Pass::backward, it_.context()), set_table_);
  // Weights and two moments read and written are 24 bytes a parameter; HugeCTR's vocabulary series on V100 (DLPerf,
  // three series) show half as much again.
  if (spec_.swept_parameters > 0) {
    it_.add("embedding.sweep", {graph::Stream::compute, graph::Phase::backward, {1, 2}},
            {graph::Elementwise{spec_.swept_parameters, 4.5, 4.5, 12, graph::DType::fp32}});
  }
}

}  // namespace distsim::workload
