#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text/quantity_text.hpp"
#include "sim/opgraph/makers.hpp"

namespace distsim::opgraph {
namespace {

/// One convolution between an image tensor, filters and results.
struct ConvolutionShape {
  Dims image, filters, result;
  std::int64_t stride = 1, pad = 0, dilation = 1;  ///< the largest of all sides
  std::int64_t least_stride = 1, least_pad = 0;
  bool transposed = false;  ///< the call makes the image
  /// Of the sides, as stated; twice as many pads are those before all sides and then those behind them, as ONNX has them.
  std::vector<std::int64_t> strides, pads, dilations;
};

constexpr std::int64_t kLargestSide = std::int64_t{1} << 31;  // products of two, and with a stride, fit into 64 bits

std::int64_t largest_of(const std::vector<std::int64_t>& values, std::int64_t otherwise) {
  return values.empty() ? otherwise : *std::ranges::max_element(values);
}

std::int64_t smallest_of(const std::vector<std::int64_t>& values, std::int64_t otherwise) {
  return values.empty() ? otherwise : *std::ranges::min_element(values);
}

/// The extent of the image that gives `result`.
std::int64_t extent_for(std::int64_t result, std::int64_t filter, const graph::Conv2d& op) {
  return (result - 1) * op.stride + op.dilation * (filter - 1) + 1 - 2 * op.pad;
}

/// Strides and paddings that differ between the sides, as those of 1-d convolutions do, which have no height: the op has one of
/// each. Of those that are stated, and of none and half of the padding, the ones whose image is closest to the size of the
/// real one; the results, and with them the operations, are the real ones with any of them.
void fit_sides(const ConvolutionShape& s, std::int64_t out_h, std::int64_t out_w, graph::Conv2d& op) {
  const double area = graph::real(op.h) * graph::real(op.w);
  const graph::Conv2d stated = op;
  double closest = std::numeric_limits<double>::infinity();
  for (const std::int64_t stride : {stated.stride, std::max<std::int64_t>(1, s.least_stride)}) {
    for (const std::int64_t pad :
         {stated.pad, std::max<std::int64_t>(0, s.least_pad), stated.pad / 2, std::int64_t{0}}) {
      graph::Conv2d tried = stated;
      tried.stride = stride, tried.pad = pad;
      tried.h = extent_for(out_h, tried.r, tried), tried.w = extent_for(out_w, tried.s, tried);
      if (tried.h < 1 || tried.w < 1) continue;
      const double away = std::abs(std::log(graph::real(tried.h) * graph::real(tried.w) / area));
      if (away < closest) closest = away, op = tried;
    }
  }
}

/// How the filters step over a side; nothing where that is not stated.
struct Steps {
  std::int64_t stride = 1, pads = 0, dilation = 1;  ///< pads of both ends
};
std::optional<Steps> steps_of(const ConvolutionShape& s, std::size_t side) {
  constexpr std::int64_t kMost = 1'000'000;
  const std::size_t sides = s.filters.size() - 2;
  const auto of_side = [&](const std::vector<std::int64_t>& list) -> std::optional<std::int64_t> {
    if (list.size() == sides) return list[side];
    return list.size() == 1 ? std::optional(list[0]) : std::nullopt;
  };
  const auto stride = of_side(s.strides), dilation = of_side(s.dilations);
  const bool both_ends = s.pads.size() == 2 * sides;
  const auto before = both_ends ? std::optional(s.pads[side]) : of_side(s.pads);
  const auto after = both_ends ? std::optional(s.pads[side + sides]) : before;
  if (!stride || !before || !after || !dilation || *stride < 1) return std::nullopt;
  if (std::max({*stride, *before, *after, *dilation}) > kMost) return std::nullopt;
  return Steps{*stride, *before + *after, *dilation};
}

/// What the filters leave of a side of the image, its pads among it, behind their first place.
std::int64_t room_of(const ConvolutionShape& s, const Steps& steps, std::size_t side) {
  return s.image[side + 2] + steps.pads - steps.dilation * (s.filters[side + 2] - 1) - 1;
}

/// Whether a result has the side that the stated steps give. A transposed convolution may make some more, its output padding.
bool side_agrees(const ConvolutionShape& s, std::size_t side) {
  const std::optional<Steps> steps = steps_of(s, side);
  if (!steps) return true;
  const std::int64_t room = room_of(s, *steps, side), result = s.result[side + 2];
  if (!s.transposed) return room >= 0 && room / steps->stride + 1 == result;
  const std::int64_t more = room - (result - 1) * steps->stride;
  return more >= 0 && more < std::max(steps->stride, steps->dilation);
}

bool channels_agree(const ConvolutionShape& s) {
  return s.image[0] == s.result[0] && s.filters[0] == s.result[1] && s.image[1] % s.filters[1] == 0 &&
         s.filters[0] % (s.image[1] / s.filters[1]) == 0;
}

/// Whether the tensors are those of one convolution: channels by groups, and results of the sides as the stated steps give them.
bool agree(const ConvolutionShape& s) {
  bool all = channels_agree(s);
  for (std::size_t side = 0; all && side + 2 < s.filters.size(); ++side) all = side_agrees(s, side);
  return all;
}

/// Lengths of 1-d are widths; the depth of 3-d goes into images and channels, so that products and bytes stay.
std::optional<graph::Conv2d> conv_of(const ConvolutionShape& s) {
  const std::size_t rank = s.filters.size();
  if (rank < 3 || rank > 5 || s.image.size() != rank || s.result.size() != rank) return std::nullopt;
  for (const Dims* dims : {&s.image, &s.filters, &s.result}) {
    if (*std::ranges::min_element(*dims) <= 0 || *std::ranges::max_element(*dims) > kLargestSide) return std::nullopt;
  }
  if (!agree(s)) return std::nullopt;
  graph::Conv2d op;
  op.stride = std::max<std::int64_t>(1, s.stride), op.pad = std::max<std::int64_t>(0, s.pad);
  op.dilation = std::max<std::int64_t>(1, s.dilation);
  const std::int64_t depth = rank == 5 ? s.filters[2] : 1, deep_results = rank == 5 ? s.result[2] : 1;
  const auto height = [&](const Dims& d) { return rank == 3 ? 1 : d[rank - 2]; };
  op.n = s.image[0] * deep_results;
  op.c = s.image[1] * depth, op.k = s.result[1];
  op.groups = std::max<std::int64_t>(1, s.image[1] / s.filters[1]);
  op.h = height(s.image), op.w = s.image.back();
  op.r = height(s.filters), op.s = s.filters.back();
  constexpr auto kMost = static_cast<std::int64_t>(graph::Conv2d::kMostExtent);
  if (std::max({op.r, op.s, op.stride, op.pad, op.dilation}) > kMost) return std::nullopt;
  if (op.out_h() != height(s.result) || op.out_w() != s.result.back())
    fit_sides(s, height(s.result), s.result.back(), op);
  return op;
}

/// Where the arguments of a variant stand.
struct ConvolutionPlaces {
  std::size_t stride, pad, dilation, transposed;
  bool adds_bias = false;  ///< in a kernel of its own; of the others the bias is a call of its own
  std::size_t groups = 99;
};
constexpr std::size_t kNowhere = 99;

ConvolutionPlaces places_of(std::string_view op) {
  if (op.find("cudnn_convolution_transpose") != op.npos) return {4, 2, 5, kNowhere};
  if (op.find("cudnn_convolution_relu") != op.npos) return {3, 4, 5, kNowhere};
  if (op.find("cudnn_convolution_add_relu") != op.npos) return {5, 6, 7, kNowhere};
  if (op.find("cudnn_convolution") != op.npos) return {3, 2, 4, kNowhere};
  if (op.find("miopen_convolution") != op.npos || op.find("miopen_depthwise") != op.npos) return {4, 3, 5, kNowhere};
  if (op.find("depthwise") != op.npos || op.find("slow_conv") != op.npos) return {4, 5, 6, kNowhere};
  if (op.find("conv_transpose") != op.npos) return {3, 4, 7, kNowhere, true, 6};
  if (op.find("conv1d") != op.npos || op.find("conv2d") != op.npos || op.find("conv3d") != op.npos)
    return {3, 4, 5, kNowhere, true, 6};
  return {3, 4, 5, 6, true, 8};
}

void set_sides(const Call& call, std::size_t stride, std::size_t pad, std::size_t dilation, ConvolutionShape& s) {
  s.stride = largest_of(call.list_at(stride), 1), s.least_stride = smallest_of(call.list_at(stride), 1);
  s.pad = largest_of(call.list_at(pad), 0), s.least_pad = smallest_of(call.list_at(pad), 0);
  s.dilation = largest_of(call.list_at(dilation), 1);
  s.strides = call.list_at(stride), s.pads = call.list_at(pad), s.dilations = call.list_at(dilation);
}

bool is_transposed(const Call& call, std::size_t place) {
  return call.number_at(place, 0) != 0 || call.node().op.find("transpose") != std::string::npos;
}

/// Steps, pads and groups that no convolution has, or not one of such tensors.
std::string contradicting_steps(const ConvolutionShape& s, double groups) {
  const std::int64_t own = s.image[1] / s.filters[1];
  if (groups != static_cast<double>(own))
    return "found " + format_quantity(groups, Dimension::none) + " groups, expected " + std::to_string(own) +
           ", which the channels of image and filters make";
  const auto below = [](const char* what, const std::vector<std::int64_t>& list, std::int64_t least) -> std::string {
    if (smallest_of(list, least) >= least) return "";
    return std::string("found a ") + what + " of " + std::to_string(smallest_of(list, least)) + ", expected " +
           std::to_string(least) + " or more";
  };
  for (const std::string& why :
       {below("stride", s.strides, 1), below("padding", s.pads, 0), below("dilation", s.dilations, 1)}) {
    if (!why.empty()) return why;
  }
  return "";
}

/// "8x128x56x56": what the steps make of the sides of the argument.
Dims stepped(const ConvolutionShape& s, const std::vector<std::int64_t>& added) {
  Dims made = s.transposed ? s.image : s.result;
  for (std::size_t side = 0; side + 2 < s.filters.size(); ++side) {
    const std::optional<Steps> steps = steps_of(s, side);
    if (!steps) continue;
    const std::int64_t room = room_of(s, *steps, side);
    if (!s.transposed) {
      made[side + 2] = room < 0 ? 0 : room / steps->stride + 1;
    } else if (side_agrees(s, side) && added.size() + 2 != s.filters.size()) {
      continue;
    } else {
      const std::int64_t more = added.size() + 2 == s.filters.size() ? added[side] : 0;
      made[side + 2] += more - (room - (s.result[side + 2] - 1) * steps->stride);
    }
  }
  return made;
}

graph::Op with_pass(graph::Conv2d op, graph::Pass pass) {
  op.pass = pass;
  return op;
}

Ops backward_of(const Call& call, std::size_t gradient, std::size_t image, std::size_t places, std::size_t mask,
                bool transposed) {
  if (!call.has(2)) return std::nullopt;
  ConvolutionShape s;
  s.result = call.in(gradient), s.image = call.in(image), s.filters = call.in(2);
  if (transposed) std::swap(s.result, s.image);
  s.transposed = transposed;
  set_sides(call, places, places + 1, places + 2, s);
  auto op = conv_of(s);
  if (!op) return std::nullopt;
  op->dtype = call.type(gradient);
  op->channels_last = call.sizes().graph().tensors[call.inputs()[image]].channels_last;
  const std::vector<std::int64_t> wanted = call.list_at(mask);
  std::vector<graph::Op> out;
  if (wanted.empty() || wanted[0] != 0)
    out.push_back(with_pass(*op, transposed ? graph::Pass::forward : graph::Pass::backward_data));
  if (wanted.size() < 2 || wanted[1] != 0) out.push_back(with_pass(*op, graph::Pass::backward_weight));
  if (wanted.size() > 2 && wanted[2] != 0)
    out.push_back(graph::Elementwise{count(product(call.in(gradient))), 1, 0, 1, op->dtype});
  return out;
}

}  // namespace

/// Batch, channels and filters of convolution(image, filters, ...) or of convolution_backward(gradient, image, filters, ...), and
/// how the filters step.
std::string contradiction_of_convolution(const Call& call) {
  const bool backward = call.node().op.find("backward") != std::string::npos;
  if (!call.has(backward ? 2 : 1) || (!backward && call.outputs().empty())) return "";
  const ConvolutionPlaces at = backward ? ConvolutionPlaces{4, 5, 6, 7, false, 9} : places_of(call.node().op);
  const std::size_t added = at.transposed != kNowhere ? at.transposed + 1 : 5;  // of transposed ones
  ConvolutionShape s;
  s.image = call.in(backward ? 1 : 0), s.filters = call.in(backward ? 2 : 1);
  s.result = backward ? call.in(0) : call.out();
  const std::string found = "found an image of " + text_of(s.image) + ", filters of " + text_of(s.filters) + " and a " +
                            (backward ? "gradient" : "result") + " of " + text_of(s.result);
  s.transposed = is_transposed(call, at.transposed);
  if (s.transposed) std::swap(s.image, s.result);
  const std::size_t rank = s.filters.size();
  if (rank < 3 || s.image.size() != rank || s.result.size() != rank) return "";
  for (const Dims* dims : {&s.image, &s.filters, &s.result})
    if (*std::ranges::min_element(*dims) <= 0) return "";
  if (!channels_agree(s)) return found + ", expected the same batch, and channels that agree";
  for (const Dims* dims : {&s.image, &s.filters, &s.result})
    if (*std::ranges::max_element(*dims) > kLargestSide) return "";
  set_sides(call, at.stride, at.pad, at.dilation, s);
  const auto own = static_cast<double>(s.image[1] / s.filters[1]);
  if (const std::string why = contradicting_steps(s, call.number_at(at.groups, own)); !why.empty()) return why;
  const Dims made = stepped(s, s.transposed ? call.list_at(added) : Dims{});
  return made == (s.transposed ? s.image : s.result) ? "" : found + ", expected " + text_of(made);
}

Ops make_convolution(const Call& call, double) {
  if (!call.has(1) || call.outputs().empty()) return std::nullopt;
  const ConvolutionPlaces at = places_of(call.node().op);
  const bool transposed = is_transposed(call, at.transposed);
  ConvolutionShape s;
  s.image = call.in(0), s.filters = call.in(1), s.result = call.out();
  set_sides(call, at.stride, at.pad, at.dilation, s);
  if (transposed) std::swap(s.image, s.result);
  s.transposed = transposed;
  auto op = conv_of(s);
  if (!op) return std::nullopt;
  op->dtype = call.type();
  op->channels_last = call.sizes().graph().tensors[call.inputs().front()].channels_last;
  if (transposed) op->pass = graph::Pass::backward_data;
  std::vector<graph::Op> out{*op};
  const auto bias = call.tensor_at(2);
  if (at.adds_bias && bias && call.sizes().elements(*bias) > 1)
    out.emplace_back(graph::Elementwise{count(product(call.out())), 1, 1, 1, op->dtype});
  return out;
}

/// convolution_backward(gradient, image, filters, bias sizes, stride, padding, dilation, transposed, output padding,
/// groups, mask).
Ops make_convolution_backward(const Call& call, double) {
  return backward_of(call, 0, 1, 4, 10, call.number_at(7, 0) != 0);
}

/// cudnn_convolution_backward(image, gradient, filters, padding, stride, dilation, groups, ..., mask): padding and stride
/// change places, and the extents follow from the tensors.
Ops make_convolution_backward_cudnn(const Call& call, double) {
  if (!call.has(2)) return std::nullopt;
  ConvolutionShape s;
  s.image = call.in(0), s.result = call.in(1), s.filters = call.in(2);
  set_sides(call, 4, 3, 5, s);
  auto op = conv_of(s);
  if (!op) return std::nullopt;
  op->dtype = call.type();
  op->channels_last = call.sizes().graph().tensors[call.inputs().front()].channels_last;
  std::vector<graph::Op> out;
  const std::size_t last = call.node().inputs.size() - 1;
  const std::vector<std::int64_t> wanted = call.list_at(last);
  if (wanted.empty() || wanted[0] != 0) out.push_back(with_pass(*op, graph::Pass::backward_data));
  if (wanted.size() < 2 || wanted[1] != 0) out.push_back(with_pass(*op, graph::Pass::backward_weight));
  return out;
}

}  // namespace distsim::opgraph
