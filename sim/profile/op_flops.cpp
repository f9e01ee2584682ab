#include "sim/profile/op_flops.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "traces/build/collective_text.hpp"

namespace distsim::profile {
namespace {

using Dims = std::vector<std::int64_t>;

double count(const Dims& d) {
  double n = 1;
  for (const std::int64_t v : d) n *= static_cast<double>(v);
  return n;
}

double element_bytes(const traces::TensorShape& t) {
  const auto dtype = traces::dtype_of_text(t.type);
  return dtype ? static_cast<double>(graph::size_of(*dtype)) : 0;
}

/// The shape of tensor `i`, if it has `rank` dimensions, none of them 0 or less.
const Dims* tensor(const traces::OpInputs& in, std::size_t i, std::size_t rank) {
  if (i >= in.tensors.size() || in.tensors[i].dims.size() != rank) return nullptr;
  const Dims& d = in.tensors[i].dims;
  return std::ranges::all_of(d, [](std::int64_t v) { return v > 0; }) ? &d : nullptr;
}

OpWork product(double batch, double m, double k, double n, double element) {
  return {2 * batch * m * k * n, element * batch * (m * k + k * n + m * n)};
}

OpWork matrix_product(const traces::OpInputs& in, std::size_t first) {
  const Dims* a = tensor(in, first, 2);
  const Dims* b = tensor(in, first + 1, 2);
  if (a == nullptr || b == nullptr || (*a)[1] != (*b)[0]) return {};
  return product(1, static_cast<double>((*a)[0]), static_cast<double>((*a)[1]), static_cast<double>((*b)[1]),
                 element_bytes(in.tensors[first]));
}

OpWork batched_product(const traces::OpInputs& in, std::size_t first) {
  const Dims* a = tensor(in, first, 3);
  const Dims* b = tensor(in, first + 1, 3);
  if (a == nullptr || b == nullptr || (*a)[2] != (*b)[1] || (*a)[0] != (*b)[0]) return {};
  return product(static_cast<double>((*a)[0]), static_cast<double>((*a)[1]), static_cast<double>((*a)[2]),
                 static_cast<double>((*b)[2]), element_bytes(in.tensors[first]));
}

/// y[..., n] = x[..., k] w[n, k].
OpWork linear(const traces::OpInputs& in) {
  const Dims* w = tensor(in, 1, 2);
  if (w == nullptr || in.tensors[0].dims.empty() || in.tensors[0].dims.back() != (*w)[1]) return {};
  const double rows = count(in.tensors[0].dims) / static_cast<double>((*w)[1]);
  return product(1, rows, static_cast<double>((*w)[1]), static_cast<double>((*w)[0]), element_bytes(in.tensors[0]));
}

/// Argument `i` as a list of numbers ("[2, 2]").
std::optional<Dims> list_value(const traces::OpInputs& in, std::size_t i) {
  if (i >= in.values.size() || in.values[i].empty()) return std::nullopt;
  bool cut = false;
  Dims d = traces::integer_list(in.values[i], cut);
  return d.empty() || cut ? std::nullopt : std::optional<Dims>(d);
}

/// Forward flops of a convolution of x[N,C,spatial...] with w[K,C/groups,kernel...].
double convolution_flops(const Dims& x, const Dims& w, const Dims& stride, const Dims& padding, const Dims& dilation) {
  if (x.size() != w.size() || x.size() < 3) return 0;
  double out = static_cast<double>(x[0]) * static_cast<double>(w[0]), taps = static_cast<double>(w[1]);
  for (std::size_t i = 2; i < x.size(); ++i) {
    const auto at = [i](const Dims& d) {
      return static_cast<double>(d[std::min(i - 2, d.size() - 1)]);
    };  // as recorded: may be absurd
    if (at(stride) <= 0) return 0;
    const double reach =
        static_cast<double>(x[i]) + 2 * at(padding) - at(dilation) * (static_cast<double>(w[i]) - 1) - 1;
    const double size = std::floor(reach / at(stride)) + 1;
    if (size <= 0) return 0;
    out *= size;
    taps *= static_cast<double>(w[i]);
  }
  return 2 * out * taps;
}

OpWork convolution(const traces::OpInputs& in, std::size_t x, std::size_t first_list) {
  if (in.tensors.size() < x + 2) return {};
  const auto stride = list_value(in, first_list), padding = list_value(in, first_list + 1),
             dilation = list_value(in, first_list + 2);
  const traces::TensorShape &input = in.tensors[x], &weight = in.tensors[x + 1];
  OpWork work;
  if (!in.outputs.empty() && in.outputs[0].dims.size() == input.dims.size() && weight.dims.size() > 1) {
    work.flops = 2 * count(in.outputs[0].dims) * count(weight.dims) /
                 static_cast<double>(std::max<std::int64_t>(1, weight.dims[0]));
  } else if (stride && padding && dilation) {
    work.flops = convolution_flops(input.dims, weight.dims, *stride, *padding, *dilation);
  }
  return work;
}

/// dy, x, w, bias sizes, stride, padding, dilation, ...: each of the two gradients takes as much as the forward pass,
/// which dy's shape tells.
OpWork convolution_backward(const traces::OpInputs& in) {
  if (in.tensors.size() < 3 || in.tensors[2].dims.size() < 2) return {};
  const double taps = count(in.tensors[2].dims) / static_cast<double>(std::max<std::int64_t>(1, in.tensors[2].dims[0]));
  return {2 * 2 * count(in.tensors[0].dims) * taps, 0};
}

/// q, k, v as [batch, heads, length, head].
OpWork attention(const traces::OpInputs& in, std::size_t first, double factor) {
  const Dims *q = tensor(in, first, 4), *k = tensor(in, first + 1, 4);
  if (q == nullptr || k == nullptr) return {};
  return {factor * count(*q) * static_cast<double>((*k)[2]), 0};
}

constexpr std::array<std::string_view, 34> kElementwise{"add",
                                                        "add_",
                                                        "sub",
                                                        "sub_",
                                                        "mul",
                                                        "mul_",
                                                        "div",
                                                        "div_",
                                                        "relu",
                                                        "relu_",
                                                        "threshold_backward",
                                                        "copy_",
                                                        "fill_",
                                                        "zero_",
                                                        "gelu",
                                                        "silu",
                                                        "silu_",
                                                        "sigmoid",
                                                        "tanh",
                                                        "exp",
                                                        "sqrt",
                                                        "rsqrt",
                                                        "neg",
                                                        "pow",
                                                        "clamp",
                                                        "clamp_min",
                                                        "addcmul_",
                                                        "addcdiv_",
                                                        "lerp_",
                                                        "where",
                                                        "gelu_backward",
                                                        "sigmoid_backward",
                                                        "tanh_backward",
                                                        "cat"};

/// All inputs read, an output as large as the largest written; in place alike.
OpWork elementwise(const traces::OpInputs& in) {
  double bytes = 0, largest = 0;
  for (const traces::TensorShape& t : in.tensors) {
    if (t.dims.empty()) continue;
    const double b = count(t.dims) * element_bytes(t);
    bytes += b;
    largest = std::max(largest, b);
  }
  return {0, bytes + largest};
}

}  // namespace

OpWork op_work(std::string_view name, const traces::OpInputs& in) {
  if (!name.starts_with("aten::")) return {};
  name.remove_prefix(6);
  if (name == "mm") return matrix_product(in, 0);
  if (name == "addmm" || name == "_addmm_activation") return matrix_product(in, 1);
  if (name == "bmm") return batched_product(in, 0);
  if (name == "baddbmm") return batched_product(in, 1);
  if (name == "linear") return linear(in);
  if (name == "matmul") return tensor(in, 0, 2) != nullptr ? matrix_product(in, 0) : batched_product(in, 0);
  if (name == "conv2d" || name == "convolution" || name == "_convolution" || name == "cudnn_convolution" ||
      name == "miopen_convolution") {
    // cudnn_convolution: x, w, padding, stride, dilation, groups, ...; the others: x, w, bias, stride, padding,
    // dilation, ...
    if (name.find("cudnn") == std::string_view::npos && name.find("miopen") == std::string_view::npos)
      return convolution(in, 0, 3);
    traces::OpInputs swapped = in;
    const std::size_t pad = name == "miopen_convolution" ? 3 : 2;
    if (swapped.values.size() > pad + 1) std::swap(swapped.values[pad], swapped.values[pad + 1]);
    return convolution(swapped, 0, pad);
  }
  if (name == "convolution_backward") return convolution_backward(in);
  if (name.starts_with("_scaled_dot_product") || name.starts_with("_flash_attention") ||
      name == "scaled_dot_product_attention") {
    return name.find("backward") == std::string_view::npos ? attention(in, 0, 4) : attention(in, 1, 10);
  }
  if (std::ranges::find(kElementwise, name) != kElementwise.end()) return elementwise(in);
  return {};
}

std::string shapes_text(const traces::OpInputs& in) {
  std::string out, type;
  for (const traces::TensorShape& t : in.tensors) {
    if (t.dims.empty()) continue;
    if (out.size() > 120) return out + ", ...";
    out += out.empty() ? "" : ", ";
    for (std::size_t i = 0; i < t.dims.size(); ++i) out += (i > 0 ? "x" : "") + std::to_string(t.dims[i]);
    if (type.empty()) type = t.type;
  }
  return type.empty() || out.empty() ? out : out + " (" + type + ")";
}

}  // namespace distsim::profile
