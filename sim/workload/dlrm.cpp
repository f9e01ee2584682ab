// A hybrid-parallel recommender iteration: tables belong to ranks, everything else is replicated. One micro-step:
//   copy     input copy
//   comm     ids to owners .......... pooled vectors ...................... gradients of pooled vectors, buckets of dense gradients
//   compute  lookups of owned tables, bottom MLP, interaction, top MLP, loss, backward in reverse, update of tables, dense optimizer
#include <utility>

#include "sim/workload/dlrm_layers.hpp"
#include "sim/workload/embedding_ops.hpp"
#include "sim/workload/exchange.hpp"
#include "sim/workload/gradient_sync.hpp"
#include "sim/workload/input.hpp"
#include "sim/workload/memory.hpp"
#include "sim/workload/registry.hpp"

namespace distsim {
namespace {

std::int64_t rounded(double x) { return static_cast<std::int64_t>(x + 0.5); }

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
  TaskId send_pooled(const SampleSplit& split, Direction direction);
  void unpack(const SampleSplit& split, const char* name, Phase phase);
  void backward(const SampleSplit& split, bool accumulate, GradientSynchronizer* sync);
  void replicated(const SampleSplit& split, Pass pass, GradientSynchronizer* sync);
  std::vector<PendingGradient> gradients(const std::vector<Layer>& dense) const;
  std::vector<Layer> dense_layers();  ///< of the largest micro-step, in forward order
  std::int64_t replicated_parameters() const;

  const ModelSpec& model_;
  const DlrmSpec& spec_;
  const DlrmShape& shape_;
  const SamplePlan& samples_;
  Iteration it_;
  Placement placement_;
  std::uint32_t set_table_ = Task::kUniform;
  SampleSplit first_;  ///< the largest micro-step
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

void DlrmIteration::lookups(const SampleSplit& split) {
  if (!placement_.any_sharded()) return;
  it_.add("embedding", {Stream::compute, Phase::forward, embedding_dispatch(it_.framework(), most_tables(placement_), Pass::forward)},
          embedding_ops(spec_, placement_, split.total(), Pass::forward, it_.context()), set_table_);
}

TaskId DlrmIteration::send_pooled(const SampleSplit& split, Direction direction) {
  if (!placement_.any_sharded()) return {};
  const bool forward = direction == Direction::owners_to_samples;
  return it_.add_collective(forward ? "embedding.exchange" : "embedding.exchange.dgrad", it_.exchange_stream(), Phase::exchange,
                            pooled_exchange(placement_, split, exchange_dtype(spec_, it_.numerics()), direction), it_.world());
}

/// Frameworks that go table by table cut the received buffer into a tensor for each vector (and join them again backward). Partial sums of row slices
/// that came by all-to-all are added up here too.
void DlrmIteration::unpack(const SampleSplit& split, const char* name, Phase phase) {
  if (it_.ranks() == 1 || !placement_.any_sharded()) return;
  const std::int64_t element = size_of(exchange_dtype(spec_, it_.numerics()));
  const std::int64_t width = placement_.row_wise_everywhere ? 0 : placement_.sharded_width();
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
  const std::int64_t partial = width - (shape_.embedding_width - replicated);
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

void DlrmIteration::micro_step(std::int64_t step, GradientSynchronizer* sync) {
  const SampleSplit split = samples_.micro_step(step);
  input(split);
  lookups(split);
  const TaskId pooled = send_pooled(split, Direction::owners_to_samples);
  if (!it_.framework().overlap_embedding_exchange) it_.compute_waits_for(pooled);
  it_.add_forward(bottoms_.of(split), split);
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
  if (!it_.framework().overlap_embedding_exchange) it_.compute_waits_for(pooled);
  add_backward_pass(it_, bottoms_.of(split), split, accumulate, sync);
  replicated(split, Pass::backward, sync);
  if (!placement_.any_sharded() || spec_.embedding_optimizer == EmbeddingOptimizer::none) return;
  if (it_.framework().overlap_embedding_exchange) it_.compute_waits_for(pooled);
  it_.add("embedding.update", {Stream::compute, Phase::backward, embedding_dispatch(it_.framework(), most_tables(placement_), Pass::backward)},
          embedding_ops(spec_, placement_, split.total(), Pass::backward, it_.context()), set_table_);
}

std::vector<Layer> DlrmIteration::dense_layers() {
  std::vector<Layer> out = bottoms_.of(first_).largest();
  for (LayerStacks* stacks : {&interactions_, &tops_}) {
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
  for (const std::uint32_t t : placement_.replicated) out.push_back({placement_.tables[t].rows * placement_.tables[t].dim, flops});
  return out;
}

Result<Workload> DlrmIteration::build(const ClusterShape& cluster) {
  const std::vector<Layer> dense = dense_layers();
  plan_memory(dense);
  const std::int64_t room = cluster.memory_per_gpu.value() - dense_.total() - 2 * dense_.buffers;
  TRY_ASSIGN(placement_, place_tables(spec_, {cluster.ranks(), cluster.nodes, room}));
  fill_memory();
  TRY(check_memory(out_.memory, samples_.ranks, cluster.memory_per_gpu));
  if (placement_.sets.size() > 1) set_table_ = it_.table_of(placement_.set_of_rank);
  describe(dense);
  run(gradients(dense));
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
