#include "sim/replay/whatif/kernel_kind.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

namespace distsim::replay {
namespace {

bool contains_any(std::string_view text, std::span<const std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view w) { return text.find(w) != std::string_view::npos; });
}

constexpr std::array<std::string_view, 23> kMatrixWords{
    "gemm",       "Gemm",      "GEMM",      "cutlass",  "conv2d",           "convolve",   "Convolution",
    "scudnn",     "wgrad",     "dgrad",     "winograd", "Winograd",         "Cijk_",      "xmma",
    "cublas",     "flash_fwd", "flash_bwd", "fmha",     "attention_kernel", "conv_fprop", "igemm",
    "cudnn_conv", "_conv_"};
// Kernels of those libraries that only move data.
constexpr std::array<std::string_view, 5> kNotMatrixWords{"splitKreduce", "nchwToNhwc", "nhwcToNchw", "elementwise",
                                                          "Transpose"};

constexpr std::array<std::string_view, 3> kBf16{"bf16", "BFloat16", "bfloat16"};
constexpr std::array<std::string_view, 8> kFp16{"f16", "fp16", "half", "Half", "hgemm", "h884", "h1688", "h16816"};
constexpr std::array<std::string_view, 4> kTf32{"tf32", "s1688gemm", "tensorop_s", "_s1688"};
constexpr std::array<std::string_view, 3> kFp64{"f64", "dgemm", "double"};
constexpr std::array<std::string_view, 3> kInt8{"i8", "int8", "s8"};

using Dims = std::vector<std::int64_t>;

const Dims* dims_of(const traces::OpInputs& in, std::size_t i, std::size_t rank) {
  return i < in.tensors.size() && in.tensors[i].dims.size() == rank ? &in.tensors[i].dims : nullptr;
}

std::optional<graph::Op> product(const traces::OpInputs& in, std::size_t a_at, graph::DType dtype) {
  const Dims *a = dims_of(in, a_at, 2), *b = dims_of(in, a_at + 1, 2);
  if (!a || !b || (*a)[1] != (*b)[0]) return std::nullopt;
  graph::Gemm g;
  g.m = (*a)[0];
  g.k = (*a)[1];
  g.n = (*b)[1];
  g.dtype = dtype;
  return g;
}

std::optional<graph::Op> batched_product(const traces::OpInputs& in, std::size_t a_at, graph::DType dtype) {
  const Dims *a = dims_of(in, a_at, 3), *b = dims_of(in, a_at + 1, 3);
  if (!a || !b || (*a)[0] != (*b)[0] || (*a)[2] != (*b)[1]) return std::nullopt;
  graph::Gemm g;
  g.batch = (*a)[0];
  g.m = (*a)[1];
  g.k = (*a)[2];
  g.n = (*b)[2];
  g.dtype = dtype;
  return g;
}

/// aten::linear: x[..., k] and w[n, k].
std::optional<graph::Op> linear(const traces::OpInputs& in, graph::DType dtype) {
  const Dims* w = dims_of(in, 1, 2);
  if (!w || in.tensors[0].dims.empty() || in.tensors[0].dims.back() != (*w)[1]) return std::nullopt;
  graph::Gemm g;
  g.m = 1;
  for (std::size_t i = 0; i + 1 < in.tensors[0].dims.size(); ++i) g.m *= in.tensors[0].dims[i];
  g.k = (*w)[1];
  g.n = (*w)[0];
  g.dtype = dtype;
  return g;
}

/// The first number of a list as recorded, "[2, 2]" or "[[2, 2], ...]".
std::optional<std::int64_t> first_number(std::string_view text) {
  const std::size_t at = text.find_first_of("0123456789");
  std::int64_t value = 0;
  if (at == std::string_view::npos ||
      std::from_chars(text.data() + at, text.data() + text.size(), value).ec != std::errc())
    return std::nullopt;
  return value;
}

/// Inputs x[n,c,h,w] and w[k,c/groups,r,s]; stride, pad and dilation from the recorded values `first`, `first + 1`,
/// `first + 2` where there are any.
std::optional<graph::Op> convolution(const traces::OpInputs& in, std::size_t x_at, std::size_t first, graph::Pass pass,
                                     graph::DType dtype) {
  const Dims *x = dims_of(in, x_at, 4), *w = dims_of(in, x_at + 1, 4);
  if (!x || !w || (*w)[1] <= 0 || (*x)[1] % (*w)[1] != 0) return std::nullopt;
  graph::Conv2d c;
  c.n = (*x)[0];
  c.c = (*x)[1];
  c.h = (*x)[2];
  c.w = (*x)[3];
  c.k = (*w)[0];
  c.r = (*w)[2];
  c.s = (*w)[3];
  c.groups = c.c / (*w)[1];
  c.pad = c.r / 2;  // the usual one, where none was recorded
  c.pass = pass;
  c.dtype = dtype;
  if (in.values.size() > first + 2) {
    c.stride = first_number(in.values[first]).value_or(1);
    c.pad = first_number(in.values[first + 1]).value_or(c.pad);
    c.dilation = first_number(in.values[first + 2]).value_or(1);
  }
  if (c.stride <= 0 || c.out_h() <= 0 || c.out_w() <= 0) return std::nullopt;
  return c;
}

