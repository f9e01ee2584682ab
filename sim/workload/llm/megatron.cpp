// Megatron-style GPT: tensor, sequence, expert, pipeline and sharded data parallel. Rank r: place r % tensor of its
// tensor-parallel group, replica r / tensor % replicas, stage r / (tensor x replicas).
//
// Layers: megatron_layers.hpp. Order of the passes: pipeline_schedule.hpp; a stage posts what it sends and receives
// when its turn has ended, and goes on when both have arrived, as Megatron-LM does without overlap_p2p_comm; with it
// (`overlap_p2p`) a pass waits for messages of its own direction alone. The last stage has a copy of the word
// embedding; both sum their gradients. Sharded data parallel (arXiv 1910.02054): 0 all-reduce of gradients; 1, 2
// reduce-scatter, and gather of the updated weights; 3 gathers before each block's forward and backward pass,
// reduce-scatter after. Gradients: with `gradients.sync: one_shot`, or without `gradients.overlap`, a stage reduces
// them in one piece once its last backward pass is done; else, and from ZeRO 2 on, which keeps a share of them alone,
// block by block beside the last backward pass. Replicas have a communicator, and so a stream, of their own: what they
// sum never holds back what a tensor-parallel group does.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "sim/workload/graph/data_parallel.hpp"
#include "sim/workload/graph/gradient_sync.hpp"
#include "sim/workload/graph/input.hpp"
#include "sim/workload/graph/memory.hpp"
#include "sim/workload/llm/megatron_layers.hpp"
#include "sim/workload/llm/pipeline_parts.hpp"
#include "sim/workload/llm/pipeline_schedule.hpp"

namespace distsim::workload {
namespace {

constexpr std::int64_t kMostTasks = 4'000'000;
constexpr std::int64_t kMostStageTimes = 10'000'000;  // of layers, passes and stages: some gigabytes of timeline

/// The stages that run a pass now, by part of the model; those that add to gradients which are there; those whose last
/// micro-batch it is, and those whose last pass of all it is (if backward).
struct PassStages {
  Stages embedding, blocks, head, accumulating, last, ending;
  explicit PassStages(std::size_t stages)
      : embedding(stages), blocks(stages), head(stages), accumulating(stages), last(stages), ending(stages) {}
  bool any() const { return std::find(blocks.begin(), blocks.end(), true) != blocks.end(); }
  const Stages& of(ModelPart part) const {
    return part == ModelPart::embedding ? embedding : part == ModelPart::head ? head : blocks;
  }
};

Stages both(Stages a, const Stages& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = a[i] && b[i];
  return a;
}

std::string_view name_of(PipelineSchedule schedule) {
  switch (schedule) {
    case PipelineSchedule::gpipe:
      return "gpipe";
    case PipelineSchedule::one_f_one_b:
      return "1f1b";
    case PipelineSchedule::interleaved:
      return "interleaved";
  }
  return "";
}

/// Refuses sizes whose bytes int64 might not hold: of the weights, and of the activations of `samples` sequences, both
/// with room to spare.
Result<void> check_bytes(const MegatronSpec& m, double samples) {
  const double h = static_cast<double>(m.hidden), ffn = m.ffn_hidden > 0 ? static_cast<double>(m.ffn_hidden) : 4 * h,
               tokens = static_cast<double>(m.sequence);
  const double layers = static_cast<double>(m.layers), vocabulary = static_cast<double>(m.vocabulary);
  const double experts = static_cast<double>(std::max<std::int64_t>(1, m.experts)),
               top_k = static_cast<double>(m.top_k);
  const double weights = 32 * (layers * h * (4 * h + 3 * ffn * experts) + 2 * vocabulary * h);
  const double of_sequence =
      tokens * (64 * h + 32 * ffn * top_k + 32 * vocabulary) + 32 * static_cast<double>(m.heads) * tokens * tokens;
  const double bytes = std::max(weights, (layers + 2) * of_sequence * samples);
  if (bytes < 0x1p60) return {};
  return Error{"model.megatron: found sizes that make more than " +
                   std::to_string(static_cast<std::int64_t>(std::min(bytes, 0x1p119) / 0x1p60)) +
                   " EiB of weights or activations, expected less than 1",
               "", ""};
}

class MegatronIteration {
 public:
  MegatronIteration(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& shape)
      : model_(model),
        s_(model.megatron),
        ranks_(shape.ranks()),
        tensor_(static_cast<std::uint32_t>(s_.tensor)),
        stages_(static_cast<std::uint32_t>(s_.pipeline)),
        replicas_(ranks_ / tensor_ / stages_),
        expert_(static_cast<std::uint32_t>(s_.expert)),
        it_(ranks_, framework, numerics_of(model.precision, framework), stages_ > 1 ? ranks_ / stages_ : 1),
        split_(split_layers(s_, s_.micro_batch, it_.context())),
        samples_{ranks_, ranks_, s_.micro_batch, s_.micro_batch},
        stack_([this](std::int64_t) { return split_.layers; }, samples_),
        parts_(it_, stages_, ranks_ / stages_, shape.gpus_per_node) {}

