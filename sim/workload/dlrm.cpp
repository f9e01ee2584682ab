// A hybrid-parallel recommender iteration: tables belong to ranks, everything else is replicated. One micro-step:
//   copy     input copy
//   comm     ids to owners .......... pooled vectors ...................... gradients of pooled vectors, buckets of dense gradients
//   compute  lookups of owned tables, bottom MLP, interaction, top MLP, loss, backward in reverse, update of tables, dense optimizer
#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "sim/workload/dlrm_layers.hpp"
#include "sim/workload/embedding_ops.hpp"
#include "sim/workload/exchange.hpp"
#include "sim/workload/gradient_sync.hpp"
#include "sim/workload/hybrid_embedding.hpp"
#include "sim/workload/input.hpp"
#include "sim/workload/memory.hpp"
#include "sim/workload/registry.hpp"

namespace distsim {
namespace {

std::int64_t rounded(double x) { return static_cast<std::int64_t>(x + 0.5); }

/// Bytes that an exchange moves between ranks, over all of them.
std::int64_t moved_bytes(const Collective& c, std::uint32_t ranks) {
  if (c.send_bytes.empty()) return c.bytes * (ranks - 1);
  return std::accumulate(c.send_bytes.begin(), c.send_bytes.end(), std::int64_t{0});
}

class DlrmIteration {
 public:
  DlrmIteration(const ModelSpec& model, const FrameworkSpec& framework, const SamplePlan& samples, const DlrmShape& shape)
      : model_(model), spec_(model.dlrm), shape_(shape), samples_(samples),
        it_(samples.ranks, framework, numerics_of(model.precision, framework)), first_(samples.micro_step(0)),
        bottoms_([this](std::int64_t n) { return bottom_layers(spec_, n, it_.context()); }),
        interactions_([this](std::int64_t n) { return interaction_layers(spec_, shape_, n, it_.context()); }),
        tops_([this](std::int64_t n) { return top_layers(spec_, shape_, n, it_.context()); }) {}

  Result<Workload> build(const ClusterShape& cluster);

 private:
  void plan_memory(const std::vector<Layer>& dense);
  void run(const std::vector<PendingGradient>& pending);
  void describe(const std::vector<Layer>& dense);
  void fill_memory();
  void micro_step(std::int64_t step, GradientSynchronizer* sync);
  void input(const SampleSplit& split);
  void lookups(const SampleSplit& split);
  void hybrid_lookups(const SampleSplit& split, Pass pass);
  void sparse_update(const SampleSplit& split);
  TaskId send_pooled(const SampleSplit& split, Direction direction);
  TaskId send_by_rails(const SampleSplit& split, Direction direction);
  TaskId staged(const std::string& name, Collective collective);
  void sum_in_node(const SampleSplit& split);
  void bottom(const SampleSplit& split, Pass pass, bool accumulate, GradientSynchronizer* sync);
  Result<Placement> place(std::int64_t room) const;
  bool by_rails() const { return it_.framework().hierarchical_exchange && !spec_.exchange_through_host && nodes_ > 1 && gpus_per_node_ > 1 && (hybrid_ || spec_.sharding == Sharding::planner); }
  /// Rank 0 runs the bottom MLP for all; its output travels with the pooled vectors.
  bool lone_bottom() const { return it_.framework().bottom_mlp_on_one_rank && it_.ranks() > 4 && spec_.sharding == Sharding::planner && !spec_.bottom_mlp.empty(); }
  std::int64_t hybrid_bytes(const SampleSplit& split) const;
  std::int64_t vectors_received() const;  ///< elements a sample, partial sums counted each
  void unpack(const SampleSplit& split, const char* name, Phase phase);
  void backward(const SampleSplit& split, bool accumulate, GradientSynchronizer* sync);
  void replicated(const SampleSplit& split, Pass pass, GradientSynchronizer* sync);
  std::vector<PendingGradient> gradients(const std::vector<Layer>& dense) const;
  std::vector<Layer> layers_of(std::initializer_list<LayerStacks*> stacks);  ///< of the largest micro-step, in forward order
  std::int64_t replicated_parameters() const;

