// One op at one shape, and its CSV columns. Columns are those of the op tables that distsim reads:
//   gemm                     C[b,m,n] = A[b,m,k] x B[b,k,n]; layout names how A and B lie in memory, N row-major, T
//   transposed (linear is NT) elementwise_norm_softmax rows x cols elements; copies are 1 x bytes of int8 conv2d n x c
//   x h x w images, k filters of r x s embedding                `tables` tables of rows_total / tables rows each,
//   `batch` bags in every table, nnz indices in all
//   recurrent                one layer over `batch` sequences of `length` steps, from `input` to `hidden` units
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace distsim::bench {

struct GemmShape {
  std::int64_t b = 1, m = 0, n = 0, k = 0;
  std::string layout = "NT";
};

struct VectorShape {
  std::int64_t rows = 0, cols = 0;
  std::string extra;  ///< what rows and cols do not say: "features=27;dim=128"
};

/// Square images, filters, strides and paddings; `layout` is that of images and filters in memory, nhwc or nchw.
struct ConvShape {
  std::int64_t n = 1, c = 0, hw = 0, k = 0, rs = 1, stride = 1, pad = 0, groups = 1;
  std::string layout = "nhwc";
  std::int64_t out_hw() const { return (hw + 2 * pad - rs) / stride + 1; }
};

struct EmbeddingShape {
  std::int64_t tables = 1, batch = 0, pooling = 1, rows_per_table = 0, dim = 0;
  double alpha = 0;  ///< popularity of row i is proportional to (i + 1)^-alpha; 0 is uniform
};

/// One layer of LSTM or GRU; `kernels` is per_step or persistent.
struct RecurrentShape {
  std::int64_t batch = 0, length = 0, input = 0, hidden = 0, directions = 1;
  std::string kernels = "per_step";
  /// Products of a step, for "lstm" and "gru".
  static std::int64_t gates(const std::string& op) { return op == "lstm" ? 4 : 3; }
  std::int64_t weights(const std::string& op) const { return directions * gates(op) * hidden * (input + hidden + 2); }
};

struct OpCase {
  std::string op;     ///< "linear", "bmm", "conv2d", "add", "layernorm", "copy_h2d", "embedding_bag", ...
  std::string pass;   ///< "fwd", "bwd_data", "bwd_weight", "bwd+sgd", "update"
  std::string dtype;  ///< "fp32", "tf32", "fp16", "bf16", "fp8", "int8"
  std::variant<GemmShape, VectorShape, EmbeddingShape, ConvShape, RecurrentShape> shape;
};

/// "gemm", "conv2d", "elementwise_norm_softmax", "embedding" or "recurrent": which file the row goes to.
std::string family_of(const OpCase& op_case);

/// Bytes of one element; tf32 is stored as fp32.
std::int64_t dtype_bytes(const std::string& dtype);

/// Device memory that the operands take, and the useful floating-point operations (0 for copies).
double operand_bytes(const OpCase& op_case);
double flops(const OpCase& op_case);

/// "...;name=12;..." -> 12.
std::optional<std::int64_t> extra_number(const std::string& extra, const std::string& name);

/// Attention as a framework without a fused kernel does it, one kernel a step. Forward: scores Q x K^T, softmax, values
/// P x V. Backward, from dO: dV = P^T x dO, dP = dO x V^T, the softmax's gradient dS, dQ = dS x K, dK = dS^T x Q.
std::vector<OpCase> attention_steps(const OpCase& attention);

/// The GPU that copies between GPUs go to, from GPU `device` of `devices`, two or more: the next one.
int peer_of(int device, int devices);

/// One line for people: "linear fwd bf16 1x4096x1024x1024 NT".
std::string describe(const OpCase& op_case);

/// Names of the columns that identify a row, in file order, and this case's values. `gpu` and `timing` complete them
/// (see result_file.hpp).
std::vector<std::string> shape_columns(const std::string& family);
std::vector<std::string> shape_values(const OpCase& op_case);
/// The `extra` column: what the shape columns cannot say ("pooling=32;alpha=1.05"). Empty where there is nothing.
std::string extra_value(const OpCase& op_case);

}  // namespace distsim::bench