  Result<Workload> build(const ClusterShape& shape, std::int64_t batch) {
    TRY(divide(batch));
    out_.memory = memory();
    TRY(check_fit(shape.memory_per_gpu));
    describe(batch);
    run();
    TRY_ASSIGN(out_.graph, std::move(it_).finish());
    return std::move(out_);
  }

 private:
  std::size_t layers() const { return split_.layers.size(); }
  bool sharded(int stage) const { return s_.zero >= stage && replicas_ > 1; }
  bool pipelined() const { return stages_ > 1; }
  static bool of_experts(const Layer& layer) {
    return layer.name.find(".experts.up") != std::string::npos || layer.name.find(".experts.down") != std::string::npos;
  }

  Result<void> divide(std::int64_t batch) {
    const std::int64_t round = std::int64_t{replicas_} * s_.micro_batch;
    if (batch % round != 0) {
      return Error{"model.global_batch: found " + std::to_string(batch) + ", expected a multiple of " +
                       std::to_string(round) + ": " + std::to_string(replicas_) + " replicas x micro_batch " +
                       std::to_string(s_.micro_batch),
                   "", ""};
    }
    micro_steps_ = batch / round;
    // A pipeline's passes come in waves, each with the layers of a chunk both ways; steps have a time for every stage.
    const std::int64_t rounds = pipelined() ? 2 * (micro_steps_ * s_.virtual_stages + stages_) : micro_steps_;
    const std::int64_t layer_passes = rounds > kMostTasks ? rounds : rounds * static_cast<std::int64_t>(layers());
    if (layer_passes > kMostTasks / 8 || (pipelined() && layer_passes > kMostStageTimes / stages_)) {
      return Error{"model.megatron.micro_batch: found " + std::to_string(s_.micro_batch) + ", which makes " +
                       std::to_string(micro_steps_) + " micro-steps" +
                       (pipelined() ? " on " + std::to_string(stages_) + " stages" : "") + ", expected fewer",
                   "", ""};
    }
    if (s_.schedule == PipelineSchedule::interleaved && micro_steps_ % stages_ != 0) {
      return Error{"model.megatron.schedule: found interleaved with " + std::to_string(micro_steps_) +
                       " micro-batches per replica (global_batch " + std::to_string(batch) +
                       "), expected a multiple of " + std::to_string(stages_) + " stages",
                   "", ""};
    }
    shape_ = {s_.schedule, stages_, static_cast<std::uint32_t>(s_.virtual_stages), micro_steps_};
    return check_bytes(s_, static_cast<double>(micro_steps_ * s_.micro_batch));
  }

  /// What a stage holds of a part of the model, `per_chunk` being that of one chunk.
  template <class Number>
  Number on_stage(std::uint32_t stage, Number (SplitLayers::*per_chunk)(ModelPart) const) const {
    Number sum = (split_.*per_chunk)(ModelPart::blocks) * static_cast<Number>(s_.virtual_stages);
    if (stage == 0) sum += (split_.*per_chunk)(ModelPart::embedding);
    if (stage + 1 == stages_) sum += (split_.*per_chunk)(ModelPart::head);
    return sum;
  }

  /// With checkpointing a block keeps its input, and one block at a time is whole again.
  std::int64_t activations(std::uint32_t stage) const {
    const bool checkpointed = s_.activation_checkpointing;
    std::vector<std::int64_t> of_chunk(shape_.virtual_stages, split_.kept(ModelPart::blocks, checkpointed));
    std::int64_t largest = split_.largest_whole(ModelPart::blocks);
    const auto add = [&](ModelPart part, std::int64_t& chunk) {
      chunk += split_.kept(part, checkpointed);
      largest = std::max(largest, split_.largest_whole(part));
    };
    if (stage == 0) add(ModelPart::embedding, of_chunk.front());
    if (stage + 1 == stages_) add(ModelPart::head, of_chunk.back());
    return most_held(shape_, stage, of_chunk) + (checkpointed ? largest : 0);
  }

