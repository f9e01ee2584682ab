// A row of a shapes file: which ops it asks for, on which GPU, timed how. The columns are those of the public op data
// sets as kept by the project, and for every other op those of its fields (<a> one of several, [a] optional):
//
//   every op     gpu, op, dtype; [pass] (fwd, bwd, bwd_data, bwd_weight, bwd_both), [timing], [layout], [extra]
//   products     m, n, k, [b], [scaling], [grouped], [imbalance]; op: linear, gemm, mm, addmm, bmm, matmul
//   conv2d       n, c, h, w, k, r, s, [stride_h, stride_w, pad_h, pad_w, dil, groups]; depthwise_conv2d: groups = c
//   pointwise    rows, cols; op: add, mul, relu, gelu, softmax, layernorm, batchnorm, copy_, ...
//   elementwise  <elements | rows, cols>, [reads], [writes], [flops] (tensors read and written, operations per
//   element);
//                fused_elementwise needs all three
//   embedding    [tables], batch, <nnz | pooling>, <rows_total | rows>, dim, [alpha], [update]
//                op: embedding, embedding_bag, fbgemm_tbe_weighted, fbgemm_tbe_unweighted
//   interaction  batch, features, dim; op: interaction, fused_interaction
//   cross_layer  batch, width, [rank]
//   attention    batch, heads, q_len, head_dim, [kv_len], [causal], [kv_heads], [value_dim], [window], [library];
//                op: attention, flash_attention
//   recurrent    batch, length, input, hidden, [directions], [kernels] (any, per_step, persistent); op: lstm, gru
//   concat       <bytes | elements | rows, cols>, [pieces]; op: concat, split
//   transpose    rows, cols, [b]
//   optimizer    parameters, [tensors], [master_weights]; op: sgd, momentum, adagrad, adam, adamw, lamb, lars
//   copies       <bytes | elements | rows, cols>; op: copy (d2d), copy_h2d, copy_d2h, copy_d2d, copy_p2p
//   other ops    by the name of their kind, with the columns of their fields
//
// A size that has no column of its own may be in `extra` as NAME=VALUE;... as in the files of op_bench, whose attention
// (heads x length rows, length columns), interaction (one kernel) and optimizers (rows: tensors, cols: parameters of
// each) are read as well. layer_norm, batch_norm, rms_norm, flash_attn, sdpa, cat, memcpy_h2d, ... are other spellings
// of the same ops.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "opmodels/csv/op_columns.hpp"
#include "opmodels/measured/timing_convention.hpp"
#include "sim/graph/op.hpp"

namespace distsim::opmodels {

struct OpRow {
  std::vector<graph::Op> ops;  ///< in one row's time: both gradients of a product are two
  HostCall call = HostCall::pointwise;
  double calls = 1;  ///< framework calls
  Timing timing = Timing::kernel;
  bool warm = false;    ///< operands found in L2 (timing_convention.hpp)
  bool steady = false;  ///< no timing: as in a long run, at the clock that power allows
  std::uint64_t named =
      0;               ///< hash of what the row calls its kernel: op, pass, type and layout. Ops may be equal without
  std::string unread;  ///< "heads, causal: no effect on rows of linear": sizes that the row has and the op does not
};

/// Every op that op_from_row knows, without its other spellings.
std::vector<std::string> row_op_names();

/// Errors: an op that is not known here (with the nearest spelling), a dtype, timing or pass that is not known or that
/// the op does not have, missing, unreadable or doubly given sizes.
Result<OpRow> op_from_row(const OpColumns& columns, const std::vector<std::string>& fields);

}  // namespace distsim::opmodels