  const ModelSpec& model_;
  const DlrmSpec& spec_;
  const DlrmShape& shape_;
  const SamplePlan& samples_;
  Iteration it_;
  Placement placement_;
  std::uint32_t set_table_ = Task::kUniform;
  SampleSplit first_;  ///< the largest micro-step
  std::uint32_t nodes_ = 1, gpus_per_node_ = 1;
  std::optional<HybridSplit> hybrid_;
  LayerStacks bottoms_, interactions_, tops_;
  RankMemory dense_;  ///< of a rank without tables
  Workload out_;
};

std::int64_t DlrmIteration::replicated_parameters() const {
  std::int64_t sum = 0;
  for (const std::uint32_t t : placement_.replicated) sum += placement_.tables[t].rows * placement_.tables[t].dim;
  return sum;
}

/// What a rank needs beside tables and the exchange buffers that depend on them.
void DlrmIteration::plan_memory(const std::vector<Layer>& dense) {
  dense_ = dense_memory(parameters_of(dense), model_.optimizer, it_);
  dense_.activations = saved_bytes_of(dense);
  const std::int64_t pooled = first_.largest() * shape_.embedding_width * size_of(exchange_dtype(spec_, it_.numerics()));
  dense_.buffers += 2 * pooled;  // received vectors, and their gradients
}

void DlrmIteration::fill_memory() {
  const RankMemory replicated = dense_memory(replicated_parameters(), model_.optimizer, it_);
  std::vector<RankMemory> of_set;
  for (const ShardSet& set : placement_.sets) {
    RankMemory m = dense_;
    m.embeddings = set.bytes + replicated.weights;
    m.gradients += replicated.gradients;
    m.optimizer += replicated.optimizer;
    m.buffers += replicated.buffers;
    const std::int64_t pooled = first_.total() * set.width * size_of(exchange_dtype(spec_, it_.numerics()));
    m.buffers += it_.ranks() > 1 ? pooled : 0;  // vectors to send; their gradients come back into the same buffer
    m.buffers += rounded(static_cast<double>(first_.total()) * set.ids) * kIndexBytes;
    of_set.push_back(m);
  }
  if (of_set.size() == 1) {
    out_.memory = of_set;
    return;
  }
  out_.memory.reserve(samples_.ranks);
  for (const std::uint32_t set : placement_.set_of_rank) out_.memory.push_back(of_set[set]);
}

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
  const TaskId sent = it_.add_collective("input.distribute", it_.exchange_stream(), Phase::input, id_exchange(placement_, split, kIndexBytes), it_.world(),
                                         copied.valid() ? std::vector<TaskId>{copied} : std::vector<TaskId>{});
  if (!it_.framework().pipeline_input_distribution) it_.compute_waits_for(sent);
}

/// Infrequent rows by their owners for the whole batch, frequent ones by every rank for its own samples.
void DlrmIteration::hybrid_lookups(const SampleSplit& split, Pass pass) {
  const bool forward = pass == Pass::forward;
  const TaskGraphBuilder::Options options{Stream::compute, forward ? Phase::forward : Phase::backward, {1, 1}};
  const auto bag = [&](double rows, double lookups, double alpha) {
    EmbeddingBag op = embedding_bag(spec_, std::max<std::int64_t>(1, rounded(lookups)), pass, it_.context());
    op.tables = {EmbeddingTable{std::max<std::int64_t>(1, rounded(rows)), hybrid_->dim, 1, alpha}};
    return op;
  };
  const double rank_share = static_cast<double>(split.total()) / it_.ranks();
  it_.add(forward ? "embedding" : "embedding.update", options,
          {bag(static_cast<double>(hybrid_->all_rows - hybrid_->frequent_rows) / it_.ranks(), rank_share * hybrid_->infrequent_ids, 0)});
  std::vector<Op> own;
  for (const std::int64_t size : split.sizes()) {
    EmbeddingBag op = bag(static_cast<double>(hybrid_->frequent_rows), static_cast<double>(size) * hybrid_->frequent_ids, spec_.index_skew);
    op.optimizer = EmbeddingOptimizer::none;
    own.push_back(std::move(op));
  }
  it_.add(forward ? "embedding.frequent" : "embedding.frequent.wgrad", options, std::move(own), it_.table_of(split));
}

std::int64_t DlrmIteration::hybrid_bytes(const SampleSplit& split) const {
  const double vectors = static_cast<double>(split.total()) / it_.ranks() * hybrid_->infrequent_ids;
  return rounded(vectors) * hybrid_->dim * size_of(exchange_dtype(spec_, it_.numerics()));
}

void DlrmIteration::lookups(const SampleSplit& split) {
  if (hybrid_) return hybrid_lookups(split, Pass::forward);
  if (!placement_.any_sharded()) return;
  it_.add("embedding", {Stream::compute, Phase::forward, embedding_dispatch(it_.framework(), most_tables(placement_), Pass::forward)},
          embedding_ops(spec_, placement_, split.total(), Pass::forward, it_.context()), set_table_);
}

TaskId DlrmIteration::send_pooled(const SampleSplit& split, Direction direction) {
  if (!placement_.any_sharded()) return {};
  if (by_rails()) return send_by_rails(split, direction);
  const DType dtype = exchange_dtype(spec_, it_.numerics());
  Collective exchange = hybrid_ ? uniform_exchange(hybrid_bytes(split), dtype) : pooled_exchange(placement_, split, dtype, direction);
  return staged(direction == Direction::owners_to_samples ? "embedding.exchange" : "embedding.exchange.dgrad", std::move(exchange));
}

// What an exchange through host memory costs beside the copies down and up. Fitted on the eight-GPU and four-node runs of Wide and Deep (DLPerf, five
// series); that CPU copies and threads taking turns are behind it is a guess.
constexpr double kHostCopyBytesPerSecond = 10e9;  // of what leaves and enters a node, by CPU between the buffers of GPUs and NIC
constexpr double kHostTurnSeconds = 150e-6;       // for each GPU of a node

/// Through host memory where the model says so: down, across, up again.
TaskId DlrmIteration::staged(const std::string& name, Collective collective) {
  const Stream stream = it_.exchange_stream();
  if (!spec_.exchange_through_host || it_.ranks() == 1) return it_.add_collective(name, stream, Phase::exchange, std::move(collective), it_.world());
  const std::int64_t bytes = collective.bytes;
  it_.add(name + ".to_host", {stream, Phase::exchange, {1, 1}}, {Copy{CopyKind::d2h, bytes}}, Task::kUniform, {it_.last_compute()});
  const double leaving = nodes_ > 1 ? 2.0 * static_cast<double>(moved_bytes(collective, it_.ranks())) / nodes_ : 0;
  const double seconds = leaving / kHostCopyBytesPerSecond + kHostTurnSeconds * gpus_per_node_;
  it_.add(name + ".on_host", {stream, Phase::exchange, {0, 0}}, {HostWork{Duration::picoseconds(rounded(seconds * 1e12))}});
  it_.add_collective(name, stream, Phase::exchange, std::move(collective), it_.world());
  return it_.add(name + ".from_host", {stream, Phase::exchange, {1, 1}}, {Copy{CopyKind::h2d, bytes}});
}

TaskId DlrmIteration::send_by_rails(const SampleSplit& split, Direction direction) {
  const DType dtype = exchange_dtype(spec_, it_.numerics());
  const Partition node = Partition::strided(gpus_per_node_, 1), rail = Partition::strided(nodes_, gpus_per_node_);
  RailExchange e = hybrid_ ? RailExchange{uniform_exchange(hybrid_bytes(split), dtype), uniform_exchange(hybrid_bytes(split), dtype)}
                           : rail_exchange(placement_, split, gpus_per_node_, dtype, direction);
  const Stream stream = it_.exchange_stream();
  if (direction == Direction::owners_to_samples) {
    it_.add_collective("embedding.exchange.in_node", stream, Phase::exchange, std::move(e.inside), node);
    return it_.add_collective("embedding.exchange", stream, Phase::exchange, std::move(e.across), rail);
  }
  it_.add_collective("embedding.exchange.dgrad", stream, Phase::exchange, std::move(e.across), rail);
  return it_.add_collective("embedding.exchange.dgrad.in_node", stream, Phase::exchange, std::move(e.inside), node);
}

/// Adds up what the GPUs of a node looked up of the same table, for the samples of one rail.
void DlrmIteration::sum_in_node(const SampleSplit& split) {
  const std::vector<std::int64_t> widths = placement_.node_widths(gpus_per_node_);
  const std::int64_t elements = split.largest() * nodes_ * *std::max_element(widths.begin(), widths.end());
  if (elements == 0) return;
  it_.add("embedding.sum_in_node", {Stream::compute, Phase::forward, {1, 1}},
          {Elementwise{elements, static_cast<double>(gpus_per_node_), 1, static_cast<double>(gpus_per_node_), exchange_dtype(spec_, it_.numerics())}});
}

std::int64_t DlrmIteration::vectors_received() const {
  if (!by_rails()) return placement_.sharded_width();
  const std::vector<std::int64_t> widths = placement_.node_widths(gpus_per_node_);
  return std::accumulate(widths.begin(), widths.end(), std::int64_t{0});
}

/// Frameworks that go table by table cut the received buffer into a tensor for each vector (and join them again backward). Partial sums of row slices
/// that came by all-to-all are added up here too.
void DlrmIteration::unpack(const SampleSplit& split, const char* name, Phase phase) {
  if (it_.ranks() == 1 || !placement_.any_sharded() || hybrid_) return;
  if (by_rails() && phase == Phase::forward) sum_in_node(split);
  const std::int64_t element = size_of(exchange_dtype(spec_, it_.numerics()));
  const std::int64_t width = placement_.row_wise_everywhere ? 0 : vectors_received();
  if (!it_.framework().table_batched_embedding) {
    std::vector<Op> ops;
    for (const std::int64_t size : split.sizes()) ops.push_back(Concat{size * shape_.embedding_width * element, shape_.vectors});
    const auto calls = static_cast<std::uint16_t>(std::min<std::int64_t>(shape_.vectors, 0xFFFF));
    it_.add(name, {Stream::compute, phase, {calls, calls}}, std::move(ops), it_.table_of(split));
  }
  const std::int64_t replicated = [&] {
    std::int64_t sum = 0;
    for (const std::uint32_t t : placement_.replicated) sum += placement_.tables[t].dim * placement_.tables[t].features;
    return sum;
  }();
  const std::int64_t partial = width - (shape_.embedding_width - replicated) - (lone_bottom() ? shape_.bottom_width : 0);
  if (partial <= 0 || phase != Phase::forward) return;
  std::vector<Op> sums;
  for (const std::int64_t size : split.sizes()) {
    sums.push_back(Elementwise{size * partial, 2, 1, 1, exchange_dtype(spec_, it_.numerics())});
  }
  it_.add("embedding.sum_row_slices", {Stream::compute, phase, {1, 1}}, std::move(sums), it_.table_of(split));
}

void DlrmIteration::replicated(const SampleSplit& split, Pass pass, GradientSynchronizer* sync) {
  if (placement_.replicated.empty()) return;
  const bool forward = pass == Pass::forward;
  std::vector<Op> ops;
  for (const std::int64_t size : split.sizes()) ops.push_back(replicated_embedding_op(spec_, placement_, size, pass, it_.context()));
  const auto tables = static_cast<std::int64_t>(placement_.replicated.size());
  it_.add(forward ? "embedding.replicated" : "embedding.replicated.wgrad",
          {Stream::compute, forward ? Phase::forward : Phase::backward, embedding_dispatch(it_.framework(), tables, pass)}, std::move(ops), it_.table_of(split));
  if (sync != nullptr) sync->ready(placement_.replicated.size());
}

/// The bottom MLP on every rank for its own samples, or on rank 0 for all (whose gradients nobody else needs).
void DlrmIteration::bottom(const SampleSplit& split, Pass pass, bool accumulate, GradientSynchronizer* sync) {
  const bool forward = pass == Pass::forward;
  if (!lone_bottom()) {
    if (forward) it_.add_forward(bottoms_.of(split), split);
    else add_backward_pass(it_, bottoms_.of(split), split, accumulate, sync);
    return;
  }
  const std::vector<Layer> layers = bottom_layers(spec_, split.total(), it_.context());
  std::vector<std::uint32_t> others(it_.ranks(), 1);
  others[0] = 0;
  const std::uint32_t table = it_.table_of(std::move(others));
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Layer& layer = layers[forward ? i : layers.size() - 1 - i];
    for (const LayerOp& op : forward ? layer.forward : layer.backward) {
      it_.add(op.name, {Stream::compute, forward ? Phase::forward : Phase::backward, op.dispatch}, {op.op, Absent{}}, table);
    }
  }
}

