// LlmSpec: the architecture of a language model, as in the section `llm` of configs/models. What each key means is said
// in llm_schema.cpp; how it is split over GPUs is in the section `parallel`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/config/schema.hpp"
#include "sim/workload/specs/parallel_spec.hpp"

namespace distsim::workload {

enum class LlmNorm : std::uint8_t { layer, rms };
enum class LlmPositions : std::uint8_t { learned, rope, alibi, relative, none };
enum class LlmAttention : std::uint8_t { full, window, mla };
enum class LlmRouter : std::uint8_t { token, capacity };
enum class LlmBias : std::uint8_t { none, attention, all };
/// Class of Hugging Face's transformers, by the model_type of its config.json.
enum class LlmClass : std::uint8_t { none, bert, gpt2, opt, switch_transformers };
std::string_view name_of(LlmClass model_type);
enum class LlmTraining : std::uint8_t { pretrain, sft, lora };

struct LlmSpec {
  std::int64_t layers = 24, hidden = 1024, heads = 16, kv_heads = 0, head_dim = 0;
  std::int64_t ffn_hidden = 0;
  bool gated = false;
  LlmNorm norm = LlmNorm::layer;
  LlmPositions positions = LlmPositions::learned;
  std::int64_t position_rows = 0;
  LlmAttention attention = LlmAttention::full;
  std::int64_t window = 0, window_every = 1;
  std::int64_t q_lora = 0, kv_lora = 0, rope_head_dim = 64, value_head_dim = 0;
  LlmBias bias = LlmBias::none;
  bool qk_norm = false;
  bool tied_embeddings = false;
  std::int64_t vocabulary = 51200, sequence = 1024;
  std::int64_t mean_tokens = 0, predictions = 0;
  bool dropout = false;
  bool encoder = false;
  std::int64_t decoder_layers = 0, decoder_sequence = 0;
  std::int64_t experts = 0, top_k = 2, expert_ffn_hidden = 0, shared_expert_ffn_hidden = 0;
  std::int64_t dense_layers = 0, expert_every = 1, expert_latent = 0;
  LlmRouter router = LlmRouter::token;
  double capacity = 1, imbalance = 0;
  std::int64_t mtp_layers = 0;
  std::string pattern;
  std::int64_t mamba_heads = 0, mamba_head_dim = 64, mamba_state = 128, mamba_groups = 8;
  LlmClass model_type = LlmClass::none;
  LlmTraining training = LlmTraining::pretrain;
  std::int64_t lora_rank = 16;
  std::optional<LoraTargets> lora_targets;  ///< nothing: as the framework does

  std::int64_t kv() const { return kv_heads > 0 ? kv_heads : heads; }
  std::int64_t dim() const { return head_dim > 0 ? head_dim : hidden / heads; }
  std::int64_t value_dim() const { return value_head_dim > 0 ? value_head_dim : dim(); }
  std::int64_t inner() const { return ffn_hidden > 0 ? ffn_hidden : 4 * hidden; }
  std::int64_t expert_inner() const { return expert_ffn_hidden > 0 ? expert_ffn_hidden : inner(); }
  std::int64_t position_table() const {
    constexpr std::int64_t kRowsOfBert = 512;  // also of models that see shorter samples (arXiv 1810.04805, A.2)
    return position_rows > 0 ? position_rows : encoder ? std::max(kRowsOfBert, sequence) : sequence;
  }
  std::int64_t all_layers() const { return layers + mtp_layers; }
  std::int64_t target_sequence() const { return decoder_sequence > 0 ? decoder_sequence : sequence; }
  /// Of both sides, where a decoder has its own.
  std::int64_t longest_sequence() const {
    return decoder_layers > 0 ? std::max(sequence, target_sequence()) : sequence;
  }
  /// Whether several documents share a sample, each of which attends to itself.
  bool packs_documents() const { return !encoder && mean_tokens > 0 && mean_tokens < longest_sequence(); }
  /// Positions of a sample: sequence; with a decoder of its own, those of both sides. Padding counts, and so do documents
  /// that share a sequence.
  std::int64_t sample_tokens() const { return sequence + (decoder_layers > 0 ? target_sequence() : 0); }
};

Schema<LlmSpec> llm_schema();

/// What a block consists of, each part with its own norm and residual.
enum class Sublayer : std::uint8_t { attention, window_attention, cross_attention, mlp, experts, mamba };
using BlockKind = std::vector<Sublayer>;

/// Of block `index` of spec.layers.
BlockKind block_kind(const LlmSpec& spec, std::int64_t index);
/// Of a block of multi-token prediction: as the last one with attention and the last one with a feed-forward part.
BlockKind mtp_kind(const LlmSpec& spec);

/// Weights of the whole model, copies counted once.
struct LlmParameters {
  double all = 0, active = 0, embedding = 0;
};
LlmParameters parameters_of(const LlmSpec& spec);

}  // namespace distsim::workload
