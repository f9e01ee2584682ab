#include "sim/study/plan_tables/table_prices.hpp"

#include <algorithm>
#include <numeric>

#include "sim/pipeline/experiment_inputs.hpp"
#include "sim/workload/dlrm/dlrm_plan.hpp"
#include "sim/workload/dlrm/embedding_ops.hpp"
#include "sim/workload/registry.hpp"

namespace distsim::study {
namespace {

using graph::CollectiveKind;
using workload::ModelTable;

constexpr double kBucketBytes = 25.0 * (1 << 20);  // an all-reduce's usual size: torch's bucket
constexpr int kMoreTables = 8;

std::vector<std::uint32_t> strided(std::uint32_t count, std::uint32_t stride) {
  std::vector<std::uint32_t> out(count);
  for (std::uint32_t i = 0; i < count; ++i) out[i] = i * stride;
  return out;
}

/// Seconds that a byte adds to a collective of about `bytes`.
Result<double> seconds_per_byte(const pipeline::CostModels& models, CollectiveKind kind, double bytes,
                                const topology::GroupFacts& facts) {
  if (facts.ranks < 2) return 0.0;
  graph::Collective small{.kind = kind, .bytes = std::max<std::int64_t>(1 << 16, static_cast<std::int64_t>(bytes / 2))};
  graph::Collective large = small;
  large.bytes = 3 * small.bytes;
  TRY_ASSIGN(const graph::Cost a, models.collectives.price(small, facts));
  TRY_ASSIGN(const graph::Cost b, models.collectives.price(large, facts));
  return std::max(0.0, b.mean.seconds() - a.mean.seconds()) / static_cast<double>(large.bytes - small.bytes);
}

}  // namespace

const workload::DlrmSpec& TablePrices::spec() const { return experiment_->model.as<workload::DlrmSpec>(); }
const workload::TableSplit& TablePrices::split() const { return experiment_->model.parallel.tables; }

Result<TablePrices> TablePrices::create(const config::Experiment& e, pipeline::CostModelCache& cache) {
  TablePrices p(e);
  TRY_ASSIGN(p.models_, cache.models({e.cluster, e.device, pipeline::collective_options_of(e)}));
  p.cluster_ = pipeline::shape_of(e);
  TRY_ASSIGN(p.samples_, workload::plan_samples(e.model, p.ranks()));
  p.split_ = p.samples_.micro_step(0);
  p.numerics_ = workload::numerics_of(e.model.precision, e.framework);
  p.factors_ = pipeline::kernel_time_of(e.framework, e.device, e.model.precision, p.ranks());
  p.by_rails_ = workload::embedding_exchange(e.model, e.framework, p.ranks()) != workload::EmbeddingExchange::nccl &&
                p.nodes() > 1 && p.cluster_.gpus_per_node > 1;
  TRY(p.find_room());
  TRY(p.price_links());
  return p;
}

/// What the dense part leaves: that of a plan whose tables are all copies does not depend on tables.
Result<void> TablePrices::find_room() {
  workload::ModelSpec model = experiment_->model;
  model.parallel.tables.plans = {};
  model.parallel.tables.sharding = workload::Sharding::data_parallel;
  TRY_ASSIGN(const workload::DlrmPlan plan, workload::plan_dlrm(model, experiment_->framework, cluster_, samples_));
  room_ = cluster_.memory_per_gpu.value() - plan.dense.total();
  bytes_per_copied_parameter_ = workload::replicated_memory(plan, 1).total();
  if (split().table_memory.value() > 0) room_ = std::min(room_, split().table_memory.value());
  return {};
}

Result<void> TablePrices::price_links() {
  const pipeline::CostModels& m = *models_;
  const std::uint32_t n = ranks(), gpus = cluster_.gpus_per_node;
  double width = 0, ids = 0;
  for (const ModelTable& t : workload::expand_tables(spec())) {
    width += vector_bytes(t, t.dim);
    ids += t.pooling_factor * workload::kIndexBytes;
  }
  const double batch = static_cast<double>(split_.total()), own = static_cast<double>(split_.largest());
  const auto world = m.topology.facts(strided(n, 1));
  const auto node = m.topology.facts(strided(gpus, 1), topology::Siblings::active);
  const auto rail = m.topology.facts(strided(nodes(), gpus), topology::Siblings::active);
  TRY_ASSIGN(links_.pairs, seconds_per_byte(m, CollectiveKind::all_to_all, batch * width / n, world));
  if (!experiment_->framework.input.pipeline_distribution && split().distribute_input) {
    TRY_ASSIGN(links_.ids, seconds_per_byte(m, CollectiveKind::all_to_all, batch * ids / n, world));
  }
  TRY_ASSIGN(links_.rows, seconds_per_byte(m, CollectiveKind::reduce_scatter, batch * width, world));
  TRY_ASSIGN(links_.rows_back, seconds_per_byte(m, CollectiveKind::all_gather, batch * width, world));
  TRY_ASSIGN(links_.in_node, seconds_per_byte(m, CollectiveKind::reduce_scatter, batch * width / nodes(), node));
  TRY_ASSIGN(links_.in_node_back, seconds_per_byte(m, CollectiveKind::all_gather, batch * width / nodes(), node));
  TRY_ASSIGN(links_.pairs_in_node, seconds_per_byte(m, CollectiveKind::all_to_all, batch * width / n, node));
  TRY_ASSIGN(links_.rails, seconds_per_byte(m, CollectiveKind::all_to_all, own * width, rail));
  TRY_ASSIGN(links_.sum_in_node, sum_seconds(gpus));
  TRY_ASSIGN(links_.sum, sum_seconds(2));
  TRY_ASSIGN(links_.reduce, seconds_per_byte(m, CollectiveKind::all_reduce, kBucketBytes, world));
  return {};
}

double TablePrices::vector_bytes(const ModelTable& table, std::int64_t columns) const {
  return static_cast<double>(columns * table.features * graph::size_of(exchange_dtype(spec(), numerics_)));
}

Result<double> TablePrices::kernel_seconds(const graph::Op& op) const {
  TRY_ASSIGN(const graph::Cost cost, models_->ops.price(op));
  return cost.mean.seconds() * factors_.slowest * framework_factor(factors_, cost) * device_factor(factors_, cost);
}

/// Of a byte of the sum of so many vectors, on the wire's type.
Result<double> TablePrices::sum_seconds(double parts) const {
  constexpr std::int64_t kElements = 1 << 24;
  const graph::DType dtype = exchange_dtype(spec(), numerics_);
  TRY_ASSIGN(const double seconds, kernel_seconds(graph::Elementwise{kElements, parts, 1, parts, dtype}));
  return seconds / static_cast<double>(kElements * graph::size_of(dtype));
}

/// Calls and launches of a table that has kernels of its own.
double TablePrices::host_seconds(const graph::Op& op) const {
  const auto& host = experiment_->framework.host;
  if (host.cuda_graph) return 0;
  const graph::Dispatch d = workload::embedding_dispatch(experiment_->framework, {&op, 1});
  const bool forward = std::get<graph::EmbeddingBag>(op).pass == graph::Pass::forward;
  return d.framework_ops * (forward ? host.per_op : host.per_op_backward).seconds() * host.scale +
         d.kernels * host.per_launch.seconds();
}

Result<double> TablePrices::lookup(const ModelTable& table, const TableShard& s, std::int64_t samples, graph::Pass pass,
                                   bool dense) const {
  const Key key{s.rows, s.columns, s.ids, table.alpha, table.features, samples, static_cast<int>(pass), dense};
  if (const auto known = lookups_.find(key); known != lookups_.end()) return known->second;
  graph::EmbeddingBag bag = workload::embedding_bag(spec(), samples, pass, {numerics_, &experiment_->framework});
  if (dense) bag.optimizer = graph::EmbeddingOptimizer::none;
  const graph::EmbeddingTable entry{s.rows, s.columns, s.ids / static_cast<double>(table.features), table.alpha};
  bag.tables.assign(static_cast<std::size_t>(table.features), entry);
  TRY_ASSIGN(double seconds, kernel_seconds(bag));
  if (bag.table_batched) {
    bag.tables.assign(static_cast<std::size_t>((1 + kMoreTables) * table.features), entry);
    TRY_ASSIGN(const double more, kernel_seconds(bag));
    seconds = std::max(0.0, more - seconds) / kMoreTables;
  } else {
    seconds = std::max(seconds, host_seconds(bag));
  }
  lookups_.emplace(key, seconds);
  return seconds;
}

/// Forward and backward, of vectors of so many bytes a sample. `sums`: the shard's are partial, of a part of the rows.
void TablePrices::add_exchange(ShardCost& cost, const TableShard& s, double vector, bool sums) const {
  const double all = static_cast<double>(split_.total()) * vector;
  const double along_rails = static_cast<double>(split_.largest()) * nodes() * vector * links_.rails;
  double forward = all * links_.pairs, backward = forward;
  if (by_rails_) {  // all GPUs of a node carry its vectors across: of shards of one rank, as if each had as many
    const double share = s.whole_nodes ? 1 : cluster_.gpus_per_node;
    forward = backward = all * links_.pairs_in_node + share * along_rails;
    const double arrived = static_cast<double>(split_.largest()) * nodes() * vector;
    if (sums) forward += share * arrived * links_.sum_in_node;
    if (s.meeting == workload::Meeting::everywhere) forward += arrived * links_.sum;
  } else if (s.meeting == workload::Meeting::everywhere) {
    forward = all * links_.rows;
    backward = all * links_.rows_back;
  } else if (s.meeting == workload::Meeting::in_node) {
    forward = all * links_.in_node + along_rails;
    backward = all * links_.in_node_back + along_rails;
  }
  cost.forward += forward;
  if (spec().embedding_optimizer != graph::EmbeddingOptimizer::none) cost.backward += backward;
}

Result<ShardCost> TablePrices::shard(const ModelTable& table, const TableShard& s) const {
  const auto steps = static_cast<double>(samples_.micro_steps);
  const double batch = static_cast<double>(split_.total()), vector = vector_bytes(table, s.columns);
  ShardCost out;
  TRY_ASSIGN(out.lookup, lookup(table, s, split_.total(), graph::Pass::forward, false));
  if (spec().embedding_optimizer != graph::EmbeddingOptimizer::none) {
    TRY_ASSIGN(out.update, lookup(table, s, split_.total(), graph::Pass::backward, false));
  }
  out.forward = batch * s.ids * workload::kIndexBytes * links_.ids;
  add_exchange(out, s, vector, s.rows < table.rows);
  for (double* part : {&out.lookup, &out.update, &out.forward, &out.backward}) *part *= steps;
  return out;
}

Result<ShardCost> TablePrices::copy(const ModelTable& table) const {
  const auto steps = static_cast<double>(samples_.micro_steps);
  const TableShard all{table.rows, table.dim, table.pooling_factor, workload::Meeting::pairs};
  const std::int64_t parameters = table.rows * table.dim;
  ShardCost out;
  TRY_ASSIGN(out.lookup, lookup(table, all, split_.largest(), graph::Pass::forward, true));
  out.lookup *= steps;
  if (spec().embedding_optimizer == graph::EmbeddingOptimizer::none) return out;
  TRY_ASSIGN(out.update, lookup(table, all, split_.largest(), graph::Pass::backward, true));
  out.update *= steps;
  graph::Optimizer update{.kind = experiment_->model.optimizer,
                          .parameters = parameters,
                          .gradient = numerics_.gradient,
                          .master_weights = numerics_.mixed && !experiment_->framework.kernels.cast_weights};
  TRY_ASSIGN(const double once, kernel_seconds(update));
  update.parameters *= 1 + kMoreTables;
  TRY_ASSIGN(const double more, kernel_seconds(update));
  out.update += std::max(0.0, more - once) / kMoreTables;
  out.backward = static_cast<double>(parameters * graph::size_of(numerics_.gradient)) * links_.reduce;
  return out;
}

std::int64_t TablePrices::shard_memory(const ModelTable& table, const TableShard& s) const {
  const double batch = static_cast<double>(split_.total()), vector = vector_bytes(table, s.columns);
  double buffers = batch * s.ids * workload::kIndexBytes;
  if (ranks() > 1) buffers += batch * vector;
  if (s.meeting == workload::Meeting::in_node) buffers += batch * vector / cluster_.gpus_per_node;
  return workload::table_bytes(spec(), s.rows, s.columns) + static_cast<std::int64_t>(buffers) + 1;
}

std::int64_t TablePrices::copy_memory(const ModelTable& table) const {
  return table.rows * table.dim * bytes_per_copied_parameter_;
}

}  // namespace distsim::study
