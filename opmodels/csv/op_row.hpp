// A row of a shapes file: which ops it asks for, on which GPU, timed how. The columns are those of the public op data
// sets as kept by the project, and one group for every other op (<a> one of several, [a] optional):
//   all          gpu, op, dtype; [pass] (fwd, bwd, bwd_data, bwd_weight, bwd_both), [timing], [layout], [extra]
//   products     m, n, k, [b]                                op: linear, gemm, mm, addmm, bmm, matmul
//   conv2d       n, c, h, w, k, r, s, stride_h, stride_w, pad_h, pad_w, [dil], [groups]      depthwise_conv2d: groups =
//   c pointwise    rows, cols                                  op: add, mul, relu, gelu, softmax, layernorm, batchnorm,
//   copy_, ... elementwise  <elements | rows, cols>, [reads], [writes], [flops] (tensors read and written, operations
//   an element)
//                                                            op: elementwise, fused_elementwise (there all three are
//                                                            needed)
//   embedding    [tables], batch, <nnz | pooling>, <rows_total | rows>, dim, [alpha], [update]
//                                                            op: embedding, embedding_bag, fbgemm_tbe_weighted,
//                                                            fbgemm_tbe_unweighted
//   interaction  batch, features, dim                        op: interaction, fused_interaction
//   cross layer  batch, width, [rank]                        op: cross_layer
//   attention    batch, heads, q_len, head_dim, [kv_len], [causal]      op: attention, flash_attention
//   concat       <bytes | elements | rows, cols>, [pieces]   op: concat, split
//   transpose    rows, cols, [b]                             op: transpose
//   optimizer    parameters, [tensors], [master_weights]     op: sgd, momentum, adagrad, adam, adamw, lamb, lars
//   copies       <bytes | elements | rows, cols>             op: copy (d2d), copy_h2d, copy_d2h, copy_d2d, copy_p2p
// A size that has no column of its own may stand in `extra` as NAME=VALUE;... as in the files of op_bench, whose
// attention (heads x length rows, length columns), interaction (one kernel) and optimizers (rows: tensors, cols:
// parameters of each) are read as well. A file has one of these groups of columns, or several with empty fields. Which
// one a row uses follows from its op. layer_norm, batch_norm, rms_norm, flash_attn, sdpa, cat, memcpy_h2d, ... are
// other spellings of the same ops.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/text/csv.hpp"
#include "opmodels/measured/timing_convention.hpp"
#include "sim/graph/op.hpp"

namespace distsim::opmodels {

struct OpRow {
  std::vector<graph::Op> ops;  ///< in one row's time: both gradients of a product are two
  HostCall call = HostCall::pointwise;
  double calls = 1;  ///< framework calls
  Timing timing = Timing::kernel;
  bool warm = false;  ///< operands found in L2 (timing_convention.hpp)
};

/// Where the columns are. Made once from the header.
class OpColumns {
 public:
  /// Errors: no gpu, op or dtype column (the nearest spelling is suggested); none of the groups complete and no extra
  /// column either.
  static Result<OpColumns> from(const CsvReader& reader);
  /// The same where one op alone is asked for and its own error says what it lacks: no group is needed.
  static Result<OpColumns> of_one_op(const CsvReader& reader);

  enum Name {
    gpu,
    op,
    pass,
    dtype,
    timing,
    layout,
    extra,
    b,
    m,
    n,
    k,
    c,
    h,
    w,
    r,
    s,
    stride_h,
    stride_w,
    pad_h,
    pad_w,
    dil,
    groups,
    rows,
    cols,
    tables,
    batch,
    nnz,
    rows_total,
    dim,
    pooling,
    alpha,
    update,
    features,
    width,
    rank,
    heads,
    q_len,
    kv_len,
    head_dim,
    causal,
    elements,
    reads,
    writes,
    flops,
    bytes,
    pieces,
    parameters,
    tensors,
    master_weights,
    count
  };
  static std::string_view text(Name column);
  /// All columns that hold sizes or choices of an op: b, m, ..., master_weights; and layout.
  static std::vector<std::string> size_names();
  std::optional<std::size_t> index(Name column) const { return indices_[column]; }

 private:
  std::array<std::optional<std::size_t>, count> indices_;
};

/// One row's fields by column name.
class OpFields {
 public:
  OpFields(const OpColumns& columns, const std::vector<std::string>& fields) : columns_(columns), fields_(fields) {}

  /// Empty where the column is absent.
  std::string_view text(OpColumns::Name column) const;
  /// The same, or else what `extra` says of it: "heads=16;dim=64".
  std::string_view said(OpColumns::Name column) const;
  // Numbers are looked for in the column, then in `extra`.
  /// Errors: absent or empty; not a whole number ("m: found 'x', expected a whole number"). A fraction of zero (128.0)
  /// is whole.
  Result<std::int64_t> integer(OpColumns::Name column) const;
  Result<std::int64_t> integer_or(OpColumns::Name column, std::int64_t fallback) const;
  Result<double> number(OpColumns::Name column) const;
  Result<double> number_or(OpColumns::Name column, double fallback) const;
  /// 1, true, yes; 0, false, no, empty.
  Result<bool> flag(OpColumns::Name column) const;

 private:
  std::string_view extra(std::string_view key) const;
  const OpColumns& columns_;
  const std::vector<std::string>& fields_;
};

/// Every op that op_from_row knows, without its other spellings.
std::vector<std::string> row_op_names();

/// Errors: an op that is not known here (with the nearest spelling), a dtype, timing or pass that is not known or that
/// the op does not have, missing, unreadable or doubly given sizes.
Result<OpRow> op_from_row(const OpColumns& columns, const std::vector<std::string>& fields);

}  // namespace distsim::opmodels