  RankMemory memory_of(std::uint32_t stage) const {
    const std::int64_t parameters = on_stage(stage, &SplitLayers::parameters);
    RankMemory m = dense_memory(parameters, model_.optimizer, it_);
    const std::int64_t masters = it_.numerics().mixed ? parameters * 4 : 0, weights = m.weights - masters;
    m.weights = (sharded(3) ? weights / replicas_ : weights) + (sharded(1) ? masters / replicas_ : masters);
    if (sharded(1)) m.optimizer /= replicas_;
    if (sharded(2)) m.gradients /= replicas_;
    m.buffers = 0;
    m.activations = activations(stage);
    return m;
  }
  std::vector<RankMemory> memory() const {
    if (!pipelined()) return {memory_of(0)};
    std::vector<RankMemory> out;
    for (std::uint32_t s = 0; s < stages_; ++s) out.insert(out.end(), ranks_ / stages_, memory_of(s));
    return out;
  }

  /// Refuses what does not fit, or, with `memory_check: false`, says so.
  Result<void> check_fit(Bytes per_gpu) {
    const Result<void> fits = check_memory(out_.memory, ranks_, per_gpu);
    if (fits.ok() || model_.memory_check) return fits;
    out_.assumptions.push_back("memory check disabled; estimate: " + fits.error().what);
    return {};
  }

  void describe(std::int64_t batch) {
    double flops = 0;
    std::int64_t parameters = pipelined() ? -split_.tied_elements : 0;
    for (std::uint32_t s = 0; s < stages_; ++s) {
      flops += on_stage(s, &SplitLayers::forward_flops);
      parameters += on_stage(s, &SplitLayers::parameters);
    }
    out_.samples = static_cast<double>(batch);
    out_.model_flops = 3 * flops * static_cast<double>(micro_steps_) * (ranks_ / stages_);
    out_.precision = graph::name_of(it_.numerics().matrix);
    out_.dense_parameters = parameters * s_.tensor;
    out_.assumptions.push_back("batch " + std::to_string(batch) + ": " + std::to_string(replicas_) + " replicas run " +
                               std::to_string(micro_steps_) + " micro-steps of " + std::to_string(s_.micro_batch));
    if (pipelined()) describe_pipeline();
    if (s_.experts > 0) out_.assumptions.push_back("tokens are spread evenly over experts");
    out_.placement = "tensor parallel " + std::to_string(tensor_) +
                     (s_.sequence_parallel ? " with sequence parallel" : "") + ", expert parallel " +
                     std::to_string(expert_) + (pipelined() ? ", pipeline parallel " + std::to_string(stages_) : "") +
                     ", data parallel " + std::to_string(replicas_) + ", ZeRO stage " + std::to_string(s_.zero) + "\n";
  }
  void describe_pipeline() {
    const std::int64_t chunk = s_.layers / (s_.pipeline * s_.virtual_stages);
    std::string share = std::to_string(ideal_bubble(shape_) * 100);
    share.resize(share.find('.') + 2);
    out_.assumptions.push_back(
        "pipeline, " + std::string(name_of(s_.schedule)) + ": " + std::to_string(stages_) + " stages of " +
        (s_.virtual_stages > 1 ? std::to_string(s_.virtual_stages) + " x " : "") + std::to_string(chunk) +
        " blocks; with equal stages and free messages the bubble would be " + share +
        " % of an iteration; it counts as idle time");
  }

  void run() {
    if (sharded(1) && !sharded(3)) gather_all();  // those that the step before has updated
    pipelined() ? run_pipeline() : run_micro_steps();
    it_.restrict_to(graph::Task::kUniform);
    if (pipelined()) {
      synced_.push_back(parts_.sum_of_ends("gradients.word_embedding",
                                           split_.tied_elements * graph::size_of(it_.numerics().gradient),
                                           it_.numerics().gradient));
    }
    for (const TaskId task : synced_) it_.compute_waits_for(task);
    update();
  }

