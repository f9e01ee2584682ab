// Op: the shapes of what a GPU, a link or a host does. Shapes and bytes, no times.
//
// Conventions. A matrix product is C[b,m,n] = A[b,m,k] * B[b,k,n]. `pass` says which kernel of a layer is meant; the
// shape is always that of the forward pass, except for Gemm, whose gradients are given as the products they are. Sizes
// are in elements unless the name says bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"

namespace distsim::graph {

enum class DType : std::uint8_t { fp64, fp32, tf32, fp16, bf16, fp8, int64, int32, int8 };

/// Bytes of one element in memory (tf32 is stored as fp32).
std::int64_t size_of(DType dtype);
std::string_view name_of(DType dtype);
Result<DType> parse_dtype(std::string_view name);

enum class Pass : std::uint8_t { forward, backward, backward_data, backward_weight, update };
std::string_view name_of(Pass pass);

/// Dense matrix product. transposed operands do not change the cost model's class, only its features.
struct Gemm {
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  DType dtype = DType::fp32;
  Pass pass = Pass::forward;
  bool fused_epilogue = false;  ///< bias/activation in the same kernel
};

/// 2-d convolution, input N x C x H x W, K filters of R x S; output spatial size follows from stride, pad and dilation.
struct Conv2d {
  std::int64_t n = 0, c = 0, h = 0, w = 0, k = 0, r = 1, s = 1;
  std::int64_t stride = 1, pad = 0, dilation = 1, groups = 1;
  DType dtype = DType::fp32;
  bool channels_last = true;
  Pass pass = Pass::forward;  ///< forward, backward_data or backward_weight
  std::int64_t out_h() const { return (h + 2 * pad - dilation * (r - 1) - 1) / stride + 1; }
  std::int64_t out_w() const { return (w + 2 * pad - dilation * (s - 1) - 1) / stride + 1; }
};

/// One embedding table, or the slice of it that a rank holds.
struct EmbeddingTable {
  std::int64_t rows = 0;
  std::int64_t dim = 0;
  double pooling_factor = 1;  ///< mean indices per sample that fall into this slice (below 1 for a row-wise slice)
  double alpha = 0;           ///< exponent of the power law of index popularity; 0 is uniform
};

enum class EmbeddingOptimizer : std::uint8_t { none, sgd, rowwise_adagrad, adagrad, adam };

/// How the sparse backward is carried out: `fused` (table-batched kernel with the optimizer in it), `sort_dedup` (sort
/// the indices, sum duplicates, scatter; the TensorFlow way), `atomic` (scatter-add with atomics, the one-hot HugeCTR
/// way).
enum class SparseUpdate : std::uint8_t { fused, sort_dedup, atomic };

/// Pooled lookups of `batch` samples in every table, in one (table-batched) or several kernels.
struct EmbeddingBag {
  std::vector<EmbeddingTable> tables;
  std::int64_t batch = 0;
  DType weights = DType::fp32;
  DType output = DType::fp32;
  DType index = DType::int64;
  Pass pass = Pass::forward;  ///< forward, or backward (which includes the optimizer's update)
  EmbeddingOptimizer optimizer = EmbeddingOptimizer::sgd;
  SparseUpdate update = SparseUpdate::fused;
  bool table_batched = true;  ///< one kernel for all tables; else one per table
};

/// DLRM's dot interaction: batched product of `features` vectors of length `dim` with themselves, lower triangle,
/// concat with the dense vector.
struct Interaction {
  std::int64_t batch = 0, features = 0, dim = 0;
  DType dtype = DType::fp32;
  bool fused = false;  ///< one kernel; else bmm + index + concat
  Pass pass = Pass::forward;
};

/// One DCN-v2 low-rank cross layer: x0 * (V(Ux) + b) + x, width `width`, rank `rank` (rank = 0: full width x width
/// matrix).
struct CrossLayer {
  std::int64_t batch = 0, width = 0, rank = 0;
  DType dtype = DType::fp32;
  Pass pass = Pass::forward;
};

enum class NormKind : std::uint8_t { layer, batch, rms };
/// Normalisation of rows x cols elements: layer norm over cols; batch norm with rows = N*H*W, cols = channels.
struct Normalization {
  NormKind kind = NormKind::layer;
  std::int64_t rows = 0, cols = 0;
  DType dtype = DType::fp32;
  Pass pass = Pass::forward;
  bool fused_activation = false;
};

struct Softmax {
  std::int64_t rows = 0, cols = 0;
  DType dtype = DType::fp32;
  Pass pass = Pass::forward;
};

/// Scaled dot-product attention, all heads: QK^T, softmax, (dropout,) PV.
struct Attention {
  std::int64_t batch = 0, heads = 0, q_len = 0, kv_len = 0, head_dim = 0;
  bool causal = false;
  bool flash = false;  ///< one kernel that never writes the scores; else bmm + softmax + bmm
  bool dropout = false;
  DType dtype = DType::fp32;
  Pass pass = Pass::forward;
};

/// A kernel that streams tensors: `reads` + `writes` tensors of `elements` each, `flops` operations an element. Also
/// dropout, activation, bias, cast, pooling.
struct Elementwise {
  std::int64_t elements = 0;
  double reads = 1, writes = 1;
  double flops = 1;
  DType dtype = DType::fp32;
};

enum class LossKind : std::uint8_t { binary_cross_entropy, cross_entropy, mean_squared_error };
struct Loss {
  LossKind kind = LossKind::cross_entropy;
  std::int64_t rows = 0, classes = 1;
  DType dtype = DType::fp32;
  Pass pass = Pass::forward;
};

enum class CopyKind : std::uint8_t { h2d, d2h, d2d, p2p };
struct Copy {
  CopyKind kind = CopyKind::d2d;
  std::int64_t bytes = 0;
};

/// Concatenate or split: moves `bytes` once (read and write) from or to `pieces` tensors.
struct Concat {
  std::int64_t bytes = 0;
  std::int64_t pieces = 2;
};

struct Transpose {
  std::int64_t rows = 0, cols = 0, batch = 1;
  DType dtype = DType::fp32;
};

enum class OptimizerKind : std::uint8_t { sgd, momentum, adagrad, adam, lamb, lars };
/// Dense optimizer update of `parameters` in `tensors` tensors, multi-tensor kernels.
struct Optimizer {
  OptimizerKind kind = OptimizerKind::sgd;
  std::int64_t parameters = 0;
  std::int64_t tensors = 1;
  DType gradient = DType::fp32;
  bool master_weights = false;  ///< fp32 master copy beside 16-bit weights
};

/// Work on the host thread alone (input pipeline, Python between steps). No kernel.
struct HostWork {
  Duration duration;
};

/// A kernel whose time is known, as from a trace.
struct Measured {
  Duration duration;
};

/// Nothing: this rank has no part in the task (a rank without tables).
struct Absent {};

enum class CollectiveKind : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  all_to_all_v,
  broadcast,
  reduce,
  gather,
  scatter,
  send_recv,
  barrier
};
std::string_view name_of(CollectiveKind kind);
Result<CollectiveKind> parse_collective(std::string_view name);  ///< also "alltoall", "all-reduce", "sendrecv", ...
/// busbw = algbw x factor, as nccl-tests defines it. algbw = bytes / time.
double busbw_factor(CollectiveKind kind, std::uint32_t ranks);