void DlrmIteration::micro_step(std::int64_t step, GradientSynchronizer* sync) {
  const SampleSplit split = samples_.micro_step(step);
  input(split);
  lookups(split);
  if (lone_bottom()) bottom(split, Pass::forward, false, nullptr);
  const TaskId pooled = send_pooled(split, Direction::owners_to_samples);
  if (!it_.framework().overlap_embedding_exchange) it_.compute_waits_for(pooled);
  if (!lone_bottom()) bottom(split, Pass::forward, false, nullptr);
  replicated(split, Pass::forward, nullptr);
  if (it_.framework().overlap_embedding_exchange) it_.compute_waits_for(pooled);
  unpack(split, "embedding.unpack", Phase::forward);
  it_.add_forward(interactions_.of(split), split);
  it_.add_forward(tops_.of(split), split);
  backward(split, step > 0, sync);
}

void DlrmIteration::backward(const SampleSplit& split, bool accumulate, GradientSynchronizer* sync) {
  add_backward_pass(it_, tops_.of(split), split, accumulate, sync);
  add_backward_pass(it_, interactions_.of(split), split, accumulate, sync);
  unpack(split, "embedding.pack.dgrad", Phase::backward);
  const TaskId pooled = send_pooled(split, Direction::samples_to_owners);
  const bool overlap = it_.framework().overlap_embedding_exchange && !lone_bottom();
  if (!overlap) it_.compute_waits_for(pooled);
  bottom(split, Pass::backward, accumulate, sync);
  replicated(split, Pass::backward, sync);
  if (overlap && placement_.any_sharded() && spec_.embedding_optimizer != EmbeddingOptimizer::none) it_.compute_waits_for(pooled);
  sparse_update(split);
  if (sync != nullptr && hybrid_) sync->ready(1);
}

