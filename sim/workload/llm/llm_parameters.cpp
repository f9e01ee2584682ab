// Blocks of a language model, and its weights counted from the architecture.
#include <algorithm>

#include "sim/workload/llm/llm_spec.hpp"

namespace distsim::workload {
namespace {

using Count = double;

Count real(std::int64_t n) { return static_cast<Count>(n); }

Count norm_weights(const LlmSpec& m, std::int64_t width) { return real(width) * (m.norm == LlmNorm::layer ? 2 : 1); }

Count linear(std::int64_t in, std::int64_t out, bool bias) { return real(in) * real(out) + (bias ? real(out) : 0); }

Count mla_weights(const LlmSpec& m) {
  const std::int64_t queries = m.heads * m.dim(), values = m.heads * m.value_dim();
  const std::int64_t plain = m.heads * (m.dim() - m.rope_head_dim);
  Count sum = linear(m.hidden, m.kv_lora + m.rope_head_dim, false) + real(m.kv_lora) +
              linear(m.kv_lora, plain + values, false) + linear(values, m.hidden, false);
  if (m.q_lora == 0) return sum + linear(m.hidden, queries, false);
  return sum + linear(m.hidden, m.q_lora, false) + real(m.q_lora) + linear(m.q_lora, queries, false);
}

Count attention_weights(const LlmSpec& m) {
  if (m.attention == LlmAttention::mla) return mla_weights(m);
  const std::int64_t queries = m.heads * m.dim(), keys = m.kv() * m.dim();
  const Count own =
      linear(m.hidden, queries + 2 * keys, m.bias != LlmBias::none) + linear(queries, m.hidden, m.bias == LlmBias::all);
  return own + (m.qk_norm ? 2 * real(m.dim()) : 0);
}

Count mlp_weights(const LlmSpec& m, std::int64_t width, std::int64_t inner) {
  return linear(width, (m.gated ? 2 : 1) * inner, m.bias == LlmBias::all) +
         linear(inner, width, m.bias == LlmBias::all);
}

Count mamba_weights(const LlmSpec& m) {
  const std::int64_t inner = m.mamba_heads * m.mamba_head_dim, groups = m.mamba_groups * m.mamba_state;
  constexpr std::int64_t kTaps = 4;
  return linear(m.hidden, 2 * inner + 2 * groups + m.mamba_heads, false) +
         real(inner + 2 * groups) * (kTaps + 1) +  // convolution with bias
         3 * real(m.mamba_heads) + real(inner) + linear(inner, m.hidden, false);
}

/// All weights of a sublayer, or those that a token uses.
Count sublayer_weights(const LlmSpec& m, Sublayer part, bool active) {
  switch (part) {
    case Sublayer::attention:
    case Sublayer::window_attention:
    case Sublayer::cross_attention:
      return attention_weights(m);
    case Sublayer::mlp:
      return mlp_weights(m, m.hidden, m.inner());
    case Sublayer::mamba:
      return mamba_weights(m);
    case Sublayer::experts:
      break;
  }
  const std::int64_t width = m.expert_latent > 0 ? m.expert_latent : m.hidden;
  Count sum = linear(m.hidden, m.experts, m.bias == LlmBias::all) +
              real(active ? m.top_k : m.experts) * mlp_weights(m, width, m.expert_inner());
  if (m.expert_latent > 0) sum += 2 * real(m.hidden) * real(m.expert_latent);
  if (m.shared_expert_ffn_hidden > 0) sum += mlp_weights(m, m.hidden, m.shared_expert_ffn_hidden);
  return sum;
}

Count block_weights(const LlmSpec& m, const BlockKind& kind, bool active) {
  Count sum = 0;
  for (const Sublayer part : kind) sum += norm_weights(m, m.hidden) + sublayer_weights(m, part, active);
  return sum;
}

Count mtp_weights(const LlmSpec& m, bool active) {
  return 2 * real(m.hidden) * real(m.hidden) + 3 * norm_weights(m, m.hidden) + block_weights(m, mtp_kind(m), active);
}

Count head_weights(const LlmSpec& m) {
  Count sum = norm_weights(m, m.hidden);
  if (m.decoder_layers > 0) sum += norm_weights(m, m.hidden);
  if (!m.tied_embeddings) sum += real(m.vocabulary) * real(m.hidden);
  if (!m.encoder) return sum;
  // Pooler, transform with its norm, the decoder's bias, two sentence classes; token types.
  return sum + 2 * linear(m.hidden, m.hidden, true) + real(m.vocabulary) + linear(m.hidden, 2, true) +
         2 * real(m.hidden);
}

Sublayer attention_of(const LlmSpec& m, std::int64_t index) {
  const bool window = m.attention == LlmAttention::window && index % m.window_every == 0;
  return window ? Sublayer::window_attention : Sublayer::attention;
}

}  // namespace

BlockKind block_kind(const LlmSpec& m, std::int64_t index) {
  if (!m.pattern.empty()) {
    switch (m.pattern[static_cast<std::size_t>(index)]) {
      case 'M':
        return {Sublayer::mamba};
      case '*':
        return {attention_of(m, index)};
      case 'E':
        return {Sublayer::experts};
      default:
        return {Sublayer::mlp};
    }
  }
  const bool experts = m.experts > 0 && index >= m.dense_layers && (index + 1) % m.expert_every == 0;
  const Sublayer feed_forward = experts ? Sublayer::experts : Sublayer::mlp;
  if (index >= m.layers - m.decoder_layers) return {attention_of(m, index), Sublayer::cross_attention, feed_forward};
  return {attention_of(m, index), feed_forward};
}

BlockKind mtp_kind(const LlmSpec& m) {
  if (m.pattern.empty()) return block_kind(m, m.layers - 1);
  return {Sublayer::attention, m.experts > 0 ? Sublayer::experts : Sublayer::mlp};
}

LlmParameters parameters_of(const LlmSpec& m) {
  LlmParameters out;
  out.embedding = real(m.vocabulary) * real(m.hidden);
  if (m.positions == LlmPositions::learned) out.embedding += real(m.position_table()) * real(m.hidden);
  for (const bool active : {false, true}) {
    Count sum = out.embedding + head_weights(m) + real(m.mtp_layers) * mtp_weights(m, active);
    for (std::int64_t i = 0; i < m.layers; ++i) sum += block_weights(m, block_kind(m, i), active);
    (active ? out.active : out.all) = sum;
  }
  return out;
}

}  // namespace distsim::workload
