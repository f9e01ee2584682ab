#include "sim/workload/llm/llm_plan.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "base/text/counted.hpp"
#include "sim/workload/graph/memory.hpp"
#include "sim/workload/llm/layer_by_layer/llm_layers.hpp"
#include "sim/workload/specs/samples.hpp"
#include "sim/workload/specs/step_mode.hpp"

namespace distsim::workload {
namespace {

// Chosen: so many passes of stages make some hundred megabytes of timeline.
constexpr std::int64_t kMostPasses = 1'000'000;
constexpr double kExbibyte = 0x1p60;

Error not_a_divisor(const std::string& key, std::int64_t found, const std::string& of) {
  return {key + ": found " + std::to_string(found) + ", expected a divisor of " + of, "", ""};
}

/// The first of the degrees with which their product divides the GPUs no longer. It is above 1, so it was given.
std::string undivided_degree(const ParallelSpec& p, std::uint32_t ranks) {
  if (ranks % p.tensor != 0) return "parallel.tensor";
  return ranks % (p.tensor * p.context) != 0 ? "parallel.context" : "parallel.pipeline";
}

Result<void> check_gpus(const ParallelSpec& p, std::uint32_t ranks) {
  const std::int64_t split = p.tensor * p.context * p.pipeline;
  if (split > ranks || ranks % split != 0) {
    return Error{undivided_degree(p, ranks) + ": found tensor " + std::to_string(p.tensor) + " x context " +
                     std::to_string(p.context) + " x pipeline " + std::to_string(p.pipeline) +
                     ", expected a divisor of " + counted(ranks, "GPU"),
                 "", ""};
  }
  if (p.data > 0 && p.data != ranks / split) {
    return Error{"parallel.data: found " + std::to_string(p.data) + ", expected " + std::to_string(ranks / split) +
                     ": " + counted(ranks, "GPU") + " / (tensor " + std::to_string(p.tensor) + " x context " +
                     std::to_string(p.context) + " x pipeline " + std::to_string(p.pipeline) + ")",
                 "", ""};
  }
  return {};
}

bool has_mamba(const LlmSpec& m) { return m.pattern.find('M') != std::string::npos; }

/// GPUs have whole heads, and whole groups of them or one group that others have too.
Result<void> check_mamba(const LlmSpec& m, const ParallelSpec& p) {
  const auto divides = [](std::int64_t a, std::int64_t b) { return a % b == 0 || b % a == 0; };
  const std::int64_t heads = m.mamba_heads / p.tensor, groups = std::max<std::int64_t>(1, m.mamba_groups / p.tensor);
  if (m.mamba_heads % p.tensor != 0)
    return not_a_divisor("parallel.tensor", p.tensor, "mamba_heads (" + std::to_string(m.mamba_heads) + ")");
  if (!divides(m.mamba_groups, p.tensor))
    return not_a_divisor("parallel.tensor", p.tensor, "mamba_groups (" + std::to_string(m.mamba_groups) + ")");
  if (heads % p.context != 0 || !divides(groups, p.context))
    return not_a_divisor("parallel.context", p.context,
                         "the Mamba-2 heads (" + std::to_string(heads) + ") and groups (" + std::to_string(groups) +
                             ") of a tensor-parallel GPU");
  return {};
}

/// Modules to compute again that no layer has.
Result<void> check_modules(const LlmSpec& m, const Recompute& recompute) {
  if (recompute.kind != RecomputeKind::modules) return {};
  const bool experts = m.experts > 0;
  struct Needs {
    std::string_view module;
    bool has;
    std::string_view what;
  };
  const Needs needs[] = {{"moe", experts, "experts"},
                         {"moe_act", experts, "experts"},
                         {"shared_experts", experts && m.shared_expert_ffn_hidden > 0, "shared experts"},
                         {"mla_up_proj", m.attention == LlmAttention::mla, "multi-head latent attention"}};
  for (const Needs& n : needs) {
    if (recompute.has(n.module) && !n.has)
      return Error{"parallel.recompute: found " + std::string(n.module) +
                       ", expected modules that the model has; it has no " + std::string(n.what),
                   "", ""};
  }
  return {};
}

/// GPUs have as many tokens of a sequence as their neighbours.
Result<void> check_sequence(const std::string& key, std::int64_t tokens, const ParallelSpec& p) {
  if (tokens % p.context != 0)
    return not_a_divisor("parallel.context", p.context, "model.llm." + key + " (" + std::to_string(tokens) + ")");
  if (!p.sequence_parallel || tokens / p.context % p.tensor == 0) return {};
  const std::string of = key == "sequence" ? "a sequence" : "a " + key;
  return not_a_divisor(
      "parallel.tensor", p.tensor,
      "the " + std::to_string(tokens / p.context) + " tokens of " + of + " that its GPUs share with sequence_parallel");
}

Result<void> check_heads(const LlmSpec& m, const ParallelSpec& p) {
  if (m.heads % p.tensor != 0)
    return not_a_divisor("parallel.tensor", p.tensor, "heads (" + std::to_string(m.heads) + ")");
  if (m.kv() % p.tensor != 0 && p.tensor % m.kv() != 0)
    return not_a_divisor("parallel.tensor", p.tensor, "kv_heads (" + std::to_string(m.kv()) + ")");
  if (m.inner() % p.tensor != 0)
    return not_a_divisor("parallel.tensor", p.tensor, "ffn_hidden (" + std::to_string(m.inner()) + ")");
  if (m.experts > 0 && m.shared_expert_ffn_hidden % p.tensor != 0)
    return not_a_divisor("parallel.tensor", p.tensor,
                         "shared_expert_ffn_hidden (" + std::to_string(m.shared_expert_ffn_hidden) + ")");
  TRY(check_sequence("sequence", m.sequence, p));
  if (m.decoder_layers > 0 && m.decoder_sequence > 0) TRY(check_sequence("decoder_sequence", m.decoder_sequence, p));
  if (has_mamba(m)) TRY(check_mamba(m, p));
  const bool ulysses = p.context > 1 && p.context_exchange == ContextExchange::ulysses;
  if (ulysses && (m.heads / p.tensor) % p.context != 0)
    return not_a_divisor("parallel.context", p.context,
                         "the heads of a tensor-parallel GPU (" + std::to_string(m.heads / p.tensor) + ")");
  return {};
}

Result<void> check_experts(const LlmSpec& m, const ParallelSpec& p, const RankGrid& grid) {
  const std::uint32_t per_stage = grid.ranks() / grid.stages();
  if (m.experts == 0 && p.expert > 1)
    return Error{"parallel.expert: found " + std::to_string(p.expert) + ", expected 1 where there are no experts", "",
                 ""};
  if (m.experts == 0) return {};
  if (p.tensor % p.expert_tensor != 0)  // GPUs with tokens of their own would have to share those first
    return not_a_divisor("parallel.expert_tensor", p.expert_tensor,
                         "parallel.tensor (" + std::to_string(p.tensor) + ")");
  if (m.expert_inner() % p.expert_tensor != 0)
    return not_a_divisor("parallel.expert_tensor", p.expert_tensor,
                         "expert_ffn_hidden (" + std::to_string(m.expert_inner()) + ")");
  if (m.experts % p.expert != 0)
    return not_a_divisor("parallel.expert", p.expert, "model.llm.experts (" + std::to_string(m.experts) + ")");
  if (per_stage % (p.expert * p.expert_tensor) != 0)
    return not_a_divisor("parallel.expert", p.expert,
                         "the " + std::to_string(per_stage / p.expert_tensor) + " places of a stage for experts");
  if (!grid.keeps_together(static_cast<std::uint32_t>(p.expert * p.expert_tensor)))
    return Error{"parallel.order: found " + std::string(name_of(p.order)) + " with expert " + std::to_string(p.expert) +
                     " x expert_tensor " + std::to_string(p.expert_tensor) +
                     ", expected a divisor of tensor x context (" + std::to_string(p.tensor * p.context) + "), or " +
                     std::string(name_of(RankOrder::tp_cp_ep_dp_pp)),
                 "", ""};
  return {};
}

/// Blocks of each chunk, in the model's order.
Result<std::vector<std::int64_t>> layers_of_chunks(const LlmSpec& m, const ParallelSpec& p,
                                                   std::vector<std::string>& assumptions) {
  const auto chunks = static_cast<std::size_t>(p.pipeline * p.virtual_stages);
  const auto n = static_cast<std::int64_t>(chunks);
  if (!p.stage_layers.empty()) {
    const std::int64_t sum = std::accumulate(p.stage_layers.begin(), p.stage_layers.end(), std::int64_t{0});
    if (p.stage_layers.size() == chunks && sum == m.layers) return p.stage_layers;
    return Error{"parallel.stage_layers: found " + std::to_string(p.stage_layers.size()) + " numbers with a sum of " +
                     std::to_string(sum) + ", expected " + std::to_string(chunks) + " with a sum of " +
                     std::to_string(m.layers),
                 "", ""};
  }
  if (n > m.layers + 2) {
    return Error{"parallel.pipeline: found " + std::to_string(p.pipeline) +
                     (p.virtual_stages > 1 ? " x virtual_stages " + std::to_string(p.virtual_stages) : "") +
                     ", expected at most model.llm.layers (" + std::to_string(m.layers) + ")",
                 "", ""};
  }
  std::vector<std::int64_t> layers(chunks, m.layers / n);
  if (m.layers % n == 0) return layers;
  if ((m.layers + 2) % n == 0) {
    layers.assign(chunks, (m.layers + 2) / n);
    --layers.front();
    --layers.back();
    assumptions.push_back("embedding and loss count as a block each of the first and the last pipeline chunk");
    return layers;
  }
  for (std::int64_t i = 0; i < m.layers % n; ++i) ++layers[static_cast<std::size_t>(i)];
  assumptions.push_back(counted(static_cast<std::uint64_t>(m.layers), "block") + " on " +
                        counted(chunks, "pipeline chunk") + ": the first " + std::to_string(m.layers % n) +
                        " have one more");
  return layers;
}

/// Of a batch that so many samples do not divide, at the key that states it.
Error undivided_batch(const LlmPlan& plan, std::int64_t batch, std::int64_t round, const std::string& parts) {
  const std::string expected = batch_key(plan.model) == "model.global_batch"
                                   ? ", expected a multiple of "
                                   : ", expected a batch that is a multiple of ";
  return Error{found_batch(plan.model, batch) + expected + std::to_string(round) + ": " +
                   counted(plan.data, "replica") + " x " + parts,
               "", ""};
}

/// Frameworks that launch whole models layer by layer run the micro-steps that a model states.
Result<void> settle_micro_batch(LlmPlan& plan, std::int64_t batch) {
  const ModelSpec& m = plan.model;
  const bool states_steps = m.per_gpu_batch > 0 || m.accumulation > 1;
  if (!states_steps || !keeps_stated_steps(m, plan.framework)) return {};
  const std::int64_t shares = std::int64_t{plan.data} * m.accumulation;
  if (batch % shares == 0) {
    plan.parallel.micro_batch = batch / shares;
  } else if (m.accumulation > 1) {
    return undivided_batch(plan, batch, shares, "model.accumulation " + std::to_string(m.accumulation));
  }
  return {};
}

Result<void> divide_batch(LlmPlan& plan, std::int64_t batch) {
  const std::int64_t round = std::int64_t{plan.data} * plan.parallel.micro_batch;
  if (batch % round != 0) {
    return undivided_batch(plan, batch, round, "parallel.micro_batch " + std::to_string(plan.parallel.micro_batch));
  }
  plan.micro_steps = batch / round;
  const std::int64_t passes = plan.pipelined() ? 2 * plan.micro_steps * plan.parallel.virtual_stages * plan.stages : 0;
  if (plan.micro_steps <= kMostPasses && passes <= kMostPasses) return {};
  const std::string found = plan.parallel.states_micro_batch
                                ? "parallel.micro_batch: found " + std::to_string(plan.parallel.micro_batch)
                                : found_batch(plan.model, batch);
  const std::string most =
      plan.pipelined() ? counted(kMostPasses, "pass", "passes") + " through stages" : std::to_string(kMostPasses);
  return Error{found + ", which makes " + counted(static_cast<std::uint64_t>(plan.micro_steps), "micro-step") +
                   (plan.pipelined() ? " on " + counted(plan.stages, "stage") : "") + ", expected at most " + most,
               "", ""};
}

void settle_schedule(LlmPlan& plan) {
  ParallelSpec& p = plan.parallel;
  const bool alone = p.pipeline == 1 && p.schedule == PipelineSchedule::gpipe;  // micro-batches one after the other
  if (p.schedule == PipelineSchedule::automatic || alone)
    p.schedule = p.virtual_stages > 1 ? PipelineSchedule::interleaved : PipelineSchedule::one_f_one_b;
  plan.pipeline = {p.schedule, plan.stages, static_cast<std::uint32_t>(p.virtual_stages), plan.micro_steps};
}

/// Both directions have as many stages and micro-batches, and enough of these to meet.
Result<void> check_both_ways(const LlmPlan& plan) {
  if (plan.stages % 2 != 0)
    return Error{
        "parallel.pipeline: found " + std::to_string(plan.stages) + " with schedule: dualpipe, expected an even number",
        "", ""};
  if (plan.micro_steps % 2 == 0 && plan.micro_steps >= 2 * std::int64_t{plan.stages}) return {};
  return Error{"parallel.schedule: found dualpipe with " +
                   counted(static_cast<std::uint64_t>(plan.micro_steps), "micro-batch", "micro-batches") +
                   " per replica, expected an even number of at least " + std::to_string(2 * plan.stages) +
                   ", two for each stage",
               "", ""};
}

Result<void> check_schedule(const LlmPlan& plan) {
  const ParallelSpec& p = plan.parallel;
  const bool chunked = p.schedule == PipelineSchedule::interleaved;
  if (chunked && p.virtual_stages < 2)
    return Error{"parallel.schedule: found interleaved with virtual_stages 1, expected at least 2", "", ""};
  if (!chunked && p.virtual_stages > 1)
    return Error{
        "parallel.virtual_stages: found " + std::to_string(p.virtual_stages) + ", expected 1, or schedule: interleaved",
        "", ""};
  const bool split = p.schedule == PipelineSchedule::zero_bubble || p.schedule == PipelineSchedule::dualpipe;
  if ((chunked || split) && plan.stages < 2)
    return Error{
        "parallel.schedule: found " + std::string(name_of(p.schedule)) + " with pipeline 1, expected at least 2 stages",
        "", ""};
  if (plan.pipeline.both_ways()) return check_both_ways(plan);
  if (!chunked || plan.micro_steps % plan.stages == 0) return {};
  const std::string chunks = std::to_string(p.virtual_stages);
  return Error{(plan.model.parallel.schedule == PipelineSchedule::automatic ? "parallel.virtual_stages: found " + chunks
                                                                            : "parallel.schedule: found interleaved") +
                   " with " + counted(static_cast<std::uint64_t>(plan.micro_steps), "micro-batch", "micro-batches") +
                   " per replica, expected a multiple of " + counted(plan.stages, "stage"),
               "", ""};
}

/// What only training has is not split in inference.
void settle_shard(LlmPlan& plan) {
  ParallelSpec& p = plan.parallel;
  const bool open = p.shard == StateSplit::automatic;
  if (open) p.shard = plan.framework.parallel.shard;
  const bool idle = mode_of(plan.model) == StepMode::inference && p.shard != StateSplit::weights;
  if (idle) p.shard = StateSplit::none;
  if (open && !idle)
    plan.assumptions.push_back("parallel.shard: " + std::string(name_of(p.shard)) + ", as " + plan.framework.name +
                               " does by default");
}

/// What the framework does, unless the section parallel says otherwise.
void settle_overlaps(LlmPlan& plan) {
  settle_shard(plan);
  ParallelSpec& p = plan.parallel;
  FrameworkSpec::Parallel& f = plan.framework.parallel;
  plan.framework.gradients.overlap = is_on(p.overlap_gradients, plan.framework.gradients.overlap);
  f.overlap_parameters = is_on(p.overlap_parameters, f.overlap_parameters);
  p.expert_tensor = settled_expert_tensor(p);
  const bool apart = expert_domains(plan) > 1;
  const bool by_framework =
      f.overlap_expert == ExpertOverlap::always || (f.overlap_expert == ExpertOverlap::between_nodes && apart);
  f.overlap_expert = is_on(p.overlap_expert, by_framework) ? ExpertOverlap::always : ExpertOverlap::never;
  f.expert_dispatch = p.expert_dispatch.value_or(f.expert_dispatch);
  f.overlap_pipeline = is_on(p.overlap_pipeline, f.overlap_pipeline);
  if (p.overlap_tensor != Switch::automatic)
    f.overlap_tensor = p.overlap_tensor == Switch::on ? TensorOverlap::ring : TensorOverlap::none;
  if (p.tensor == 1) p.sequence_parallel = false;
  if (p.virtual_stages == 0 || p.pipeline == 1) p.virtual_stages = 1;
}

Result<std::uint32_t> group_of_shard(const LlmPlan& plan) {
  const std::uint32_t replicas = plan.replicas();
  const std::int64_t given = plan.parallel.shard_group;
  if (given == 0 || given >= replicas) return replicas;
  if (replicas % given != 0)
    return not_a_divisor("parallel.shard_group", given,
                         "the " + std::to_string(replicas) + " data x context parallel GPUs");
  return plan.splits(StateSplit::optimizer) ? static_cast<std::uint32_t>(given) : replicas;
}

/// Of the stage that has most.
std::int64_t blocks_of_stage(const LlmPlan& plan, const std::vector<std::int64_t>& layers) {
  std::vector<std::int64_t> stages(plan.stages, 0);
  for (std::size_t c = 0; c < layers.size(); ++c) stages[c % plan.stages] += layers[c];
  return *std::max_element(stages.begin(), stages.end());
}

Result<void> check_recompute(const LlmPlan& plan, const std::vector<std::int64_t>& layers) {
  const std::int64_t found = plan.parallel.recompute.layers, most = blocks_of_stage(plan, layers);
  if (found <= most) return {};
  return Error{"parallel.recompute: found " + std::to_string(found) + ", expected at most " + std::to_string(most) +
                   ", the blocks of a stage, or full",
               "", ""};
}

/// Full recomputation of as few blocks of a stage as it takes to fit.
void recompute_some(LlmPlan& plan, const std::vector<std::int64_t>& layers) {
  const std::int64_t most = blocks_of_stage(plan, layers);
  const auto fits_with = [&](std::int64_t n) {
    plan.parallel.recompute = {RecomputeKind::full, n >= most ? 0 : n, {}};
    make_chunks(plan, layers);
    return fits(plan);
  };
  if (most < 1 || !fits_with(most)) return;
  // The first blocks may hold more while they run again, and each further one holds less: what fits goes on fitting.
  std::int64_t too_few = 0, enough = most;
  while (enough - too_few > 1) {
    const std::int64_t n = too_few + (enough - too_few) / 2;
    (fits_with(n) ? enough : too_few) = n;
  }
  fits_with(enough);
}

/// The share of activations that an offload moves. A forward pass alone keeps none for later.
double moved_activations(const LlmPlan& plan, Offload what) {
  const bool keeps = mode_of(plan.model) != StepMode::inference;
  return keeps && (what == Offload::activations || what == Offload::all) ? 1 : 0;
}

/// Moves as little of `what` to the host as fits, in eighths.
bool fits_after(LlmPlan& plan, Offload what) {
  constexpr int kParts = 8;
  plan.parallel.offload = what;
  plan.offloaded_activations = what == Offload::all ? moved_activations(plan, what) : 0;
  plan.offloaded_weights = 0;
  if (what == Offload::optimizer) return fits(plan);
  double& share = what == Offload::all ? plan.offloaded_weights : plan.offloaded_activations;
  for (int part = 1; part <= kParts; ++part) {
    share = static_cast<double>(part) / kParts;
    if (fits(plan)) return true;
  }
  return false;
}

void take_given_offload(LlmPlan& plan) {
  Offload& given = plan.parallel.offload;
  if (mode_of(plan.model) == StepMode::inference && (given == Offload::activations || given == Offload::optimizer))
    given = Offload::none;
  plan.offloaded_activations = moved_activations(plan, given);
  plan.offloaded_weights = given == Offload::all ? 1 : 0;
}

/// What the host's memory has to hold, where the framework moves things there.
void settle_offload(LlmPlan& plan) {
  if (plan.parallel.offload != Offload::automatic) return;
  const Offload first = plan.framework.parallel.offloads;
  plan.parallel.offload = Offload::none;
  if (first == Offload::none || fits(plan)) return;
  const bool infers = mode_of(plan.model) == StepMode::inference;
  for (const Offload what : {first, Offload::optimizer, Offload::activations, Offload::all}) {
    if (infers && what != Offload::all) continue;
    if (fits_after(plan, what)) break;
  }
  const auto percent = [](double share) { return std::to_string(std::lround(100 * share)); };
  std::string share;
  if (plan.parallel.offload == Offload::activations) share = " (" + percent(plan.offloaded_activations) + " % of them)";
  if (plan.parallel.offload == Offload::all) share = " (" + percent(plan.offloaded_weights) + " % of the weights)";
  plan.assumptions.push_back("parallel.offload: " + std::string(name_of(plan.parallel.offload)) + share +
                             ", for it does not fit otherwise");
}

/// The least recomputation that fits, where it was left open. Where activations go to the host all blocks are computed
/// again, whatever fits, and their inputs alone go there: this is DeepSpeed's cpu_checkpointing, what an offload that is
/// left open comes to, and less to copy than a block keeps otherwise.
void settle_recompute(LlmPlan& plan, const std::vector<std::int64_t>& layers) {
  take_given_offload(plan);
  if (mode_of(plan.model) == StepMode::inference) plan.parallel.recompute = {RecomputeKind::none, 0, {}};
  const RecomputeKind given = plan.parallel.recompute.kind;
  const bool open = given == RecomputeKind::automatic, moves = open && plan.offloaded_activations > 0;
  if (open) plan.parallel.recompute.kind = moves ? RecomputeKind::full : RecomputeKind::none;
  make_chunks(plan, layers);
  if (settle_scatter(plan)) {
    make_chunks(plan, layers);
    plan.assumptions.push_back(
        "parallel.shard: gradients are scattered in every micro-step, for whole ones do not fit");
  }
  const bool blocks = given == RecomputeKind::core_attention && plan.framework.parallel.selective_blocks;
  if (((open && !moves) || blocks) && !fits(plan)) recompute_some(plan, layers);
  if (moves)
    plan.assumptions.push_back("parallel.recompute: full, so that parallel.offload copies the inputs of blocks alone");
  else if (open || plan.parallel.recompute.kind != given)
    plan.assumptions.push_back("parallel.recompute: " + text_of(plan.parallel.recompute) +
                               (plan.parallel.recompute.layers > 0 ? " blocks of a stage" : "") +
                               ", the least that fits");
  settle_offload(plan);
}

}  // namespace

Result<void> check_weights_and_activations(const ModelSpec& model, const LlmSpec& m, std::int64_t samples,
                                           std::int64_t batch) {
  const double weights = 32 * parameters_of(m).all;
  const double of_token = 64 * static_cast<double>(m.hidden) + 32 * static_cast<double>(m.inner() + m.vocabulary) +
                          32 * static_cast<double>(m.expert_inner() * m.top_k);
  const double scores = 32 * static_cast<double>(m.heads) * static_cast<double>(m.sequence);
  const double of_sample = static_cast<double>(m.layers + 2) * static_cast<double>(m.sequence) * (of_token + scores);
  const double activations = static_cast<double>(samples) * of_sample;
  const auto size = [](double bytes) {
    const auto whole = static_cast<std::int64_t>(std::min(bytes, 0x1p119) / kExbibyte);
    return "more than " + std::to_string(whole) + " EiB of ";
  };
  constexpr const char* kExpected = ", expected less than 1 EiB";
  if (weights >= kExbibyte)
    return Error{"model.llm: found sizes that make " + size(weights) + "weights" + kExpected, "", ""};
  if (of_sample >= kExbibyte)
    return Error{"model.llm: found sizes that make " + size(of_sample) + "activations of a sample" + kExpected, "", ""};
  if (activations < kExbibyte) return {};
  const bool by_key = model.parallel.states_micro_batch && samples == model.parallel.micro_batch;
  const std::string found =
      by_key ? "parallel.micro_batch: found " + std::to_string(samples) : found_batch(model, batch);
  return Error{found + ", which makes " + size(activations) + "activations of a micro-step" + kExpected, "", ""};
}

std::optional<std::string> too_many_mean_tokens(const LlmSpec& spec) {
  const std::int64_t longest = spec.longest_sequence();
  if (spec.mean_tokens <= longest) return std::nullopt;
  return "model.llm.mean_tokens of " + std::to_string(spec.mean_tokens) + " is above the sequence of " +
         std::to_string(longest) + ": samples are taken as " + (spec.encoder ? "full" : "one document each");
}

LlmSpec without_padding(LlmSpec spec) {
  if (!spec.encoder) return spec;
  const std::int64_t mean = std::exchange(spec.mean_tokens, 0);
  if (mean > 0) spec.sequence = std::min(spec.sequence, mean);
  return spec;
}

Result<LlmSpec> as_batched(LlmSpec spec, const FrameworkSpec& framework) {
  if (!spec.encoder) return spec;
  const std::int64_t bin = framework.input.sequence_bin, mean = std::exchange(spec.mean_tokens, 0);
  if (bin == 0 || mean == 0) return spec;
  spec.position_rows = spec.position_table();
  spec.sequence = std::min(spec.sequence, mean + bin / 2);
  if (spec.predictions <= spec.sequence) return spec;
  return Error{"model.llm.predictions: found " + std::to_string(spec.predictions) +
                   ", expected at most the tokens of a sample (" + std::to_string(spec.sequence) + ")",
               "", ""};
}

std::int64_t expert_domains(const LlmPlan& plan) {
  const std::uint32_t of_domain = std::max(plan.cluster.gpus_per_domain, plan.cluster.gpus_per_node);
  return (plan.parallel.expert * plan.parallel.expert_tensor + of_domain - 1) / of_domain;
}

bool fits(const LlmPlan& plan) {
  const std::vector<RankMemory> memory = memory_of_stages(plan);
  return std::all_of(memory.begin(), memory.end(),
                     [&](const RankMemory& m) { return m.total() <= plan.cluster.memory_per_gpu.value(); });
}

bool settle_scatter(LlmPlan& plan) {
  const bool whole = plan.owns_gradients() && plan.sums_whole_gradients();
  if (!whole || mode_of(plan.model) == StepMode::inference || fits(plan)) return false;
  return plan.framework.gradients.each_micro_step = true;
}

bool LlmPlan::keeps_gradients() const { return mode_of(model) == StepMode::forward_backward; }

double LlmPlan::tied_elements() const {
  return std::ceil(static_cast<double>(spec.vocabulary) / tensor) * static_cast<double>(spec.hidden);
}

bool keeps_stated_steps(const ModelSpec& model, const FrameworkSpec& framework) {
  return !model.parallel.states_micro_batch && model.parallel.pipeline <= 1 && framework.parallel.layer_by_layer;
}

Batching batching_of(const ParallelSpec& p, std::uint32_t ranks) {
  const auto replicas =
      static_cast<std::uint32_t>(std::max<std::int64_t>(1, ranks / (p.tensor * p.context * p.pipeline)));
  const bool interleaved = p.pipeline > 1 && p.virtual_stages > 1;
  const bool both_ways = p.pipeline > 1 && p.schedule == PipelineSchedule::dualpipe;
  return {replicas, replicas * p.micro_batch * (interleaved ? p.pipeline : both_ways ? 2 : 1)};
}

std::int64_t message_bytes(const LlmPlan& plan) {
  return message_bytes(LlmShape{.spec = plan.spec,
                                .parallel = plan.parallel,
                                .framework = plan.framework,
                                .numerics = plan.numerics,
                                .tensor = plan.tensor,
                                .context = plan.context,
                                .samples = plan.parallel.micro_batch});
}

namespace {

Result<LlmPlan> unplanned(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& cluster) {
  TRY_ASSIGN(LlmSpec spec, as_batched(as_run<LlmSpec>(model), framework));
  if (spec.router == LlmRouter::capacity) spec.imbalance = 0;  // every expert takes its capacity, whoever chooses it
  LlmPlan plan{.model = model,
               .spec = std::move(spec),
               .framework = framework,
               .parallel = model.parallel,
               .cluster = cluster,
               .numerics = numerics_of(model.precision, framework)};
  if (auto text = too_many_mean_tokens(model.as<LlmSpec>())) plan.assumptions.push_back(std::move(*text));
  return plan;
}

/// All of a plan that is no work: who does what. Gives back the blocks of each chunk.
Result<std::vector<std::int64_t>> divide(LlmPlan& plan, std::int64_t batch) {
  settle_overlaps(plan);
  const ParallelSpec& p = plan.parallel;
  TRY(check_gpus(p, plan.cluster.ranks()));
  TRY(check_heads(plan.spec, p));
  TRY(check_modules(plan.spec, p.recompute));
  plan.tensor = static_cast<std::uint32_t>(p.tensor);
  plan.context = static_cast<std::uint32_t>(p.context);
  plan.stages = static_cast<std::uint32_t>(p.pipeline);
  plan.data = batching_of(p, plan.ranks()).replicas;
  plan.grid = RankGrid(plan.tensor * plan.context, plan.stages, plan.data, p.order);
  const std::int64_t places = plan.ranks_per_stage() / std::max<std::int64_t>(1, p.expert_tensor);
  if (p.expert > places && places > 0 && p.expert % places == 0 && plan.spec.experts % places == 0) {
    plan.assumptions.push_back("parallel.expert: " + std::to_string(places) + ", the places of a stage, instead of " +
                               std::to_string(p.expert));
    plan.parallel.expert = places;
  }
  plan.expert = static_cast<std::uint32_t>(p.expert);
  plan.expert_tensor = static_cast<std::uint32_t>(p.expert_tensor);
  TRY(check_experts(plan.spec, p, plan.grid));
  TRY_ASSIGN(plan.shard_group, group_of_shard(plan));
  TRY(settle_micro_batch(plan, batch));
  TRY(divide_batch(plan, batch));
  TRY(check_weights_and_activations(plan.model, plan.spec, p.micro_batch, batch));
  settle_schedule(plan);
  TRY(check_schedule(plan));
  TRY_ASSIGN(std::vector<std::int64_t> layers, layers_of_chunks(plan.spec, p, plan.assumptions));
  TRY(check_recompute(plan, layers));
  return layers;
}

}  // namespace

std::int64_t settled_expert_tensor(const ParallelSpec& p) {
  if (p.expert_tensor > 0) return p.expert_tensor;
  return p.expert > 1 ? 1 : p.tensor;
}

Result<LlmPlan> plan_llm(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& cluster,
                         std::int64_t batch) {
  TRY_ASSIGN(LlmPlan plan, unplanned(model, framework, cluster));
  TRY_ASSIGN(const std::vector<std::int64_t> layers, divide(plan, batch));
  settle_recompute(plan, layers);
  return plan;
}

Result<void> check_layout(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& cluster,
                          std::int64_t batch) {
  TRY_ASSIGN(LlmPlan plan, unplanned(model, framework, cluster));
  TRY(divide(plan, batch));
  return {};
}

}  // namespace distsim::workload