void DlrmIteration::sparse_update(const SampleSplit& split) {
  if (hybrid_) return hybrid_lookups(split, Pass::backward);
  if (!placement_.any_sharded() || spec_.embedding_optimizer == EmbeddingOptimizer::none) return;
  it_.add("embedding.update", {Stream::compute, Phase::backward, embedding_dispatch(it_.framework(), most_tables(placement_), Pass::backward)},
          embedding_ops(spec_, placement_, split.total(), Pass::backward, it_.context()), set_table_);
  // Weights and two moments read and written are 24 bytes a parameter; HugeCTR's vocabulary series on V100 (DLPerf, three series) show half as much again.
  if (spec_.swept_parameters > 0) {
    it_.add("embedding.sweep", {Stream::compute, Phase::backward, {1, 2}}, {Elementwise{spec_.swept_parameters, 4.5, 4.5, 12, DType::fp32}});
  }
}

std::vector<Layer> DlrmIteration::layers_of(std::initializer_list<LayerStacks*> all) {
  std::vector<Layer> out;
  for (LayerStacks* stacks : all) {
    const auto& layers = stacks->of(first_).largest();
    out.insert(out.end(), layers.begin(), layers.end());
  }
  return out;
}

/// In the order of the backward pass: top, interaction, bottom, replicated tables.
std::vector<PendingGradient> DlrmIteration::gradients(const std::vector<Layer>& dense) const {
  std::vector<PendingGradient> out;
  append_gradients(out, dense);
  const double flops = out.empty() ? 0 : out.back().flops_before;
  if (hybrid_) out.push_back({std::max<std::int64_t>(1, hybrid_->frequent_rows * hybrid_->dim), flops});
  for (const std::uint32_t t : placement_.replicated) out.push_back({placement_.tables[t].rows * placement_.tables[t].dim, flops});
  return out;
}

