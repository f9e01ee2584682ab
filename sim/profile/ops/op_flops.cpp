#include "sim/profile/ops/op_flops.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "sim/profile/ops/attention_flops.hpp"
#include "sim/profile/ops/elementwise_traffic.hpp"
#include "traces/build/collective_text.hpp"

namespace distsim::profile {
namespace {

using Dims = std::vector<std::int64_t>;

double count(const Dims& d) {
  double n = 1;
  for (const std::int64_t v : d) n *= static_cast<double>(v);
  return n;
}

/// The shape of tensor `i`, if it has `rank` dimensions, none of them 0 or less.
const Dims* tensor(const traces::OpInputs& in, std::size_t i, std::size_t rank) {
  if (i >= in.tensors.size() || in.tensors[i].dims.size() != rank) return nullptr;
  const Dims& d = in.tensors[i].dims;
  return std::ranges::all_of(d, [](std::int64_t v) { return v > 0; }) ? &d : nullptr;
}

OpWork product(double batch, double m, double k, double n, double element) {
  return {2 * batch * m * k * n, element * batch * (m * k + k * n + m * n), 0};
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

/// Places of a convolution's arguments behind x and w; transposed 0: ops that are so by their name, or never.
struct ConvolutionForm {
  std::string_view name;
  std::size_t stride = 3, padding = 4, dilation = 5, transposed = 0;
  bool always_transposed = false;
};

constexpr std::array<ConvolutionForm, 14> kConvolutions{{
    {"conv1d"},
    {"conv2d"},
    {"conv3d"},
    {"convolution", 3, 4, 5, 6},
    {"_convolution", 3, 4, 5, 6},
    {"cudnn_convolution", 3, 2, 4},
    {"cudnn_convolution_relu"},
    {"cudnn_convolution_add_relu", 5, 6, 7},
    {"miopen_convolution", 4, 3, 5},
    {"conv_transpose1d", 3, 4, 7, 0, true},
    {"conv_transpose2d", 3, 4, 7, 0, true},
    {"conv_transpose3d", 3, 4, 7, 0, true},
    {"cudnn_convolution_transpose", 4, 2, 5, 0, true},
    {"miopen_convolution_transpose", 5, 3, 6, 0, true},
}};

bool flag_at(const traces::OpInputs& in, std::size_t i) { return i < in.values.size() && in.values[i] == "True"; }

/// Each element of `moved` (the result; of a transposed convolution x) meets each tap of w[K, C/groups, kernel...].
double products_with_taps(const traces::TensorShape& moved, const traces::TensorShape& weight) {
  if (weight.dims.size() < 3 || moved.dims.size() != weight.dims.size()) return 0;
  return 2 * count(moved.dims) * count(weight.dims) / static_cast<double>(std::max<std::int64_t>(1, weight.dims[0]));
}

OpWork convolution(const traces::OpInputs& in, const ConvolutionForm& form) {
  if (in.tensors.size() < 2) return {};
  const auto stride = list_value(in, form.stride), padding = list_value(in, form.padding),
             dilation = list_value(in, form.dilation);
  const traces::TensorShape &x = in.tensors[0], &weight = in.tensors[1];
  OpWork work;
  if (form.always_transposed || (form.transposed > 0 && flag_at(in, form.transposed)))
    work.flops = products_with_taps(x, weight);
  else if (!in.outputs.empty() && in.outputs[0].dims.size() == x.dims.size())
    work.flops = products_with_taps(in.outputs[0], weight);
  else if (stride && padding && dilation)
    work.flops = convolution_flops(x.dims, weight.dims, *stride, *padding, *dilation);
  return work;
}

/// dy, x, w, bias sizes, stride, padding, dilation, transposed, output padding, groups, output mask: which of the gradients
/// of x, w and bias are asked for. The first two take as much as the forward pass each.
OpWork convolution_backward(const traces::OpInputs& in) {
  constexpr std::size_t kTransposed = 7, kMask = 10;
  if (in.tensors.size() < 3) return {};
  double gradients = 2;
  if (in.values.size() > kMask && !in.values[kMask].empty()) {
    const std::string& mask = in.values[kMask];  // "[True, True, False]"
    const std::size_t second = mask.find(',');
    if (second != std::string::npos)
      gradients = (mask.substr(0, second).find("True") != std::string::npos ? 1 : 0) +
                  (mask.substr(second, mask.find(',', second + 1) - second).find("True") != std::string::npos ? 1 : 0);
  }
  return {gradients * products_with_taps(in.tensors[flag_at(in, kTransposed) ? 1 : 0], in.tensors[2]), 0, 0};
}

}  // namespace

double element_bytes(const traces::TensorShape& t) {
  const auto dtype = traces::dtype_of_text(t.type);
  return dtype ? static_cast<double>(graph::size_of(*dtype)) : 0;
}

OpWork op_work(std::string_view name, const traces::OpInputs& in) {
  if (const auto flops = attention_flops(name, in)) return {*flops, 0, 0};
  if (!name.starts_with("aten::")) return {};
  name.remove_prefix(6);
  if (name == "mm") return matrix_product(in, 0);
  if (name == "addmm" || name == "_addmm_activation") return matrix_product(in, 1);
  if (name == "bmm") return batched_product(in, 0);
  if (name == "baddbmm") return batched_product(in, 1);
  if (name == "linear") return linear(in);
  if (name == "matmul") return tensor(in, 0, 2) != nullptr ? matrix_product(in, 0) : batched_product(in, 0);
  if (const auto* form = std::ranges::find(kConvolutions, name, &ConvolutionForm::name); form != kConvolutions.end())
    return convolution(in, *form);
  if (name == "convolution_backward") return convolution_backward(in);
  return elementwise_traffic(name, in);
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