  /// The first stage, those between, the last.
  void update() {
    const std::int64_t share = sharded(1) ? replicas_ : 1;
    std::vector<OptimizerShare> shares;
    std::vector<std::uint32_t> share_of_rank;
    for (const std::uint32_t s : {0u, stages_ > 2 ? 1u : 0u, stages_ - 1}) {
      shares.push_back(
          {(on_stage(s, &SplitLayers::parameters) + share - 1) / share, on_stage(s, &SplitLayers::tensors)});
    }
    if (!pipelined())
      return add_optimizer(it_, model_.optimizer, shares[0].parameters, shares[0].tensors,
                           model_.precision == Precision::fp16);
    for (std::uint32_t s = 0; s < stages_; ++s)
      share_of_rank.insert(share_of_rank.end(), ranks_ / stages_, s == 0 ? 0 : s + 1 == stages_ ? 2 : 1);
    add_optimizer(it_, model_.optimizer, shares, it_.table_of(std::move(share_of_rank)),
                  model_.precision == Precision::fp16);
  }

  void run_micro_steps() {
    TaskId begin;
    for (std::int64_t step = 0; step < micro_steps_; ++step) {
      const TaskId next = it_.end_id();
      if (step >= 2 && step + 1 < micro_steps_) {
        it_.repeat_since(begin);
      } else {
        const StagePass passes[] = {{false, 0, step}, {true, 0, step}};
        const StageTurn turn(passes);
        run_wave({&turn, 1});
      }
      begin = next;
    }
  }

  /// Passes of one direction wait for the messages of that direction in `overlap_p2p`, else for all.
  void run_pipeline() {
    std::vector<TaskId> forward, backward;
    for_each_wave(shape_, [&](std::span<const StageTurn> wave) {
      if (!s_.overlap_p2p) {
        run_wave(wave);
        wait_for(exchange(wave, {true, true}));
        return;
      }
      const auto [ahead, back] = stages_of(wave);
      if (ahead.any()) {
        wait_for(forward);
        forward_pass(ahead);
        forward = exchange(wave, {true, false});
      }
      if (back.any()) {
        wait_for(backward);
        backward_pass(back);
        backward = exchange(wave, {false, true});
      }
    });
    wait_for(forward);
    wait_for(backward);
  }
  std::vector<TaskId> exchange(std::span<const StageTurn> wave, PipelineParts::Ways ways) {
    it_.restrict_to(graph::Task::kUniform);
    return parts_.exchange(shape_, wave, split_.message_bytes, ways);
  }
  void wait_for(const std::vector<TaskId>& tasks) {
    for (const TaskId task : tasks) it_.compute_waits_for(task);
  }

  /// Who passes forward in a wave, and who backward.
  std::pair<PassStages, PassStages> stages_of(std::span<const StageTurn> wave) const {
    PassStages forward(stages_), backward(stages_);
    for (std::uint32_t s = 0; s < stages_; ++s) {
      for (const StagePass& pass : wave[s]) {
        PassStages& to = pass.backward ? backward : forward;
        const std::uint32_t chunk = pass.chunk * stages_ + s;
        to.blocks[s] = true;
        to.embedding[s] = chunk == 0;
        to.head[s] = chunk == shape_.last_chunk();
        to.accumulating[s] = pass.micro_batch > 0;
        to.last[s] = pass.micro_batch + 1 == micro_steps_;
        to.ending[s] = to.last[s] && pass.chunk == 0;
      }
    }
    return {std::move(forward), std::move(backward)};
  }

  /// Turns of some stages side by side: the forward passes, then the backward passes.
  void run_wave(std::span<const StageTurn> wave) {
    const auto [forward, backward] = stages_of(wave);
    forward_pass(forward);
    backward_pass(backward);
  }

  /// First layers of the model's blocks that some stage runs, in order.
  std::vector<std::size_t> blocks_of(const PassStages& stages) {
    std::vector<std::size_t> out;
    for (std::size_t first = 0; first < layers(); first = block_end(first)) {
      if (parts_.table_of(stages.of(split_.part_of(first)))) out.push_back(first);
    }
    return out;
  }
  /// Lets the stages that run the part of a layer go on, and no others.
  void restrict_to(const PassStages& stages, std::size_t layer) {
    it_.restrict_to(*parts_.table_of(stages.of(split_.part_of(layer))));
  }

  void forward_pass(const PassStages& stages) {
    const std::vector<std::size_t> blocks = blocks_of(stages);
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      if (b == 0 && split_.part_of(blocks[0]) == ModelPart::embedding) add_tokens(stages);
      fetch(stages, blocks[b], b + 1 < blocks.size() ? blocks[b + 1] : layers());
      restrict_to(stages, blocks[b]);
      forward(blocks[b], graph::Phase::forward);
    }
  }
  void add_tokens(const PassStages& stages) {
    restrict_to(stages, 0);
    add_input(it_, samples_, static_cast<double>(s_.sequence) * 16 / static_cast<double>(s_.tensor));
  }