Result<Placement> DlrmIteration::place(std::int64_t room) const {
  PlacementBudget budget{it_.ranks(), nodes_, room, by_rails()};
  if (hybrid_) {
    DlrmSpec by_rows = spec_;
    by_rows.sharding = Sharding::row_wise;
    TRY_ASSIGN(Placement split, place_tables(by_rows, budget));
    split.row_wise_everywhere = false;  // vectors of the hybrid embedding are whole
    return split;
  }
  if (!lone_bottom()) return place_tables(spec_, budget);
  budget.ranks -= 1;
  budget.whole_nodes = false;
  TRY_ASSIGN(Placement others, place_tables(spec_, budget));
  ShardSet bottom;
  bottom.width = shape_.bottom_width;
  others.set_of_rank.insert(others.set_of_rank.begin(), static_cast<std::uint32_t>(others.sets.size()));
  others.sets.push_back(bottom);
  return others;
}

Result<Workload> DlrmIteration::build(const ClusterShape& cluster) {
  const std::vector<Layer> dense = layers_of({&bottoms_, &interactions_, &tops_});
  plan_memory(dense);
  const std::int64_t room = cluster.memory_per_gpu.value() - dense_.total() - 2 * dense_.buffers;
  nodes_ = cluster.nodes;
  gpus_per_node_ = cluster.gpus_per_node;
  if (hybrid_applies(spec_, it_.framework(), it_.ranks())) hybrid_ = hybrid_split(expand_tables(spec_), first_.total(), it_.ranks());
  TRY_ASSIGN(placement_, place(room));
  fill_memory();
  TRY(check_memory(out_.memory, samples_.ranks, cluster.memory_per_gpu));
  if (placement_.sets.size() > 1) set_table_ = it_.table_of(placement_.set_of_rank);
  describe(dense);
  run(gradients(lone_bottom() ? layers_of({&interactions_, &tops_}) : dense));
  TRY_ASSIGN(out_.graph, std::move(it_).finish());
  return std::move(out_);
}

