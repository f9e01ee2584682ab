#include "sim/profile/ops/attention_flops.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <vector>

#include "base/text/lower_case.hpp"

namespace distsim::profile {
namespace {

/// Which dimensions of q, k and v are which.
enum class Layout : std::uint8_t {
  heads_first,   ///< [batch, heads, length, head]
  length_first,  ///< [batch, length, heads, head]
  packed,        ///< [all lengths, heads, head] with the bounds of each sequence
};

/// How an op says that it is causal. Versions of PyTorch added arguments, so that places are counted in arguments that
/// are flags ("True", "False").
enum class Causal : std::uint8_t {
  first_flag,
  last_flag,
  last_but_one_flag,
  mask_type,  ///< the number before the only flag: 1 causal from the first key on, 2 up to the last key; older: last flag
};

struct AttentionForm {
  std::string_view name;
  Layout layout = Layout::heads_first;
  Causal causal = Causal::first_flag;
  bool backward = false;
  bool to_last_key = false;  ///< the last query sees the last key; else the first query only the first
  int bounds = -1;           ///< argument of the bounds of the sequences of q, then those of k; -1: has none
  int longest = -1;          ///< argument of the length of the longest of q, then that of k
  int window = 0;            ///< its two sides are so many arguments behind the flag; 0: has none
};

constexpr std::array<AttentionForm, 24> kForms{{
    {"aten::scaled_dot_product_attention"},
    {"aten::_scaled_dot_product_attention", Layout::heads_first, Causal::last_flag},
    {"aten::_scaled_dot_product_attention_math"},
    {"aten::_scaled_dot_product_attention_math_for_mps"},
    {"aten::_scaled_dot_product_flash_attention"},
    {"aten::_scaled_dot_product_flash_attention_backward", Layout::heads_first, Causal::first_flag, true},
    {"aten::_scaled_dot_product_flash_attention_for_cpu"},
    {"aten::_scaled_dot_product_flash_attention_for_cpu_backward", Layout::heads_first, Causal::first_flag, true},
    {"aten::_scaled_dot_product_efficient_attention", Layout::heads_first, Causal::last_flag},
    {"aten::_scaled_dot_product_efficient_attention_backward", Layout::heads_first, Causal::first_flag, true},
    {"aten::_scaled_dot_product_cudnn_attention", Layout::heads_first, Causal::last_but_one_flag},
    {"aten::_scaled_dot_product_cudnn_attention_backward", Layout::heads_first, Causal::first_flag, true},
    {"aten::_scaled_dot_product_fused_attention_overrideable"},
    {"aten::_scaled_dot_product_fused_attention_overrideable_backward", Layout::heads_first, Causal::first_flag, true},
    {"aten::_cudnn_attention_forward", Layout::heads_first, Causal::last_but_one_flag, false, false, 4, 6},
    {"aten::_cudnn_attention_backward", Layout::heads_first, Causal::first_flag, true, false, 9, 11},
    {"aten::_flash_attention_forward", Layout::length_first, Causal::first_flag, false, true, 3, 5, 3},
    {"aten::_flash_attention_backward", Layout::length_first, Causal::first_flag, true, true, 6, 8, 4},
    {"aten::_efficient_attention_forward", Layout::length_first, Causal::mask_type, false, false, 4, 6},
    {"aten::_efficient_attention_backward", Layout::length_first, Causal::mask_type, true, false, 6, 8},
    {"flash_attn::_flash_attn_forward", Layout::length_first, Causal::first_flag, false, true, -1, -1, 1},
    {"flash_attn::_flash_attn_backward", Layout::length_first, Causal::first_flag, true, true, -1, -1, 1},
    {"flash_attn::_flash_attn_varlen_forward", Layout::packed, Causal::first_flag, false, true, 3, 5, 1},
    {"flash_attn::_flash_attn_varlen_backward", Layout::packed, Causal::first_flag, true, true, 9, 11, 1},
}};

std::optional<std::int64_t> number_at(const traces::OpInputs& in, std::size_t i) {
  if (i >= in.values.size()) return std::nullopt;
  const std::string& text = in.values[i];
  std::int64_t v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return v;
}

enum class Mask : std::uint8_t { none, from_first_key, to_last_key, unknown };

Mask mask_of(const AttentionForm& form, const traces::OpInputs& in) {
  std::vector<std::size_t> flags;
  for (std::size_t i = 0; i < in.values.size(); ++i) {
    const std::string text = lower_case(in.values[i]);
    if (text == "true" || text == "false") flags.push_back(i);
  }
  if (flags.empty()) return Mask::none;
  if (form.causal == Causal::mask_type && flags.size() == 1) {
    const auto type = flags[0] == 0 ? std::nullopt : number_at(in, flags[0] - 1);
    return type == 1 ? Mask::from_first_key : type == 2 ? Mask::to_last_key : Mask::none;
  }
  std::size_t at = flags.front();
  if (form.causal == Causal::last_flag || form.causal == Causal::mask_type) at = flags.back();
  if (form.causal == Causal::last_but_one_flag && flags.size() > 1) at = flags[flags.size() - 2];
  const bool causal = lower_case(in.values[at]) == "true";
  if (form.window > 0) {
    const std::size_t side = at + static_cast<std::size_t>(form.window);
    const std::int64_t left = number_at(in, side).value_or(-1), right = number_at(in, side + 1).value_or(-1);
    if (left >= 0 || (right >= 0 && !causal)) return Mask::unknown;
  }
  if (!causal) return Mask::none;
  return form.to_last_key ? Mask::to_last_key : Mask::from_first_key;
}

/// Pairs of one of `q` queries and one of `k` keys that a mask leaves.
double pairs(Mask mask, double q, double k) {
  if (mask == Mask::from_first_key) {
    const double n = std::min(q, k);
    return n * (n + 1) / 2 + (q - n) * k;
  }
  if (mask == Mask::to_last_key) return k >= q ? q * k - q * (q - 1) / 2 : k * (k + 1) / 2;
  return q * k;
}

/// Shape of argument `i`: of `rank` dimensions, none of them 0 or less.
const std::vector<std::int64_t>* shape_at(const traces::OpInputs& in, std::size_t i, std::size_t rank) {
  if (i >= in.tensors.size() || in.tensors[i].dims.size() != rank) return nullptr;
  const std::vector<std::int64_t>& d = in.tensors[i].dims;
  return std::ranges::all_of(d, [](std::int64_t v) { return v > 0; }) ? &d : nullptr;
}

struct Sizes {
  double batch = 0, heads = 0, queries = 0, keys = 0, head = 0, value = 0;
};

std::optional<Sizes> padded_sizes(const AttentionForm& form, const traces::OpInputs& in, std::size_t first) {
  const auto *q = shape_at(in, first, 4), *k = shape_at(in, first + 1, 4), *v = shape_at(in, first + 2, 4);
  if (q == nullptr || k == nullptr) return std::nullopt;
  const std::size_t length = form.layout == Layout::length_first ? 1 : 2, heads = 3 - length;
  const auto of = [](const std::vector<std::int64_t>& d, std::size_t i) { return static_cast<double>(d[i]); };
  if (of(*k, 3) != of(*q, 3)) return std::nullopt;
  return Sizes{of(*q, 0), of(*q, heads), of(*q, length), of(*k, length), of(*q, 3), of(v == nullptr ? *k : *v, 3)};
}

/// Sequences one after the other: their lengths are known where all are as long as the longest.
std::optional<Sizes> packed_sizes(const AttentionForm& form, const traces::OpInputs& in, std::size_t first,
                                  const std::vector<std::int64_t>& bounds) {
  std::array<const std::vector<std::int64_t>*, 3> t{};
  for (std::size_t i = 0; i < t.size(); ++i) {
    t[i] = shape_at(in, first + i, 3);
    if (t[i] == nullptr) t[i] = shape_at(in, first + i, 4);  // [1, all lengths, heads, head]
    if (t[i] == nullptr || (t[i]->size() == 4 && t[i]->front() != 1)) return std::nullopt;
  }
  const auto back = [&](std::size_t i, std::size_t from_end) {
    return static_cast<double>((*t[i])[t[i]->size() - from_end]);
  };
  const auto longest = static_cast<std::size_t>(form.longest);
  const auto q = number_at(in, longest), k = number_at(in, longest + 1);
  const double batch = static_cast<double>(bounds.front()) - 1;
  if (!q || !k || batch < 1 || back(0, 1) != back(1, 1)) return std::nullopt;
  const auto queries = static_cast<double>(*q), keys = static_cast<double>(*k);
  if (batch * queries != back(0, 3) || batch * keys != back(1, 3)) return std::nullopt;
  return Sizes{batch, back(0, 2), queries, keys, back(0, 1), back(2, 1)};
}

}  // namespace

std::optional<double> attention_flops(std::string_view name, const traces::OpInputs& in) {
  const auto* form = std::ranges::find(kForms, name, &AttentionForm::name);
  if (form == kForms.end()) return std::nullopt;
  const Mask mask = mask_of(*form, in);
  if (mask == Mask::unknown) return 0;
  const std::size_t first = form->backward ? 1 : 0;
  const auto* bounds = form->bounds < 0 ? nullptr : shape_at(in, static_cast<std::size_t>(form->bounds), 1);
  const auto sizes = bounds != nullptr ? packed_sizes(*form, in, first, *bounds) : padded_sizes(*form, in, first);
  if (!sizes) return 0;
  const double each = form->backward ? 3 * sizes->head + 2 * sizes->value : sizes->head + sizes->value;
  return 2 * each * sizes->batch * sizes->heads * pairs(mask, sizes->queries, sizes->keys);
}

}  // namespace distsim::profile