std::optional<graph::Op> op_of_call(std::string_view call, std::string_view kernel, const traces::OpInputs& in) {
  const graph::DType dtype = matrix_dtype(kernel);
  if (call == "aten::mm") return product(in, 0, dtype);
  if (call == "aten::addmm") return product(in, 1, dtype);
  if (call == "aten::bmm") return batched_product(in, 0, dtype);
  if (call == "aten::baddbmm") return batched_product(in, 1, dtype);
  if (call == "aten::linear") return linear(in, dtype);
  if (call == "aten::convolution_backward") {
    const bool weight =
        kernel.find("wgrad") != std::string_view::npos || kernel.find("bwd_weight") != std::string_view::npos;
    return convolution(in, 1, 4, weight ? graph::Pass::backward_weight : graph::Pass::backward_data, dtype);
  }
  if (call == "aten::cudnn_convolution" || call == "aten::miopen_convolution" || call == "aten::_convolution" ||
      call == "aten::convolution") {
    return convolution(in, 0, 3, graph::Pass::forward, dtype);
  }
  return std::nullopt;
}

}  // namespace

std::string_view name_of(KernelKind kind) {
  constexpr std::array<std::string_view, 5> names{"matrix", "streaming", "host copy", "device copy", "communication"};
  return names[static_cast<std::size_t>(kind)];
}

KernelKind kernel_kind(const traces::DeviceRecord& record, std::string_view name) {
  if (record.communication || record.collective != traces::kNone) return KernelKind::communication;
  if (record.kind == traces::DeviceRecordKind::memcpy) {
    const bool host = record.direction == traces::CopyDirection::host_to_device ||
                      record.direction == traces::CopyDirection::device_to_host;
    return host ? KernelKind::host_copy : KernelKind::device_copy;
  }
  if (record.kind == traces::DeviceRecordKind::memset) return KernelKind::device_copy;
  return contains_any(name, kMatrixWords) && !contains_any(name, kNotMatrixWords) ? KernelKind::matrix
                                                                                  : KernelKind::streaming;
}

graph::DType matrix_dtype(std::string_view name) {
  if (contains_any(name, kBf16)) return graph::DType::bf16;
  if (contains_any(name, kFp16)) return graph::DType::fp16;
  if (contains_any(name, kTf32)) return graph::DType::tf32;
  if (contains_any(name, kFp64)) return graph::DType::fp64;
  if (contains_any(name, kInt8)) return graph::DType::int8;
  return graph::DType::fp32;
}

std::optional<graph::Op> matrix_op(const traces::TraceJob& job, const traces::TraceRank& rank,
                                   const traces::DeviceRecord& record) {
  if (kernel_kind(record, job.name(record.name)) != KernelKind::matrix) return std::nullopt;
  constexpr int kDeepest = 4;  // cudnn_convolution within _convolution within convolution
  std::uint32_t host = record.op;
  for (int level = 0; level < kDeepest && host != traces::kNone; ++level, host = rank.host_records[host].parent) {
    const traces::HostRecord& h = rank.host_records[host];
    if (h.inputs == traces::kNone) continue;
    if (auto op = op_of_call(job.name(h.name), job.name(record.name), job.inputs[h.inputs])) return op;
  }
  return std::nullopt;
}

bool is_optimizer_work(const traces::TraceJob& job, const traces::TraceRank& rank, const traces::DeviceRecord& record) {
  constexpr std::array<std::string_view, 2> words{"ptimizer.step", "multi_tensor_apply"};
  if (contains_any(job.name(record.name), words)) return true;
  constexpr int kDeepest = 32;
  std::uint32_t host = record.op;
  for (int level = 0; level < kDeepest && host != traces::kNone; ++level, host = rank.host_records[host].parent) {
    if (contains_any(job.name(rank.host_records[host].name), words)) return true;
  }
  return false;
}

}  // namespace distsim::replay