void DlrmIteration::run(const std::vector<PendingGradient>& pending) {
  GradientSynchronizer sync(it_, pending);
  for (std::int64_t step = 0; step < samples_.micro_steps; ++step) micro_step(step, step + 1 == samples_.micro_steps ? &sync : nullptr);
  sync.finish();
  add_optimizer(it_, model_.optimizer, out_.dense_parameters + replicated_parameters(), static_cast<std::int64_t>(pending.size()),
                model_.precision == Precision::fp16);
}

void DlrmIteration::describe(const std::vector<Layer>& dense) {
  const double flops_per_sample = forward_matrix_flops(dense) / static_cast<double>(first_.largest());
  out_.samples = static_cast<double>(samples_.total);
  out_.model_flops = 3 * flops_per_sample * out_.samples;  // backward: data and weight gradients
  out_.precision = name_of(it_.numerics().matrix);
  out_.dense_parameters = parameters_of(dense);
  for (const ModelTable& t : placement_.tables) out_.embedding_parameters += t.rows * t.dim;
  out_.assumptions.push_back(samples_.describe());
  out_.placement = placement_.describe();
}

}  // namespace

Result<Workload> build_dlrm(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& shape, const SamplePlan& samples) {
  TRY_ASSIGN(const DlrmShape sizes, dlrm_shape(model.dlrm));
  return DlrmIteration(model, framework, samples, sizes).build(shape);
}

}  // namespace distsim