/// One collective over one group. `bytes` is the size column of nccl-tests: all_reduce, broadcast, reduce: the buffer;
/// all_gather: the receive buffer (total); reduce_scatter: the send buffer (total); all_to_all: the send buffer of one
/// rank; send_recv: bytes sent by a rank. all_to_all_v: `bytes` is the largest send buffer, and send/recv hold the
/// bytes that each group position exchanges with the others in total (its own share excluded); empty vectors mean
/// uniform.
struct Collective {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::int64_t bytes = 0;
  DType dtype = DType::fp32;
  std::vector<std::int64_t> send_bytes, recv_bytes;
};

using Op = std::variant<Absent, Gemm, Conv2d, EmbeddingBag, Interaction, CrossLayer, Normalization, Softmax, Attention,
                        Elementwise, Loss, Copy, Concat, Transpose, Optimizer, HostWork, Measured, Collective>;

/// "gemm", "conv2d", "embedding_bag", ... the word used in reports, CSV files and `distsim list ops`.
std::string_view kind_of(const Op& op);
/// One line for people: "gemm 2048x1024x480 fp16".
std::string describe(const Op& op);
/// Whether a rank works it out by itself: no collective, no copy, not absent.
bool is_computation(const Op& op);
/// Useful floating-point operations (a multiply-add counts 2), for TFLOP/s and MFU; 0 for copies and collectives.
double flops_of(const Op& op);

}  // namespace distsim::graph
