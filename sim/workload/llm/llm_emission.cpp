#include "sim/workload/llm/llm_emission.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "sim/workload/specs/step_mode.hpp"

namespace distsim::workload {
namespace {

constexpr double kTokenBytes = 16;  // id and label, int64 each

std::uint32_t count_of(double n) { return static_cast<std::uint32_t>(std::clamp(std::round(n), 0.0, 4e9)); }

std::string_view name_of_way(Way way) {
  switch (way) {
    case Way::forward:
      return "forward";
    case Way::backward:
      return "backward";
    case Way::inputs:
      return "backward.inputs";
    case Way::weights:
      return "backward.weights";
  }
  return "";
}

const PassWork& pass_of(const LlmChunk& chunk, Way way) {
  switch (way) {
    case Way::forward:
      return chunk.work.forward;
    case Way::backward:
      return chunk.work.backward;
    case Way::inputs:
      return chunk.work.inputs;
    case Way::weights:
      break;
  }
  return chunk.work.weights;
}

graph::PassKind pass_kind(Way way) {
  switch (way) {
    case Way::forward:
      return graph::PassKind::forward;
    case Way::backward:
      return graph::PassKind::backward;
    case Way::inputs:
      return graph::PassKind::inputs;
    case Way::weights:
      break;
  }
  return graph::PassKind::weights;
}

/// Passes of a wave in one way.
bool any_runs(std::span<const StageTurn> turns, Way way) {
  return std::ranges::any_of(turns, [&](const StageTurn& turn) {
    return std::ranges::any_of(turn, [&](const StagePass& pass) { return pass.way == way; });
  });
}

/// The axis's name in front, so that reports tell tensor, context and expert parallelism apart.
std::string name_of_wire(const Wire& wire) {
  return std::string(name_of(wire.axis)) + "." + std::string(graph::name_of(wire.kind));
}

struct Calls {
  std::int64_t bytes, count;
};

/// Of so many calls the share that is exposed, or the rest: whole calls, so that the latency and the launch of each count once,
/// and of one call the bytes that are left over.
std::vector<Calls> split_calls(std::int64_t bytes, double calls, double exposed, bool hidden) {
  constexpr double kRounding = 1e-9;
  const double share = calls * (hidden ? 1 - exposed : exposed), whole = std::floor(share + kRounding);
  const auto rest = static_cast<std::int64_t>(static_cast<double>(bytes) * std::max(0.0, share - whole));
  std::vector<Calls> out;
  if (bytes > 0 && whole > 0) out.push_back({bytes, static_cast<std::int64_t>(whole)});
  if (rest > 0) out.push_back({rest, 1});
  return out;
}

graph::Partition partition_of(const LlmPlan& plan, Axis axis) {
  switch (axis) {
    case Axis::tensor:
      return plan.grid.groups(plan.tensor, 1);
    case Axis::context:
      return plan.grid.groups(plan.context, plan.tensor);
    case Axis::expert:
      return plan.grid.groups(plan.expert, plan.expert_tensor);
    case Axis::expert_tensor:
      break;
  }
  return plan.grid.groups(plan.expert_tensor, 1);
}

}  // namespace

LlmEmission::LlmEmission(const LlmPlan& plan)
    : plan_(plan),
      graph_(plan.ranks(), plan.pipelined() ? plan.grid.alike() : 1, plan.pipelined() ? plan.grid.repeats() : 1),
      messages_(graph_, plan.grid, plan.cluster.gpus_per_node) {}

std::vector<TaskId> LlmEmission::now() const {
  std::vector<TaskId> out = waits_;
  if (compute_.valid()) out.push_back(compute_);
  return out;
}

std::vector<TaskId> LlmEmission::all() const {
  std::vector<TaskId> out = now();
  out.insert(out.end(), synced_.begin(), synced_.end());
  return out;
}

double LlmEmission::Passes::calls(double of_each) const {
  return std::round(of_each * all * to) - std::round(of_each * all * from);
}

graph::TaskGraphBuilder::Options LlmEmission::compute_options(Way way, const graph::Dispatch& dispatch) const {
  graph::TaskGraphBuilder::Options options{
      graph::Stream::compute, way == Way::forward ? graph::Phase::forward : graph::Phase::backward, dispatch};
  options.skipped_where_absent = plan_.pipelined();
  return options;
}

/// Of one chunk's pass, `times` over; made once.
graph::Sequence LlmEmission::sequence_of(Way way, std::uint32_t kind, double times) {
  const auto [it, is_new] = sequences_.try_emplace({way, kind, times});
  if (is_new) {
    std::vector<std::pair<graph::Op, double>> parts = pass_of(plan_.kinds[kind], way).ops;
    for (auto& part : parts) part.second *= times;
    it->second = graph_.add_sequence(parts);
  }
  return it->second;
}

TaskId LlmEmission::compute(Way way, const Chunks& chunks, double times, std::span<const TaskId> deps) {
  std::vector<graph::Op> variants;
  std::vector<std::uint32_t> kinds, variant_of_stage(plan_.stages, ~0u);
  double calls = 0, kernels = 0;
  for (std::uint32_t s = 0; s < plan_.stages; ++s) {
    if (chunks[s] < 0) continue;
    const std::uint32_t kind = plan_.kind_of[static_cast<std::size_t>(chunks[s])];
    const auto known = std::find(kinds.begin(), kinds.end(), kind);
    variant_of_stage[s] = static_cast<std::uint32_t>(known - kinds.begin());
    if (known != kinds.end()) continue;
    kinds.push_back(kind);
    variants.emplace_back(sequence_of(way, kind, times));
    calls = std::max(calls, pass_of(plan_.kinds[kind], way).calls * times);
    kernels = std::max(kernels, pass_of(plan_.kinds[kind], way).kernels * times);
  }
  const auto options = compute_options(way, {count_of(calls), count_of(kernels)});
  if (!plan_.pipelined()) return graph_.add(name_of_way(way), options, std::move(variants.front()), deps);
  std::replace(variant_of_stage.begin(), variant_of_stage.end(), ~0u, static_cast<std::uint32_t>(variants.size()));
  variants.emplace_back(graph::Absent{});
  return graph_.add_per_rank(name_of_way(way), options, std::move(variants), messages_.table_of(variant_of_stage),
                             deps);
}

/// Collectives of a pass, the hidden parts of those that are, or the rest. A forward and a backward pass that run together hide
/// each other's exchanges of tokens.
std::vector<TaskId> LlmEmission::exchange(Way way, const Chunks& chunks, const Passes& passes,
                                          const std::vector<bool>& paired, bool hidden, std::span<const TaskId> deps) {
  std::map<std::pair<Wire, std::int64_t>, std::vector<bool>> calls;
  for (std::uint32_t s = 0; s < plan_.stages; ++s) {
    if (chunks[s] < 0) continue;
    for (const auto& [wire, n] : pass_of(plan_.chunk(static_cast<std::uint32_t>(chunks[s])), way).wires) {
      const bool by_other = wire.axis == Axis::expert && !paired.empty() && paired[s];
      if (hidden && !wire.hidden && !by_other) continue;
      const double exposed = by_other ? 0 : exposed_share(wire, plan_.tensor, plan_.context, plan_.micro_steps);
      for (const auto& [bytes, count] : split_calls(wire.bytes, passes.calls(n), exposed, hidden)) {
        Wire part = wire;
        part.bytes = bytes;
        auto& stages = calls.try_emplace({part, count}, plan_.stages, false).first->second;
        stages[s] = true;
      }
    }
  }
  std::vector<TaskId> out;
  for (const auto& [key, stages] : calls) {
    const auto& [wire, n] = key;
    const graph::Partition groups = partition_of(plan_, wire.axis);
    if (groups.size < 2) continue;
    graph::Collective op{wire.kind, wire.bytes, plan_.numerics.activation, {}, {}};
    op.times = n;
    graph::TaskGraphBuilder::Options options{
        graph::Stream::comm, way == Way::forward ? graph::Phase::forward : graph::Phase::backward, {1, 1}};
    options.dispatch = {static_cast<std::uint32_t>(n), static_cast<std::uint32_t>(n)};
    const std::uint32_t table = messages_.table_of(stages);
    options.skipped_where_absent = table != graph::Task::kUniform;
    out.push_back(graph_.add_collective(name_of_wire(wire), options, op, graph_.add_partition(groups), deps, table));
  }
  return out;
}

TaskId LlmEmission::pass(Way way, const Chunks& chunks, const Passes& passes, const std::vector<bool>& paired) {
  std::vector<TaskId> before = std::move(waits_);
  waits_.clear();
  if (compute_.valid()) before.push_back(compute_);
  std::vector<std::uint32_t> kinds(chunks.size(), ~0u);
  for (std::size_t s = 0; s < chunks.size(); ++s)
    if (chunks[s] >= 0) kinds[s] = plan_.kind_of[static_cast<std::size_t>(chunks[s])];
  const auto [known, is_new] = written_.try_emplace({way, passes, std::move(kinds), paired});
  if (is_new) {
    known->second = pass_first(way, chunks, passes, paired, before);
    for (const auto* tasks : {&known->second.hidden, &known->second.exposed})
      waits_.insert(waits_.end(), tasks->begin(), tasks->end());
    return compute_ = known->second.compute;
  }
  for (const TaskId like : known->second.hidden) waits_.push_back(graph_.add_like(like, before));
  compute_ = graph_.add_like(known->second.compute, before);
  for (const TaskId like : known->second.exposed) waits_.push_back(graph_.add_like(like, {&compute_, 1}));
  return compute_;
}

LlmEmission::Written LlmEmission::pass_first(Way way, const Chunks& chunks, const Passes& passes,
                                             const std::vector<bool>& paired, std::span<const TaskId> before) {
  Written out;
  out.hidden = exchange(way, chunks, passes, paired, true, before);
  const std::vector<TaskId> copies = offload(way, chunks, passes.number(), before);
  out.hidden.insert(out.hidden.end(), copies.begin(), copies.end());
  out.compute = compute(way, chunks, passes.number(), before);
  out.exposed = exchange(way, chunks, passes, paired, false, {&out.compute, 1});
  return out;
}

void LlmEmission::input() {
  const double samples = static_cast<double>(plan_.parallel.micro_batch * plan_.micro_steps);
  const double bytes = samples * static_cast<double>(plan_.spec.sequence) * kTokenBytes / plan_.tensor / plan_.context;
  graph_.add("input.copy", {graph::Stream::copy, graph::Phase::input, {1, 1}},
             graph::Copy{graph::CopyKind::h2d, std::max<std::int64_t>(1, std::llround(bytes))});
}

/// Weights that are gathered first are those that the last iteration's optimizer has updated: a mark that nobody calls or
/// launches stands where its compute tasks have ended.
void LlmEmission::begin_after_last_iteration() {
  if (mode_of(plan_.model) != StepMode::train || !plan_.splits(StateSplit::optimizer)) return;
  compute_ = graph_.add("iteration.begin", {graph::Stream::compute, graph::Phase::other, {0, 0}}, graph::Absent{});
}

/// What an iteration exchanged last holds back the next one.
void LlmEmission::end(std::span<const TaskId> deps) {
  const bool computes_last = deps.size() == 1 && deps.front() == compute_;
  if (deps.empty() || computes_last) return;
  graph_.add("iteration.end", {graph::Stream::compute, graph::Phase::other, {0, 0}}, graph::Absent{}, deps);
}

bool LlmEmission::infers() const { return mode_of(plan_.model) == StepMode::inference; }

/// Without a pipeline and a backward pass: all micro-steps are alike.
void LlmEmission::forward_steps() {
  const auto times = static_cast<double>(plan_.micro_steps);
  if (plan_.gathers_each_pass()) return sharded_micro_steps(times, false);
  pass(Way::forward, Chunks{0}, {times});
}

/// Without a pipeline: all micro-steps but the last as one, then the last, whose gradients are reduced; those of each where
/// no rank keeps sums of all of them.
void LlmEmission::micro_steps() {
  if (infers()) return forward_steps();
  const double before_last = static_cast<double>(plan_.micro_steps - 1);
  const bool each = plan_.scatters_each_micro_step();
  const Chunks chunks{0};
  const auto steps = [&](double times, bool reduces) {
    if (plan_.gathers_each_pass()) return sharded_micro_steps(times, reduces);
    pass(Way::forward, chunks, {times});
    last_backward_ = now();
    if (reduces)
      last_pass(Way::backward, chunks, chunks, times);
    else
      pass(Way::backward, chunks, {times});
  };
  if (!plan_.gathers_each_pass()) {
    gather_parameters(true);
    first_parameters(now());
  }
  if (before_last > 0) steps(before_last, each);
  if (before_last > 0 && each) add_to_shards(before_last, now());
  steps(1, true);
  if (plan_.keeps_gradients() && plan_.owns_gradients()) add_to_shards(1, all());
}

/// The passes of one way in a wave.
void LlmEmission::wave(std::span<const StageTurn> turns, Way way) {
  if (!any_runs(turns, way)) return;
  const PipelineShape& shape = plan_.pipeline;
  Chunks chunks(plan_.stages, -1), last;
  std::vector<bool> paired(shape.both_ways() ? plan_.stages : 0, false);
  for (std::uint32_t s = 0; s < plan_.stages; ++s) {
    for (const StagePass& p : turns[s]) {
      if (p.way != way) continue;
      chunks[s] = shape.position(s, p.chunk);
      if (shape.both_ways()) paired[s] = turns[s].size() > 1;
      if (way == Way::forward || way == Way::inputs) continue;
      if (++whole_[{s, p.chunk}] * shape.copies() != plan_.micro_steps) continue;
      last.resize(plan_.stages, -1);
      last[s] = chunks[s];
    }
  }
  if (last.empty())
    pass(way, chunks, {}, paired);
  else
    last_pass(way, chunks, last, 1, paired);
}

graph::Collective LlmEmission::message() const {
  return {graph::CollectiveKind::send_recv, message_bytes(plan_), plan_.numerics.activation, {}, {}};
}

void LlmEmission::send(std::span<const StageTurn> turns, PipelineMessages::Ways ways, std::vector<TaskId>& waits) {
  for (const TaskId task : messages_.exchange(plan_.pipeline, turns, message(), ways, now())) waits.push_back(task);
}

/// Passes of both directions wait for all messages of the wave before.
void LlmEmission::waves() {
  for_each_wave(plan_.pipeline, [&](std::span<const StageTurn> turns) {
    wave(turns, Way::forward);
    if (!infers()) wave(turns, Way::backward);
    send(turns, {true, !infers()}, waits_);
  });
}

/// Passes wait for the messages of their own direction.
void LlmEmission::overlapping_waves() {
  std::vector<TaskId> forward, backward;
  const auto turn = [&](std::span<const StageTurn> turns, Way way, std::vector<TaskId>& messages) {
    if (!any_runs(turns, way)) return;
    waits_.insert(waits_.end(), messages.begin(), messages.end());
    messages.clear();
    wave(turns, way);
    send(turns, {way == Way::forward, way == Way::backward}, messages);
  };
  for_each_wave(plan_.pipeline, [&](std::span<const StageTurn> turns) {
    turn(turns, Way::forward, forward);
    turn(turns, Way::backward, backward);
  });
  for (const auto* messages : {&forward, &backward}) waits_.insert(waits_.end(), messages->begin(), messages->end());
}

/// Messages that bring what the passes of a wave need.
void LlmEmission::wait_for_inputs(std::span<const StageTurn> turns, Way way) {
  for (std::uint32_t s = 0; s < plan_.stages; ++s) {
    for (const StagePass& p : turns[s]) {
      if (p.way != way) continue;
      const auto known = inputs_.find({hands_back(way), plan_.pipeline.position(s, p.chunk), p.micro_batch});
      if (known == inputs_.end()) continue;
      waits_.push_back(known->second);
      inputs_.erase(known);
    }
  }
}

void LlmEmission::send_each(std::span<const StageTurn> turns, Way way) {
  const PipelineShape& shape = plan_.pipeline;
  const bool back = hands_back(way);
  struct Sent {
    std::uint32_t receivers = 0;                                 // one bit for each side of the boundary
    std::vector<std::pair<std::uint32_t, std::int64_t>> inputs;  // position and micro-batch
  };
  std::map<std::uint32_t, Sent> of_boundary;
  for (std::uint32_t s = 0; s < plan_.stages; ++s) {
    for (const StagePass& p : turns[s]) {
      const std::uint32_t at = shape.position(s, p.chunk);
      if (p.way != way || at == (back ? 0 : shape.last_position())) continue;
      const std::uint32_t to = back ? at - 1 : at + 1, receiver = shape.stage_at(to, p.chunk);
      Sent& sent = of_boundary[std::min(s, receiver)];
      sent.receivers |= receiver < s ? 1 : 2;
      sent.inputs.emplace_back(to, p.micro_batch);
    }
  }
  for (const auto& [boundary, sent] : of_boundary) {
    const TaskId task = messages_.send(boundary, way, sent.receivers == 3, message(), now());
    for (const auto& [position, micro_batch] : sent.inputs) inputs_[{back, position, micro_batch}] = task;
  }
}

/// A pass waits for the message that brings its input, and for no other.
void LlmEmission::split_waves() {
  for_each_wave(plan_.pipeline, [&](std::span<const StageTurn> turns) {
    for (const Way way : {Way::forward, Way::backward, Way::inputs, Way::weights}) {
      if (!any_runs(turns, way)) continue;
      if (way != Way::weights) wait_for_inputs(turns, way);
      wave(turns, way);
      if (way != Way::weights) send_each(turns, way);
    }
  });
}

Result<graph::TaskGraph> LlmEmission::run() {
  input();
  begin_after_last_iteration();
  if (!plan_.pipelined()) {
    micro_steps();
  } else {
    gather_parameters(true);
    first_parameters(now());
    if (plan_.pipeline.splits_backward())
      split_waves();
    else if (!infers() && plan_.framework.parallel.overlap_pipeline &&
             plan_.parallel.schedule == PipelineSchedule::interleaved)
      overlapping_waves();
    else
      waves();
    if (!infers() && plan_.pipeline.both_ways())
      sum_copies();
    else if (!infers() && plan_.spec.tied_embeddings && plan_.spec.training != LlmTraining::lora)
      sum_word_embedding();
  }
  if (mode_of(plan_.model) == StepMode::train)
    update();
  else
    end(all());
  return std::move(graph_).finish();
}

graph::PipelineOrder order_of_tasks(const LlmPlan& plan) {
  graph::PipelineOrder out{.ranks_apart = plan.grid.alike(),
                           .chunks = plan.pipeline.chunks(),
                           .micro_batches = plan.micro_steps,
                           .in_iteration = plan.micro_steps};
  out.of_stage.resize(plan.stages);
  for (const LlmChunk& kind : plan.kinds) out.repeated.push_back(kind.work.repeated.ops);
  for (std::uint32_t s = 0; s < plan.stages; ++s) {
    for (std::uint32_t c = 0; c < plan.pipeline.chunks(); ++c)
      out.kind_of.push_back(plan.kind_of[plan.pipeline.position(s, c)]);
  }
  for_each_wave(plan.pipeline, [&](std::span<const StageTurn> turns) {
    for (const Way way : {Way::forward, Way::backward, Way::inputs, Way::weights}) {
      if (way != Way::forward && mode_of(plan.model) == StepMode::inference) continue;
      for (std::uint32_t s = 0; s < plan.stages; ++s) {
        for (const StagePass& p : turns[s])
          if (p.way == way) out.of_stage[s].push_back({pass_kind(way), p.chunk, p.micro_batch});
      }
    }
  });
  return out;
}

Result<graph::TaskGraph> emit_llm(const LlmPlan& plan) { return LlmEmission(plan).run(); }

}  // namespace distsim::workload