  void backward_pass(const PassStages& stages) {
    const std::vector<std::size_t> blocks = blocks_of(stages);
    for (std::size_t b = blocks.size(); b-- > 0;) {
      const std::size_t first = blocks[b];
      fetch(stages, first, b > 0 ? blocks[b - 1] : layers());
      restrict_to(stages, first);
      if (split_.layers[first].block != Layer::kNoBlock) forward(first, graph::Phase::backward);
      for (std::size_t i = block_end(first); i-- > first;) backward(stages, i);
      if (!syncs_by_block()) continue;
      if (const auto last = parts_.table_of(both(stages.of(split_.part_of(first)), stages.last))) {
        it_.restrict_to(*last);
        sync([&](bool experts) { return bytes_of(first, block_end(first), experts, it_.numerics().gradient); });
      }
    }
    if (!syncs_by_block()) sync_whole(stages.ending);
  }

  std::size_t block_end(std::size_t i) const {
    std::size_t end = i;
    while (end < layers() && split_.block[end] == split_.block[i]) ++end;
    return end;
  }

  /// Where weights are split over the replicas: waits for those of this block, and asks for the next one's, which
  /// arrive while this one computes.
  void fetch(const PassStages& stages, std::size_t first, std::size_t next) {
    if (!sharded(3)) return;
    restrict_to(stages, first);
    if (fetched_ != first) ahead_ = gather(first, block_end(first), "weights.gather");
    it_.compute_waits_for(ahead_);
    fetched_ = next;
    ahead_ = TaskId();
    if (next == layers()) return;
    restrict_to(stages, next);
    ahead_ = gather(next, block_end(next), "weights.gather");
  }

  void forward(std::size_t first, graph::Phase phase) {
    for (std::size_t i = first, end = block_end(first); i < end; ++i) {
      it_.add_forward(stack_, i, samples_, phase);
      for (const LayerExchange& e : split_.after_forward[i]) exchange(e, split_.layers[i].name, phase);
    }
  }
  void backward(const PassStages& stages, std::size_t i) {
    it_.add_backward(stack_, i, samples_);
    if (const auto adding = parts_.table_of(both(stages.of(split_.part_of(i)), stages.accumulating))) {
      it_.restrict_to(*adding);
      add_accumulation(it_, split_.layers[i]);
      restrict_to(stages, i);
    }
    for (const LayerExchange& e : split_.after_backward[i])
      exchange(e, split_.layers[i].name + ".dgrad", graph::Phase::backward);
  }
  void exchange(const LayerExchange& e, const std::string& layer, graph::Phase phase) {
    const graph::Partition groups =
        e.experts ? graph::Partition::strided(expert_, tensor_) : graph::Partition::strided(tensor_, 1);
    const graph::Collective op{e.kind, e.bytes, it_.numerics().activation, {}, {}};
    it_.compute_waits_for(
        it_.add_collective(layer + "." + std::string(graph::name_of(e.kind)), graph::Stream::comm, phase, op, groups));
  }

