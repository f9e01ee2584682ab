#include <algorithm>
#include <array>

#include "base/text/counted.hpp"
#include "base/text/number_text.hpp"
#include "base/text/printable.hpp"
#include "sim/workload/specs/parallel_spec.hpp"

namespace distsim::workload {
namespace {

constexpr Range kDegree{1, 1 << 20};
constexpr std::string_view kSelective = "selective: ";

std::vector<std::string> modules_of(std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('+', begin), text.size());
    out.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

constexpr std::array<std::string_view, 7> kModules{"core_attn", "mla_up_proj", "layernorm",     "mlp",
                                                   "moe",       "moe_act",     "shared_experts"};

std::string module_list() {
  std::string out;
  for (const std::string_view module : kModules) out += (out.empty() ? "" : ", ") + std::string(module);
  return out;
}

constexpr const char* kRecomputeForms =
    "automatic, none, selective, 'selective: MODULE+MODULE', 'selective: per operator', 'selective: every second layer', full";

Result<Recompute> read_modules(std::string_view text, const ConfigNode& node, const std::string& path) {
  Recompute out{RecomputeKind::modules, 0, modules_of(text)};
  for (const std::string& module : out.modules) {
    const bool is_known = std::ranges::find(kModules, module) != kModules.end();
    const auto times = std::ranges::count(out.modules, module);
    if (is_known && times == 1) continue;
    return Error{path + ": found " + in_quotes(module) + (is_known ? " " + counted(times, "time") : "") +
                     " in 'selective: MODULE+MODULE', expected " +
                     (is_known ? "each module once" : "modules of " + module_list()),
                 node.where.text(), ""};
  }
  return out;
}

Result<Recompute> read_recompute(const ConfigNode& node, const std::string& path) {
  const std::string expectation = std::string(kRecomputeForms) + ", or a number of layers of each stage";
  std::string text = node.scalar;
  if (node.kind == ConfigNode::Kind::map && node.entries.size() == 1 &&
      node.entries.front().value.kind == ConfigNode::Kind::scalar)  // unquoted, YAML reads "selective: x" as a map
    text = node.entries.front().key + ": " + node.entries.front().value.scalar;
  else if (node.kind != ConfigNode::Kind::scalar)
    return schema_detail::expected(node, path, expectation);
  if (text == "automatic") return Recompute{};
  if (text == "none") return Recompute{RecomputeKind::none, 0, {}};
  if (text == "full") return Recompute{RecomputeKind::full, 0, {}};
  if (text == "selective") return Recompute{RecomputeKind::core_attention, 0, {}};
  if (text == "selective: per operator") return Recompute{RecomputeKind::per_operator, 0, {}};
  if (text == "selective: every second layer") return Recompute{RecomputeKind::every_second, 0, {}};
  if (text.starts_with(kSelective)) return read_modules(std::string_view(text).substr(kSelective.size()), node, path);
  const auto layers = plain_integer(text);
  if (layers && *layers >= 0 && *layers <= 1 << 20)
    return Recompute{*layers > 0 ? RecomputeKind::full : RecomputeKind::none, *layers, {}};
  return schema_detail::expected(node, path, expectation);
}

void add_splits(Schema<ParallelSpec>& s) {
  s.optional("tensor", &ParallelSpec::tensor, kDegree,
             "Tensor parallel degree: adjacent GPUs that split each layer's matrices.");
  s.choice(
      "sequence_parallel", &ParallelSpec::sequence_parallel,
      {{"false", false}, {"true", true}, {"0", false}, {"1", true}},
      "The tensor-parallel GPUs also split norms, dropouts and residuals by tokens: all-gathers and reduce-scatters replace all-reduces.");
  s.optional("context", &ParallelSpec::context, kDegree, "Context parallel degree: GPUs that split each sequence.");
  s.choice(
      "context_exchange", &ParallelSpec::context_exchange,
      {{"ring", ContextExchange::ring},
       {"all_gather", ContextExchange::all_gather},
       {"ulysses", ContextExchange::ulysses}},
      "What they exchange in attention: keys and values in a ring, overlapped with the scores; gathered before; or heads for tokens, by all-to-alls.");
  s.optional("pipeline", &ParallelSpec::pipeline, kDegree, "Pipeline parallel degree: stages of consecutive blocks.");
  s.optional("virtual_stages", &ParallelSpec::virtual_stages, kDegree, "Chunks of blocks on each pipeline stage.");
  s.choice(
      "schedule", &ParallelSpec::schedule,
      {{"automatic", PipelineSchedule::automatic},
       {"gpipe", PipelineSchedule::gpipe},
       {"1f1b", PipelineSchedule::one_f_one_b},
       {"interleaved", PipelineSchedule::interleaved},
       {"zero-bubble", PipelineSchedule::zero_bubble},
       {"dualpipe", PipelineSchedule::dualpipe}},
      "Pipeline: gpipe: all forward passes, then all backward passes; 1f1b: one of each in turn; interleaved: 1f1b over virtual_stages chunks per stage; zero-bubble: 1f1b with weight gradients moved into the bubble (ZB-H1); dualpipe: two pipelines in opposite directions. automatic: 1f1b, with several virtual_stages interleaved.");
  s.scalars(
      "stage_layers", &ParallelSpec::stage_layers, {0, 1 << 20},
      "Blocks of each chunk, in the model's order (pipeline x virtual_stages numbers); empty: equal, and where that does not divide, the first and last chunk have one less for embedding and loss, or the last ones less.");
  s.optional("expert", &ParallelSpec::expert, kDegree, "Expert parallel degree: GPUs that split the experts.");
  s.optional("expert_tensor", &ParallelSpec::expert_tensor, {0, 1 << 20},
             "Tensor parallel degree of experts; 0: 1 where experts are split, otherwise tensor.");
  s.optional("data", &ParallelSpec::data, {0, 1 << 20},
             "Replicas: GPUs / (tensor x context x pipeline); checked where it is given.");
  s.choice(
      "order", &ParallelSpec::order,
      {{"tp-cp-ep-dp-pp", RankOrder::tp_cp_ep_dp_pp}, {"tp-cp-ep-pp-dp", RankOrder::tp_cp_ep_pp_dp}},
      "Which GPUs are neighbours, the fastest dimension first: the replicas of a stage (Megatron's default), or the stages of a replica (its use_tp_pp_dp_mapping), which keeps messages between stages in a node and sends gradients over the network. Matters with pipeline and data above 1.");
}

void add_state(Schema<ParallelSpec>& s) {
  s.choice(
      "shard", &ParallelSpec::shard,
      {{"automatic", StateSplit::automatic},
       {"none", StateSplit::none},
       {"optimizer", StateSplit::optimizer},
       {"gradients", StateSplit::gradients},
       {"weights", StateSplit::weights}},
      "What is split over data-parallel GPUs: optimizer state (ZeRO 1, distributed optimizer), gradients too (ZeRO 2), weights too (ZeRO 3, FSDP); automatic: as the framework does.");
  s.optional(
      "shard_group", &ParallelSpec::shard_group, {0, 1 << 20},
      "GPUs that a shard is spread over, copies of which are kept by the others; 0: all data (x context) parallel ones.");
  s.custom(
      {"micro_batch", "integer", schema_detail::range_of<std::int64_t>(kDegree),
       schema_detail::value_text(ParallelSpec().micro_batch),
       "Samples that a replica processes at a time; the rest of its share follows in more micro-steps. Not given, with framework.parallel.layer_by_layer: all that model.accumulation leaves of it; of a model that is played by blocks, where model.per_gpu_batch or model.accumulation states that, and not with a pipeline."},
      false, [](ParallelSpec& out, const ConfigNode& node, const std::string& path) -> Result<void> {
        TRY_ASSIGN(out.micro_batch, schema_detail::read_scalar<std::int64_t>(node, path, kDegree));
        out.states_micro_batch = true;
        return {};
      });
  s.custom(
      {"recompute", std::string(kRecomputeForms) + ", or an integer", "", "automatic",
       "Activations that are computed again in the backward pass: none; selective: attention's scores (none are kept with flash attention; with framework.parallel.selective_blocks the least blocks that fit), the listed modules (of " +
           module_list() +
           "), all but every second product and attention of a block (per operator), or every second block; full: whole blocks, or so many of each stage. automatic: the least that fits; full where offload moves activations; with framework.parallel.layer_by_layer none, where nothing is split."},
      false, [](ParallelSpec& out, const ConfigNode& node, const std::string& path) -> Result<void> {
        TRY_ASSIGN(out.recompute, read_recompute(node, path));
        return {};
      });
  s.choice(
      "offload", &ParallelSpec::offload,
      {{"automatic", Offload::automatic},
       {"none", Offload::none},
       {"optimizer", Offload::optimizer},
       {"activations", Offload::activations},
       {"all", Offload::all}},
      "What is kept in the host's memory: the optimizer, which then runs on its cores; activations until the backward pass; or also weights and gradients. automatic: nothing, or with frameworks that do so what does not fit.");
}

void add_overlaps(Schema<ParallelSpec>& s) {
  const std::vector<std::pair<std::string, Switch>> words{
      {"automatic", Switch::automatic}, {"false", Switch::off}, {"true", Switch::on}};
  s.choice("overlap_gradients", &ParallelSpec::overlap_gradients, words,
           "Gradients are reduced during the last backward pass; automatic: framework.gradients.overlap.");
  s.choice("overlap_parameters", &ParallelSpec::overlap_parameters, words,
           "Split weights are gathered while others compute; automatic: as the framework does.");
  s.choice("overlap_tensor", &ParallelSpec::overlap_tensor, words,
           "Tensor-parallel collectives overlap with products; automatic: as the framework does.");
  s.choice("overlap_expert", &ParallelSpec::overlap_expert, words,
           "All-to-alls of experts overlap with computation; automatic: as the framework does.");
  s.choice(
      "expert_dispatch", &ParallelSpec::expert_dispatch,
      {{"automatic", std::nullopt}, {"all_to_all", ExpertDispatch::all_to_all}, {"deepep", ExpertDispatch::deepep}},
      "How tokens reach experts: a copy for each, or one for each NVLink domain; automatic: as the framework does.");
  s.choice(
      "overlap_pipeline", &ParallelSpec::overlap_pipeline, words,
      "Messages between stages overlap with computation, with schedule interleaved; automatic: as the framework does.");
  s.optional("prefetch", &ParallelSpec::prefetch, {0, 64},
             "shard: weights: blocks whose weights are gathered ahead; 0: none, each waits for its own.");
}

}  // namespace

bool Recompute::has(std::string_view module) const {
  return kind == RecomputeKind::modules && std::find(modules.begin(), modules.end(), module) != modules.end();
}

std::string text_of(const Recompute& r) {
  switch (r.kind) {
    case RecomputeKind::automatic:
      return "automatic";
    case RecomputeKind::none:
      return "none";
    case RecomputeKind::core_attention:
      return "selective";
    case RecomputeKind::per_operator:
      return "selective: per operator";
    case RecomputeKind::every_second:
      return "selective: every second layer";
    case RecomputeKind::full:
      return r.layers > 0 ? std::to_string(r.layers) : "full";
    case RecomputeKind::modules:
      break;
  }
  std::string text(kSelective);
  for (const std::string& module : r.modules) text += (module == r.modules.front() ? "" : "+") + module;
  return text;
}

std::string_view name_of(PipelineSchedule schedule) {
  switch (schedule) {
    case PipelineSchedule::automatic:
      return "automatic";
    case PipelineSchedule::gpipe:
      return "gpipe";
    case PipelineSchedule::one_f_one_b:
      return "1f1b";
    case PipelineSchedule::interleaved:
      return "interleaved";
    case PipelineSchedule::zero_bubble:
      return "zero-bubble";
    case PipelineSchedule::dualpipe:
      return "dualpipe";
  }
  CHECK(false) << "schedule " << static_cast<int>(schedule);
  return "";
}

std::string_view name_of(RankOrder order) {
  static constexpr std::array<std::string_view, 2> kOrderNames{"tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp"};
  return kOrderNames[static_cast<std::size_t>(order)];
}

std::string_view name_of(StateSplit shard) {
  static constexpr std::array<std::string_view, 5> kShardNames{"automatic", "none", "optimizer", "gradients",
                                                               "weights"};
  return kShardNames[static_cast<std::size_t>(shard)];
}

std::string_view name_of(Offload offload) {
  static constexpr std::array<std::string_view, 5> kOffloadNames{"automatic", "none", "optimizer", "activations",
                                                                 "all"};
  return kOffloadNames[static_cast<std::size_t>(offload)];
}

Schema<ParallelSpec> parallel_schema() {
  Schema<ParallelSpec> s("parallel", "How the model is split over GPUs.");
  add_splits(s);
  add_state(s);
  add_overlaps(s);
  s.joined(&ParallelSpec::tables, table_split_schema());
  return s;
}

}  // namespace distsim::workload
