#include <algorithm>

#include "base/text/quantity_text.hpp"
#include "sim/workload/llm/layer_by_layer/transformers_layers.hpp"
#include "sim/workload/llm/llm_spec.hpp"

namespace distsim::workload {
namespace {

constexpr Range kCount{1, 1 << 20};
constexpr Range kOptionalCount{0, 1 << 20};
constexpr Range kWide{0, 1 << 24};

void add_block_keys(Schema<LlmSpec>& s) {
  s.optional("layers", &LlmSpec::layers, {1, 4096}, "Transformer blocks; of an encoder-decoder both stacks.");
  s.optional("hidden", &LlmSpec::hidden, kCount, "Width of the residual stream.");
  s.optional("heads", &LlmSpec::heads, {1, 65536}, "Attention heads (queries).");
  s.optional("kv_heads", &LlmSpec::kv_heads, {0, 65536}, "Heads of keys and values; divides heads; 0: as heads.");
  s.optional("head_dim", &LlmSpec::head_dim, kOptionalCount, "Width of a head; 0: hidden / heads.");
  s.optional("ffn_hidden", &LlmSpec::ffn_hidden, kWide, "Width inside the MLP; 0: 4 x hidden.");
  s.optional("gated", &LlmSpec::gated, "The MLP has two input projections (SwiGLU, GeGLU).");
  s.choice("norm", &LlmSpec::norm, {{"layer", LlmNorm::layer}, {"rms", LlmNorm::rms}}, "Normalisation.");
  s.choice("positions", &LlmSpec::positions,
           {{"learned", LlmPositions::learned},
            {"rope", LlmPositions::rope},
            {"alibi", LlmPositions::alibi},
            {"relative", LlmPositions::relative},
            {"none", LlmPositions::none}},
           "Positions: a learned table, rotary, linear biases, T5's relative biases, or none.");
  s.optional("position_rows", &LlmSpec::position_rows, kWide,
             "learned: rows of the table; 0: sequence, of an encoder at least 512.");
  s.choice("bias", &LlmSpec::bias, {{"none", LlmBias::none}, {"attention", LlmBias::attention}, {"all", LlmBias::all}},
           "Biases of linear layers: none, of queries, keys and values only, or of all.");
  s.optional("tied_embeddings", &LlmSpec::tied_embeddings, "The head uses the token embedding's matrix.");
  s.optional("vocabulary", &LlmSpec::vocabulary, {1, 1 << 26}, "Rows of the token embedding, as padded.");
  s.optional("sequence", &LlmSpec::sequence, {1, 1 << 24}, "Tokens per sample.");
  s.optional(
      "mean_tokens", &LlmSpec::mean_tokens, kWide,
      "Packed samples: mean tokens of the documents that share a sequence and do not attend to each other; 0: one. encoder: mean tokens of a sample before it is padded, which are its useful work and what frameworks that batch by length compute; 0: the full sequence.");
  s.optional("predictions", &LlmSpec::predictions, kWide,
             "encoder: masked positions per sample whose logits are computed; 0: all.");
  s.optional("dropout", &LlmSpec::dropout, "Dropout after attention and MLP.");
  s.optional("encoder", &LlmSpec::encoder,
             "Bidirectional attention, masked-language and next-sentence heads (BERT); excludes decoder_layers.");
  s.optional(
      "decoder_layers", &LlmSpec::decoder_layers, {0, 4096},
      "Encoder-decoder: so many of the layers, the last ones and not all, are the decoder's, with cross attention; 0: none.");
  s.optional("decoder_sequence", &LlmSpec::decoder_sequence, kWide, "Tokens of the decoder; 0: sequence.");
}

void add_attention_keys(Schema<LlmSpec>& s) {
  s.choice("attention", &LlmSpec::attention,
           {{"full", LlmAttention::full}, {"window", LlmAttention::window}, {"mla", LlmAttention::mla}},
           "Attention: to all tokens; to a window; or with keys and values of low rank (DeepSeek's MLA).");
  s.optional("window", &LlmSpec::window, kWide, "Keys that a query looks at.");
  s.optional("window_every", &LlmSpec::window_every, {1, 4096},
             "window: one in so many layers, the first one included, has it (2: every other one).");
  s.optional("q_lora", &LlmSpec::q_lora, kOptionalCount, "Rank of queries; 0: full.");
  s.optional("kv_lora", &LlmSpec::kv_lora, kOptionalCount, "mla: rank of keys and values.");
  s.optional("rope_head_dim", &LlmSpec::rope_head_dim, kOptionalCount, "mla: rotary part of head_dim.");
  s.optional("value_head_dim", &LlmSpec::value_head_dim, kOptionalCount, "Width of a value's head; 0: head_dim.");
  s.optional("qk_norm", &LlmSpec::qk_norm, "Query and key heads are normalised.");
}

void add_expert_keys(Schema<LlmSpec>& s) {
  s.optional("experts", &LlmSpec::experts, {0, 65536}, "Experts per MLP, of which a token uses top_k; 0: none.");
  s.optional("top_k", &LlmSpec::top_k, {1, 1024}, "Experts per token.");
  s.optional("expert_ffn_hidden", &LlmSpec::expert_ffn_hidden, kWide, "Width inside an expert; 0: ffn_hidden.");
  s.optional("shared_expert_ffn_hidden", &LlmSpec::shared_expert_ffn_hidden, kWide,
             "Width inside the shared experts together; 0: there are none.");
  s.optional("dense_layers", &LlmSpec::dense_layers, {0, 4096}, "The first layers, which have an MLP and no experts.");
  s.optional("expert_every", &LlmSpec::expert_every, {1, 4096},
             "One in so many layers, the last of each, has experts.");
  s.optional("expert_latent", &LlmSpec::expert_latent, kOptionalCount,
             "Width that tokens are projected to before they go to experts; 0: hidden.");
  s.choice("router", &LlmSpec::router, {{"token", LlmRouter::token}, {"capacity", LlmRouter::capacity}},
           "Which tokens an expert takes: all that choose it, or at most its capacity, padded to it.");
  s.optional("capacity", &LlmSpec::capacity, {0.01, 100}, "router capacity: tokens of an expert over their mean.");
  s.optional(
      "imbalance", &LlmSpec::imbalance, {0, 1000},
      "Tokens of the most loaded expert over the mean, less 1; 0: spread evenly. All GPUs wait for the one that has it.");
  s.optional("mtp_layers", &LlmSpec::mtp_layers, {0, 64},
             "Blocks that predict further tokens in training; inference leaves them out.");
  s.optional(
      "pattern", &LlmSpec::pattern,
      "One letter a layer, for models that mix: M Mamba-2, * attention, - MLP, E experts; empty: attention and MLP or experts in each.");
  s.optional("mamba_heads", &LlmSpec::mamba_heads, kOptionalCount, "Mamba-2: heads.");
  s.optional("mamba_head_dim", &LlmSpec::mamba_head_dim, kCount, "Mamba-2: width of a head.");
  s.optional("mamba_state", &LlmSpec::mamba_state, kCount, "Mamba-2: state of a channel.");
  s.optional("mamba_groups", &LlmSpec::mamba_groups, kCount,
             "Mamba-2: groups of heads that share inputs of the state.");
  std::vector<std::pair<std::string, LlmClass>> classes;
  for (const LlmClass c :
       {LlmClass::none, LlmClass::bert, LlmClass::gpt2, LlmClass::opt, LlmClass::switch_transformers})
    classes.emplace_back(name_of(c), c);
  s.choice(
      "model_type", &LlmSpec::model_type, classes,
      "Class of Hugging Face's transformers (model_type of its config.json) whose kernels are predicted one by one, as they run in eager mode where nothing is split; none: the layers of a training framework.");
  s.choice(
      "training", &LlmSpec::training,
      {{"pretrain", LlmTraining::pretrain}, {"sft", LlmTraining::sft}, {"lora", LlmTraining::lora}},
      "What is trained: all weights from scratch; all of a pretrained model; or low-rank adapters of its linear layers, whose own weights have no gradients.");
  s.choice("lora_targets", &LlmSpec::lora_targets,
           {{"automatic", std::nullopt},
            {"all", LoraTargets::all},
            {"attention", LoraTargets::attention},
            {"qkv", LoraTargets::qkv}},
           "lora: linear layers that have adapters; automatic: as the framework does.");
  s.optional("lora_rank", &LlmSpec::lora_rank, {1, 65536}, "lora: rank of the adapters.");
}

using Broken = std::optional<std::string>;

Broken not_divisor(const char* key, std::int64_t found, std::int64_t of, const char* name) {
  if (of % found == 0) return {};
  return std::string(key) + ": found " + std::to_string(found) + ", expected a divisor of " + name + " (" +
         std::to_string(of) + ")";
}

Broken broken_attention(const LlmSpec& m) {
  if (m.head_dim == 0 && m.hidden % m.heads != 0) return not_divisor("heads", m.heads, m.hidden, "hidden");
  if (auto broken = not_divisor("kv_heads", m.kv(), m.heads, "heads")) return broken;
  if (m.attention == LlmAttention::window && m.window == 0) return "window: found 0, expected the keys of a window";
  if (m.attention == LlmAttention::mla && m.kv_lora == 0) return "kv_lora: found 0, expected a rank for attention: mla";
  if (m.attention == LlmAttention::mla && m.rope_head_dim >= m.dim())
    return "rope_head_dim: found " + std::to_string(m.rope_head_dim) + ", expected less than head_dim (" +
           std::to_string(m.dim()) + ")";
  return {};
}

/// Experts that no layer has.
Broken broken_experts(const LlmSpec& m) {
  if (m.experts > 0 && m.imbalance > static_cast<double>(m.experts) / static_cast<double>(m.top_k) - 1)
    return "imbalance: found " + format_quantity(m.imbalance, Dimension::none) +
           ", expected at most experts / top_k - 1 (" +
           format_quantity(static_cast<double>(m.experts) / static_cast<double>(m.top_k) - 1, Dimension::none) +
           "), where all tokens go to the same expert";
  if (m.experts > 0 && m.router == LlmRouter::capacity &&
      m.capacity > static_cast<double>(m.experts) / static_cast<double>(m.top_k))
    return "capacity: found " + format_quantity(m.capacity, Dimension::none) + ", expected at most experts / top_k (" +
           format_quantity(static_cast<double>(m.experts) / static_cast<double>(m.top_k), Dimension::none) +
           "), where an expert takes all tokens";
  if (m.experts == 0 || !m.pattern.empty()) return {};
  if (m.dense_layers >= m.layers)
    return "dense_layers: found " + std::to_string(m.dense_layers) + ", expected less than layers (" +
           std::to_string(m.layers) + "), or experts: 0";
  const std::int64_t last = m.layers - m.layers % m.expert_every;  // of which the index is one less
  if (last > m.dense_layers) return {};
  return "expert_every: found " + std::to_string(m.expert_every) + ", expected one that the " +
         std::to_string(m.layers) + " layers have after " + std::to_string(m.dense_layers) + " dense ones";
}

/// Which has an encoder before it, of blocks that are not BERT's.
Broken broken_decoder(const LlmSpec& m) {
  const std::string found = "decoder_layers: found " + std::to_string(m.decoder_layers);
  if (m.decoder_layers == 0 && m.decoder_sequence > 0)
    return "decoder_sequence: found " + std::to_string(m.decoder_sequence) + ", expected 0 without decoder_layers";
  if (m.decoder_layers == 0) return {};
  if (m.encoder) return found + ", expected 0 with encoder: true";
  if (!m.pattern.empty()) return found + ", expected 0 with pattern";
  if (m.mtp_layers > 0) return found + ", expected 0 with mtp_layers";
  if (m.decoder_layers < m.layers) return {};
  return found + ", expected less than layers (" + std::to_string(m.layers) + "), of which the first are the encoder's";
}

Broken broken_layers(const LlmSpec& m) {
  const std::int64_t longest = std::max(m.sequence, m.decoder_sequence);
  if (m.positions == LlmPositions::learned && m.position_rows > 0 && m.position_rows < longest)
    return "position_rows: found " + std::to_string(m.position_rows) + ", expected a row for each of " +
           std::to_string(longest) + " tokens";
  if (m.mtp_layers > 0 && m.encoder)
    return "mtp_layers: found " + std::to_string(m.mtp_layers) + ", expected 0 with encoder: true";
  if (m.predictions > 0 && !m.encoder)
    return "predictions: found " + std::to_string(m.predictions) + ", expected 0 without encoder: true";
  if (m.predictions > m.sequence)
    return "predictions: found " + std::to_string(m.predictions) + ", expected at most sequence (" +
           std::to_string(m.sequence) + ")";
  if (m.experts > 0 && m.top_k > m.experts)
    return "top_k: found " + std::to_string(m.top_k) + ", expected at most experts (" + std::to_string(m.experts) + ")";
  if (auto broken = broken_decoder(m)) return broken;
  if (m.pattern.empty()) return {};
  if (m.pattern.find_first_not_of("M*-E") != std::string::npos)
    return "pattern: found '" + m.pattern.substr(m.pattern.find_first_not_of("M*-E"), 1) + "', expected M, *, - or E";
  if (static_cast<std::int64_t>(m.pattern.size()) != m.layers)
    return "pattern: found " + std::to_string(m.pattern.size()) + " letters, expected as many as layers (" +
           std::to_string(m.layers) + ")";
  const bool mamba = m.pattern.find('M') != std::string::npos;
  if (mamba && m.mamba_heads == 0) return "mamba_heads: found 0, expected the heads of the pattern's Mamba-2 layers";
  if (mamba && m.mamba_heads % m.mamba_groups != 0)
    return "mamba_groups: found " + std::to_string(m.mamba_groups) + ", expected a divisor of mamba_heads (" +
           std::to_string(m.mamba_heads) + ")";
  if (m.pattern.find('E') != std::string::npos && m.experts == 0)
    return "experts: found 0, expected the experts of the pattern's E layers";
  if (m.pattern.find('E') == std::string::npos && m.experts > 0 && m.mtp_layers == 0)
    return "experts: found " + std::to_string(m.experts) + ", expected 0, or an E in pattern";
  return {};
}

}  // namespace

std::string_view name_of(LlmClass model_type) {
  switch (model_type) {
    case LlmClass::none:
      return "none";
    case LlmClass::bert:
      return "bert";
    case LlmClass::gpt2:
      return "gpt2";
    case LlmClass::opt:
      return "opt";
    case LlmClass::switch_transformers:
      return "switch_transformers";
  }
  return "";
}

Schema<LlmSpec> llm_schema() {
  Schema<LlmSpec> s("llm", "A language model. How it is split over GPUs: section parallel.");
  add_block_keys(s);
  add_attention_keys(s);
  add_expert_keys(s);
  s.rule(broken_attention);
  s.rule(broken_layers);
  s.rule(broken_experts);
  s.rule(unlike_its_class);
  return s;
}

}  // namespace distsim::workload
