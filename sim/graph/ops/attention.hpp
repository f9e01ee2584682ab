// Scaled dot-product attention.
#pragma once

#include "sim/graph/ops/dtype.hpp"

namespace distsim::graph {

/// Which library's kernels: what the GPU runs best, FlashAttention 1 (arXiv 2205.14135), 2 (2307.08691), 3 (2407.08608)
/// or 4, or cuDNN's.
enum class AttentionLibrary : std::uint8_t { best, flash1, flash2, flash3, flash4, cudnn };
template <>
inline constexpr std::array<std::string_view, 6> kNames<AttentionLibrary>{"best",   "flash1", "flash2",
                                                                          "flash3", "flash4", "cudnn"};

/// All heads: QK^T, softmax, (dropout,) PV.
struct Attention {
  static constexpr std::string_view kKind = "attention";
  static constexpr Work kWork = Work::kernel;
  std::int64_t batch = 0, heads = 0, q_len = 0, kv_len = 0, head_dim = 0;
  bool causal = false;
  bool flash = false;  ///< one kernel that never writes the scores; else bmm + softmax + bmm
  bool dropout = false;
  DType dtype = DType::fp32;
  Pass pass = Pass::forward;
  std::int64_t kv_heads = 0;   ///< of keys and values, which groups of heads share; 0: as heads
  std::int64_t value_dim = 0;  ///< of values and results, where it is not head_dim (MLA); 0: as head_dim
  std::int64_t window = 0;     ///< keys that a query looks at; 0: all
  AttentionLibrary library = AttentionLibrary::best;

  template <class Visit, class... Self>
  static constexpr void fields(Visit&& visit, Self&... op) {
    visit(field::size("batch"), op.batch...);
    visit(field::size("heads"), op.heads...);
    visit(field::size("q_len"), op.q_len...);
    visit(field::size("kv_len"), op.kv_len...);
    visit(field::size("head_dim"), op.head_dim...);
    visit(field::setting("dtype"), op.dtype...);
    visit(field::setting("pass"), op.pass...);
    visit(field::setting("causal"), op.causal...);
    visit(field::setting("flash"), op.flash...);
    visit(field::setting("dropout"), op.dropout...);
    visit(field::setting("kv_heads").later(), op.kv_heads...);
    visit(field::setting("value_dim").later(), op.value_dim...);
    visit(field::setting("window").later(), op.window...);
    visit(field::setting("library").later(), op.library...);
  }
  double values() const { return real(value_dim > 0 ? value_dim : head_dim); }  ///< width of a value
  /// Scores of a head that count. Queries are the last of the keys, or, where a context is split, spread evenly over
  /// them: of q x kv causal scores half count. With a window of w keys about w of a row do, fewer of the first rows.
  double scores_of_head() const {
    const double all = real(q_len) * real(kv_len), w = real(window);
    if (window <= 0 || w >= real(kv_len)) return all * (causal ? 0.5 : 1.0);
    return causal ? real(q_len) * w * (1 - w / (2 * real(kv_len))) : real(q_len) * w;
  }
  double useful_flops() const {
    return products_of(pass) * 2 * real(batch) * real(heads) * scores_of_head() * (real(head_dim) + values());
  }
};

}  // namespace distsim::graph