  /// Bytes of the weights, or gradients, of layers [first, end): those of experts, or of all else.
  std::int64_t bytes_of(std::size_t first, std::size_t end, bool experts, graph::DType dtype) const {
    std::int64_t sum = 0;
    for (std::size_t i = first; i < end; ++i)
      sum += of_experts(split_.layers[i]) == experts ? parameters_of(split_.layers[i]) : 0;
    return sum * graph::size_of(dtype);
  }
  /// Replicas of a weight: experts are held by one in `expert` of them.
  graph::Partition replicas_of(bool experts) const {
    return experts ? graph::Partition::strided(replicas_ / expert_, tensor_ * expert_)
                   : graph::Partition::strided(replicas_, tensor_);
  }
  TaskId over_replicas(graph::CollectiveKind kind, std::int64_t bytes, bool experts, graph::DType dtype,
                       const std::string& name, graph::Phase phase) {
    const graph::Partition groups = replicas_of(experts);
    if (bytes == 0 || groups.size < 2) return TaskId();
    return it_.add_collective(name, PipelineParts::kReplicaStream, phase, {kind, bytes, dtype, {}, {}}, groups);
  }
  TaskId gather(std::size_t first, std::size_t end, const std::string& name, std::int64_t chunks = 1) {
    const graph::DType dtype = it_.numerics().mixed ? it_.numerics().activation : graph::DType::fp32;
    const auto weights = [&](bool experts) { return bytes_of(first, end, experts, dtype) * chunks; };
    it_.compute_waits_for(over_replicas(graph::CollectiveKind::all_gather, weights(true), true, dtype,
                                        name + ".experts", graph::Phase::exchange));
    return over_replicas(graph::CollectiveKind::all_gather, weights(false), false, dtype, name, graph::Phase::exchange);
  }
  /// The weights of every stage: blocks of all, embedding of the first, head of the last.
  void gather_all() {
    if (!pipelined()) return it_.compute_waits_for(gather(0, layers(), "weights.gather"));
    for (const ModelPart part : kModelParts) {
      Stages holds(stages_, part == ModelPart::blocks);
      if (part == ModelPart::embedding) holds.front() = true;
      if (part == ModelPart::head) holds.back() = true;
      std::size_t first = 0, end = layers();
      while (split_.part_of(first) != part) ++first;
      while (split_.part_of(end - 1) != part) --end;
      it_.restrict_to(*parts_.table_of(holds));
      it_.compute_waits_for(gather(first, end, "weights.gather", part == ModelPart::blocks ? s_.virtual_stages : 1));
    }
    it_.restrict_to(graph::Task::kUniform);
  }
  bool syncs_by_block() const {
    const FrameworkSpec& framework = it_.framework();
    return sharded(2) || (framework.gradients.overlap && framework.gradients.sync != GradientSync::one_shot);
  }
  /// Reduces gradients of the dense weights, and of the experts', of which there are bytes(experts).
  template <class Bytes>
  void sync(Bytes bytes) {
    const graph::CollectiveKind kind =
        sharded(1) ? graph::CollectiveKind::reduce_scatter : graph::CollectiveKind::all_reduce;
    for (const bool experts : {false, true}) {
      synced_.push_back(over_replicas(kind, bytes(experts), experts, it_.numerics().gradient,
                                      experts ? "gradients.experts" : "gradients", graph::Phase::gradient_sync));
    }
  }
  /// All gradients of these stages; the first and the last one hold more than those between.
  void sync_whole(const Stages& stages) {
    std::map<std::pair<bool, bool>, Stages> alike;
    for (std::uint32_t s = 0; s < stages_; ++s) {
      if (stages[s]) alike.try_emplace({s == 0, s + 1 == stages_}, stages_).first->second[s] = true;
    }
    for (const auto& [ends, those] : alike) {
      it_.restrict_to(*parts_.table_of(those));
      sync([&](bool experts) { return gradient_bytes(ends.first, ends.second, experts); });
    }
  }
  /// Of a stage that is (or is not) the first, the last.
  std::int64_t gradient_bytes(bool first, bool last, bool experts) const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < layers(); ++i) {
      const ModelPart part = split_.part_of(i);
      if ((part == ModelPart::embedding && !first) || (part == ModelPart::head && !last)) continue;
      sum += bytes_of(i, i + 1, experts, it_.numerics().gradient) * (part == ModelPart::blocks ? s_.virtual_stages : 1);
    }
    return sum;
  }

  const ModelSpec& model_;
  const MegatronSpec& s_;
  std::uint32_t ranks_, tensor_, stages_, replicas_, expert_;
  Iteration it_;
  SplitLayers split_;
  SampleSplit samples_;
  LayerStack stack_;
  PipelineParts parts_;
  PipelineShape shape_;
  std::int64_t micro_steps_ = 1;
  std::size_t fetched_ = ~std::size_t{0};  ///< block whose weights are on their way
  TaskId ahead_;
  std::vector<TaskId> synced_;
  Workload out_;
};

}  // namespace

Result<Workload> build_megatron(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& shape,
                                const SamplePlan& samples) {
  const MegatronSpec& m = model.megatron;
  const std::int64_t split = m.tensor * m.pipeline;
  if (split > shape.ranks() || shape.ranks() % (split * m.expert) != 0) {
    return Error{"model.megatron.tensor: found " + std::to_string(m.tensor) +
                     (m.pipeline > 1 ? " x pipeline " + std::to_string(m.pipeline) : "") +
                     (m.expert > 1 ? " x expert " + std::to_string(m.expert) : "") + ", expected a divisor of " +
                     std::to_string(shape.ranks()) + " GPUs",
                 "", ""};
  }
  TRY(check_bytes(m, static_cast<double>(m.micro_batch)));
  return MegatronIteration(model, framework, shape).build(shape, samples.total);
}

}  // namespace distsim::workload
