#include <algorithm>
#include <optional>
#include <string>

#include "base/text/quantity_text.hpp"
#include "sim/opgraph/kernel_tables.hpp"
#include "sim/opgraph/kernels.hpp"

namespace distsim::opgraph {
namespace {

/// "found a result of 8x4 of arguments of 8x16 and 16x32, expected 8x32".
std::string not_of(const Call& call, const std::string& expected) {
  std::string out = "found a result of " + text_of(call.out());
  for (std::size_t i = 0; i < std::min<std::size_t>(call.inputs().size(), 4); ++i)
    out += (i == 0 ? " of arguments of " : " and ") + text_of(call.in(i));
  return out + ", expected " + expected;
}

/// mm, bmm, addmm, baddbmm: columns of the first factor against rows of the second, and a result of the others, which what is added
/// is broadcast to.
std::string of_product(const Call& call, std::size_t first) {
  if (!call.has(first + 1)) return "";
  const Dims a = call.in(first), b = call.in(first + 1);
  if (a.size() < 2 || b.size() < 2) return "";
  if (a.back() != b[b.size() - 2])
    return "found factors of " + text_of(a) + " and " + text_of(b) +
           ", expected as many rows of the second as columns of the first";
  Dims result = a;
  result.back() = b.back();
  const bool batches = std::equal(a.begin(), a.end() - 2, b.begin(), b.end() - 2);
  if (!batches || (!call.outputs().empty() && call.out() != result)) return not_of(call, text_of(result));
  const bool added = first == 0 || broadcast_of({result, call.in(0)}) == result;
  return added ? "" : not_of(call, "what is added to be broadcast to the result");
}

/// linear(x, w, bias): the last size of x against the columns of w.
std::string of_linear(const Call& call) {
  if (!call.has(1)) return "";
  Dims x = call.in(0);
  const Dims w = call.in(1);
  if (x.empty() || w.size() != 2) return "";
  if (x.back() != w[1])
    return "found an argument of " + text_of(x) + " and a weight of " + text_of(w) +
           ", expected as many columns of both";
  x.back() = w[0];
  return call.outputs().empty() || call.out() == x ? "" : not_of(call, text_of(x));
}

/// matmul, mv, dot: vectors and matrices, whose further dimensions are broadcast.
std::string of_any_product(const Call& call) {
  if (!call.has(1) || call.outputs().empty()) return "";
  const Dims a = call.in(0), b = call.in(1);
  if (a.empty() || b.empty()) return "";
  if (a.back() != (b.size() == 1 ? b[0] : b[b.size() - 2]))
    return "found factors of " + text_of(a) + " and " + text_of(b) +
           ", expected as many rows of the second as columns of the first";
  const auto further = [](const Dims& d) { return d.size() < 2 ? Dims{} : Dims(d.begin(), d.end() - 2); };
  std::optional<Dims> result = broadcast_of({further(a), further(b)});
  if (!result) return not_of(call, "dimensions before the last two that are broadcast to each other");
  if (a.size() > 1) result->push_back(a[a.size() - 2]);
  if (b.size() > 1) result->push_back(b.back());
  return call.out() == *result ? "" : not_of(call, text_of(*result));
}

std::vector<Dims> all_of(const Call& call) {
  std::vector<Dims> out;
  for (std::size_t i = 0; i < call.inputs().size(); ++i) out.push_back(call.in(i));
  return out;
}

std::string of_elementwise(const Call& call) {
  const std::optional<Dims> result = broadcast_of(all_of(call));
  if (!result) return not_of(call, "arguments that are broadcast to each other");
  for (std::size_t i = 0; i < call.outputs().size(); ++i)
    if (call.out(i) != *result) return not_of(call, text_of(*result) + ", which they are broadcast to");
  return "";
}

/// No result has more elements than the arguments together span.
std::string of_reduction(const Call& call) {
  double most = 1;
  for (const Dims& dims : all_of(call)) most = std::max(most, product(dims));
  if (const std::optional<Dims> whole = broadcast_of(all_of(call))) most = std::max(most, product(*whole));
  for (std::size_t i = 0; i < call.outputs().size(); ++i)
    if (product(call.out(i)) > most) return not_of(call, "no more elements than its arguments have");
  return "";
}

std::string like_first(const Call& call) {
  return call.outputs().empty() || call.out() == call.in(0) ? "" : not_of(call, text_of(call.in(0)));
}

/// With the batch of the capture, whose sizes are among the numbers of a call.
Dims captured_dims(const Call& call, std::uint32_t tensor) {
  const OpGraph& graph = call.sizes().graph();
  Dims out;
  for (const Extent& e : graph.tensors[tensor].dims) out.push_back(e.constant + e.per_sample * graph.samples);
  return out;
}

/// layer_norm(x, sizes, weight, bias), rms_norm(x, sizes, weight): the last sizes of x, which weights have too.
std::string of_row_norm(const Call& call) {
  if (const std::string why = like_first(call); !why.empty()) return why;
  const Dims x = captured_dims(call, call.inputs()[0]), row = call.list_at(1);
  if (row.empty()) return "";
  if (row.size() > x.size() || !std::equal(row.begin(), row.end(), x.end() - static_cast<std::ptrdiff_t>(row.size())))
    return "found a row of " + text_of(row) + " of an argument of " + text_of(x) + ", expected its last sizes";
  for (const std::size_t place : {2, 3}) {
    const auto weight = call.tensor_at(place);
    if (weight && captured_dims(call, *weight) != row)
      return "found a weight of " + text_of(captured_dims(call, *weight)) + ", expected the row's " + text_of(row);
  }
  return "";
}

/// A weight, a shift, a mean and a variance for each channel.
std::string of_channel_norm(const Call& call, std::size_t last) {
  if (const std::string why = like_first(call); !why.empty() || call.in(0).size() < 2) return why;
  const std::int64_t channels = call.in(0)[1];
  for (std::size_t place = 1; place <= last; ++place) {
    const auto weight = call.tensor_at(place);
    if (weight && call.sizes().elements(*weight) != static_cast<double>(channels))
      return "found a weight of " + text_of(call.sizes().dims(*weight)) + " of an argument of " + text_of(call.in(0)) +
             ", expected one element for each channel";
  }
  return "";
}
std::string of_batch_norm(const Call& call) { return of_channel_norm(call, 4); }
std::string of_group_norm(const Call& call) { return of_channel_norm(call, 2); }

/// _softmax(x, dimension, ...).
std::string of_softmax(const Call& call) {
  const std::string_view op = base_name(call.node().op);
  const auto rank = static_cast<double>(std::max<std::size_t>(1, call.in(0).size()));
  const double dim = op == "_softmax" || op == "_log_softmax" ? call.number_at(1, 0) : 0;
  if (dim < -rank || dim >= rank)
    return "found dimension " + format_quantity(dim, Dimension::none) + " of an argument of " + text_of(call.in(0)) +
           ", expected one that it has";
  return like_first(call);
}

/// Queries [batch, heads, length, width], and keys and values of one length, of heads that they share. Where the call is not yet one
/// of a kernel, batches and heads may be broadcast.
std::string of_attention(const Call& call) {
  if (!call.has(2) || call.outputs().empty()) return "";
  const Dims q = call.in(0), k = call.in(1), v = call.in(2);
  Dims result = call.out();
  if (q.size() != 4 || k.size() != 4 || v.size() != 4 || result.size() != 4) return "";
  bool agree = k[2] == v[2] && q[3] == k[3];
  const std::string_view op = base_name(call.node().op);
  if (op != "scaled_dot_product_attention" && op != "_scaled_dot_product_attention")
    agree = agree && q[0] == k[0] && q[0] == v[0] && std::min(k[1], v[1]) > 0 && q[1] % k[1] == 0 && q[1] % v[1] == 0;
  if (!agree)
    return "found queries of " + text_of(q) + ", keys of " + text_of(k) + " and values of " + text_of(v) +
           ", expected widths, lengths, heads and batches that agree";
  result[2] = q[2], result[3] = v[3];
  return call.out() == result ? "" : not_of(call, text_of(result));
}

/// _embedding_bag(table, ids, offsets, ...): rows as wide as those of the table, one for each bag. The last offset may be the end.
std::string of_bags(const Call& call) {
  if (!call.has(2) || call.outputs().empty() || call.in(0).size() != 2 || call.in(2).size() != 1) return "";
  const Dims result = call.out(), whole{call.in(2)[0], call.in(0)[1]};
  if (result == whole || result == Dims{whole[0] - 1, whole[1]}) return "";
  return not_of(call, text_of(whole));
}

/// max_pool2d(x, kernel, stride, padding, dilation, ceil_mode), avg_pool2d(x, kernel, stride, padding, ceil_mode, ...): as many
/// windows as fit into each of the last sides.
std::string of_pool(const Call& call) {
  if (call.outputs().empty()) return "";
  const bool dilated = base_name(call.node().op).find("max") != std::string_view::npos;
  const Dims x = call.in(0), kernel = call.list_at(1);
  Dims result = x;
  const std::size_t sides = base_name(call.node().op).find("3d") != std::string_view::npos ? 3 : 2;
  const double rounds_up = call.number_at(dilated ? 5 : 4, 2);  // 2: not stated
  constexpr std::int64_t kMost = 1'000'000;                     // products of two, and with a side, fit into 64 bits
  if (kernel.empty() || x.size() < sides || call.out().size() != x.size()) return "";
  for (std::size_t i = 0; i < sides; ++i) {
    const auto of_side = [&](std::size_t place, std::int64_t otherwise) {
      const Dims list = call.list_at(place);
      return list.empty() ? otherwise : list[std::min(i, list.size() - 1)];
    };
    const std::int64_t window = of_side(1, 1), stride = of_side(2, window), pad = of_side(3, 0);
    const std::int64_t dilation = dilated ? of_side(4, 1) : 1;
    if (std::min({window, stride, dilation}) < 1 || pad < 0)
      return "found a window of " + std::to_string(window) + ", a stride of " + std::to_string(stride) +
             " and a padding of " + std::to_string(pad) + ", expected 1 and more, and no padding below 0";
    if (std::max({window, stride, dilation, pad}) > kMost) return "";
    const std::size_t at = x.size() - sides + i;
    const std::int64_t room = x[at] + 2 * pad - dilation * (window - 1) - 1;
    const std::int64_t down = room < 0 ? 0 : room / stride + 1;
    std::int64_t up = room < 0 ? 0 : (room + stride - 1) / stride + 1;
    if ((up - 1) * stride >= x[at] + pad) --up;  // it would begin in the padding
    result[at] = rounds_up == 1 || (rounds_up == 2 && call.out()[at] == up) ? up : down;
  }
  return call.out() == result ? "" : not_of(call, text_of(result));
}

/// Pieces and the whole have as many elements.
std::string of_pieces(const Call& call) {
  double given = 0, made = 0;
  for (const std::uint32_t t : call.inputs()) given += call.sizes().elements(t);
  for (const std::uint32_t t : call.outputs()) made += call.sizes().elements(t);
  return call.outputs().empty() || given == made ? "" : not_of(call, "as many elements as its arguments have");
}

std::string of_lookup(const Call& call) {
  if (!call.has(1) || call.outputs().empty() || call.in(0).size() != 2) return "";
  Dims result = call.in(1);
  result.push_back(call.in(0)[1]);
  return call.out() == result ? "" : not_of(call, text_of(result));
}

/// Views that only order elements otherwise.
constexpr std::string_view kReordered[] = {"view",      "_unsafe_view", "reshape",   "_reshape_alias",
                                           "t",         "permute",      "transpose", "squeeze",
                                           "unsqueeze", "flatten",      "unflatten"};

struct Rule {
  Maker make;
  std::string (*why)(const Call&);
};
constexpr Rule kRules[] = {
    {make_linear, of_linear},
    {make_elementwise, of_elementwise},
    {make_reduction, of_reduction},
    {make_concat, of_pieces},
    {make_layer_norm, of_row_norm},
    {make_rms_norm, of_row_norm},
    {make_group_norm, of_group_norm},
    {make_batch_norm, of_batch_norm},
    {make_softmax, of_softmax},
    {make_embedding, of_lookup},
    {make_embedding_bag, of_bags},
    {make_attention, of_attention},
    {make_recurrent, contradiction_of_recurrent},
    {make_recurrent_backward, contradiction_of_recurrent},
};

/// Of ops that share their kernels with others.
struct NamedRule {
  std::string_view op;
  std::string (*why)(const Call&);
};
constexpr NamedRule kNamedRules[] = {
    {"convolution", contradiction_of_convolution},
    {"_convolution", contradiction_of_convolution},
    {"convolution_overrideable", contradiction_of_convolution},
    {"conv1d", contradiction_of_convolution},
    {"conv2d", contradiction_of_convolution},
    {"conv3d", contradiction_of_convolution},
    {"conv_transpose1d", contradiction_of_convolution},
    {"conv_transpose2d", contradiction_of_convolution},
    {"conv_transpose3d", contradiction_of_convolution},
    {"convolution_backward", contradiction_of_convolution},
    {"clone", like_first},
    {"_to_copy", like_first},
    {"matmul", of_any_product},
    {"mv", of_any_product},
    {"dot", of_any_product},
    {"max_pool2d", of_pool},
    {"max_pool2d_with_indices", of_pool},
    {"max_pool3d_with_indices", of_pool},
    {"avg_pool2d", of_pool},
    {"avg_pool3d", of_pool},
};

std::string type_text(const Element& e) {
  if (!e.floating) return e.bytes == 1 ? "8-bit integers" : "int" + std::to_string(8 * e.bytes);
  if (e.dtype == graph::DType::bf16) return "bfloat16";
  if (e.dtype == graph::DType::fp8) return "float8";
  return e.bytes == 16 ? "complex128" : "float" + std::to_string(8 * e.bytes);
}

bool same_type(const Element& a, const Element& b) {
  return a.dtype == b.dtype && a.bytes == b.bytes && a.floating == b.floating;
}

/// Ops that take no mixture of types: how many tensors, from the first on, are of one type, of arguments and of results.
struct OneType {
  Maker make;
  std::size_t arguments, results;
};
constexpr std::size_t kEvery = 1000;
constexpr OneType kOneType[] = {
    {make_matmul, kEvery, 1},
    {make_matmul_first, kEvery, 1},
    {make_linear, kEvery, 1},
    {make_trilinear, kEvery, 1},
    {make_convolution, kEvery, 1},
    {make_convolution_backward, kEvery, kEvery},
    {make_convolution_backward_cudnn, kEvery, kEvery},
    {make_attention, 3, 1},
    {make_attention_backward, 4, 3},
    {make_recurrent, kEvery, kEvery},
    {make_recurrent_backward, kEvery, kEvery},
};

/// torch.autocast casts what is no wider than 32 bits to the type of its region.
bool cast_alike(const Call& call, const Element& a, const Element& b) {
  const auto& region = call.node().autocast;
  const auto eligible = [](const Element& e) { return e.floating && e.bytes <= 4; };
  return region && *region != graph::DType::fp32 && eligible(a) && eligible(b);
}

std::string of_one_type(const Call& call, const OneType& rule) {
  const bool recurrent = rule.make == make_recurrent || rule.make == make_recurrent_backward;
  const auto [arguments, results] =
      recurrent ? values_of_recurrent(call) : RecurrentValues{call.inputs(), call.outputs()};
  const Element* first = nullptr;
  const auto other = [&](std::uint32_t t) {
    const Element& e = call.sizes().type(t);
    if (first == nullptr) first = &e;
    return !same_type(*first, e) && !cast_alike(call, *first, e);
  };
  for (std::size_t i = 0; i < std::min(rule.arguments, arguments.size()); ++i)
    if (other(arguments[i]))
      return "found arguments of " + type_text(*first) + " and " + type_text(call.sizes().type(arguments[i])) +
             ", expected one type";
  for (std::size_t i = 0; i < std::min(rule.results, results.size()); ++i)
    if (other(results[i]))
      return "found a result of " + type_text(call.sizes().type(results[i])) + " of arguments of " + type_text(*first) +
             ", expected their type";
  return "";
}

/// torch.result_type of the arguments of floating type: tensors without dimensions count where there are no others. Nothing
/// where there is none, and of types that are not promoted.
std::optional<Element> promoted_type(const Call& call) {
  std::optional<Element> out;
  for (const bool scalars : {false, true}) {
    for (const std::uint32_t t : call.inputs()) {
      const Element& e = call.sizes().type(t);
      if (!e.floating || call.sizes().graph().tensors[t].dims.empty() != scalars) continue;
      if (e.bytes == 1) return std::nullopt;
      if (!out || e.bytes > out->bytes)
        out = e;
      else if (e.bytes == out->bytes && e.dtype != out->dtype)
        out = Element{graph::DType::fp32, 4, true};  // float16 and bfloat16
    }
    if (out) break;
  }
  return out;
}

/// Results of truth values, and of the parts of complex numbers.
constexpr std::string_view kOfOtherType[] = {"eq",          "ne",         "lt",          "le",         "gt",
                                             "ge",          "abs",        "isnan",       "isinf",      "isfinite",
                                             "logical_and", "logical_or", "logical_xor", "logical_not"};

/// float64, and complex numbers, whose elements look like it. They promote by rules of their own.
bool may_be_complex(const Call& call) {
  const auto wide = [&](std::uint32_t t) { return call.sizes().type(t).floating && call.sizes().type(t).bytes >= 8; };
  return std::ranges::any_of(call.inputs(), wide) || std::ranges::any_of(call.outputs(), wide);
}

/// "aten::add.out", "aten::add.Scalar_out": the result is cast to what is given. "aten::dropout" is none.
bool is_out_form(std::string_view name) {
  const std::size_t overload = name.rfind('.');
  return overload != name.npos && name.substr(overload).ends_with("out");
}

std::string of_promotion(const Call& call) {
  if (may_be_complex(call) || is_out_form(call.node().op)) return "";
  std::string_view op = base_name(call.node().op);
  const bool in_place = op.ends_with("_") && !op.ends_with("__");
  if (in_place) op.remove_suffix(1);
  const std::optional<Element> expected =
      in_place ? std::optional(call.sizes().type(call.inputs()[0])) : promoted_type(call);
  if (!expected || call.outputs().empty() ||
      (!in_place && std::ranges::find(kOfOtherType, op) != std::end(kOfOtherType)))
    return "";
  const Element& found = call.sizes().type(call.outputs()[0]);
  if (same_type(found, *expected)) return "";
  return "found a result of " + type_text(found) + ", expected " + type_text(*expected) +
         (in_place ? ", the type of what is changed" : ", which its arguments are promoted to");
}

/// Ops whose result has the type of their first argument; also views.
constexpr Maker kKeepType[] = {make_layer_norm, make_group_norm, make_batch_norm, make_embedding, make_embedding_bag};
constexpr std::string_view kPools[] = {"max_pool2d", "max_pool2d_with_indices", "max_pool3d_with_indices", "avg_pool2d",
                                       "avg_pool3d"};

/// Joined tensors of one type keep it; others are promoted.
std::string of_joined_types(const Call& call) {
  const Element& first = call.sizes().type(call.inputs()[0]);
  const auto other = [&](std::uint32_t t) { return !same_type(first, call.sizes().type(t)); };
  if (std::ranges::any_of(call.inputs(), other)) return of_promotion(call);
  const auto made = std::ranges::find_if(call.outputs(), other);
  return made == call.outputs().end() || is_out_form(call.node().op)
             ? ""
             : "found a result of " + type_text(call.sizes().type(*made)) + " of arguments of " + type_text(first) +
                   ", expected their type";
}

/// softmax(x) may also be float32 of 16 bits, and its gradient 16 bits of float32.
bool casts_softmax(const Element& given, const Element& made) {
  const auto narrow = [](const Element& e) { return e.floating && e.bytes == 2; };
  const auto single = [](const Element& e) { return e.floating && e.bytes == 4; };
  return (narrow(given) && single(made)) || (single(given) && narrow(made));
}

std::string of_types(const Call& call, bool reorders) {
  const std::string& name = call.node().op;
  const std::string_view op = base_name(name);
  const Maker make = maker_of(name);
  const bool states_type = name.ends_with(".dtype") || name.ends_with(".dtype_out") || op == "_scaled_mm";
  const auto one = std::ranges::find(kOneType, make, &OneType::make);
  if (one != std::end(kOneType)) return states_type ? "" : of_one_type(call, *one);
  if (make == make_elementwise) return of_promotion(call);
  if (make == make_concat) return of_joined_types(call);
  const bool softmax = make == make_softmax || make == make_softmax_backward;
  const bool keeps = reorders || softmax || op == "clone" || std::ranges::find(kPools, op) != std::end(kPools) ||
                     std::ranges::find(kKeepType, make) != std::end(kKeepType);
  if (!keeps || states_type || call.outputs().empty()) return "";
  const Element &given = call.sizes().type(call.inputs()[0]), &made = call.sizes().type(call.outputs()[0]);
  return same_type(given, made) || (softmax && casts_softmax(given, made))
             ? ""
             : "found a result of " + type_text(made) + " of an argument of " + type_text(given) +
                   ", expected its type";
}

/// What moves between devices, or makes a tensor on the one that its arguments state.
constexpr Maker kAnyDevice[] = {make_copy, make_scalar_read, make_fill, make_foreach};
/// Indices may be on the host.
constexpr Maker kIndexed[] = {make_gather, make_index_put, make_scatter, make_scatter_into_copy};

/// Host and device in one call; tensors without dimensions may be on the host.
std::string of_devices(const Call& call, bool reorders) {
  const Maker make = maker_of(call.node().op);
  if (!reorders && (make == nullptr || std::ranges::find(kAnyDevice, make) != std::end(kAnyDevice))) return "";
  const std::vector<Tensor>& tensors = call.sizes().graph().tensors;
  const bool indexed = std::ranges::find(kIndexed, make) != std::end(kIndexed);
  std::optional<bool> on_host;
  for (std::size_t i = 0; i < (indexed ? 1 : call.inputs().size()); ++i) {
    const Tensor& t = tensors[call.inputs()[i]];
    if (t.dims.empty()) continue;
    if (on_host.value_or(t.on_host) != t.on_host)
      return "found arguments on cpu and on cuda, expected one device, or a copy (aten::_to_copy) before";
    on_host = t.on_host;
  }
  if (!on_host || call.outputs().empty() || tensors[call.outputs()[0]].on_host == *on_host) return "";
  return std::string("found a result on ") + (*on_host ? "cuda of arguments on cpu" : "cpu of arguments on cuda") +
         ", expected their device, or a copy (aten::_to_copy) after";
}

/// Rules that compare the first result with the arguments. What else these ops give may be empty: statistics of a norm and
/// buffers for the backward pass outside of training, and so what the backward pass reads of them.
constexpr Maker kOwnFirst[] = {make_layer_norm,    make_rms_norm,  make_group_norm, make_batch_norm,
                               make_embedding_bag, make_attention, make_recurrent,  make_recurrent_backward};

/// Calls on tensors without elements, which fit to others in ways of their own.
bool on_nothing(const Call& call) {
  const auto empty = [&](std::uint32_t t) { return call.sizes().elements(t) < 1; };
  const Maker make = maker_of(call.node().op);
  const bool first = make != nullptr && std::ranges::find(kOwnFirst, make) != std::end(kOwnFirst);
  if (call.inputs().empty()) return true;
  if (first) return empty(call.inputs()[0]) || (!call.outputs().empty() && empty(call.outputs()[0]));
  return std::ranges::any_of(call.inputs(), empty) || std::ranges::any_of(call.outputs(), empty);
}

std::string of_sizes(const Call& call, bool reorders) {
  const std::string_view op = base_name(call.node().op);
  const auto named = std::ranges::find(kNamedRules, op, &NamedRule::op);
  if (named != std::end(kNamedRules)) return named->why(call);
  if (reorders) return of_pieces(call);
  if (op == "mm" || op == "bmm") return of_product(call, 0);
  if (op == "addmm" || op == "baddbmm") return of_product(call, 1);
  const Maker make = maker_of(call.node().op);
  const auto rule = std::ranges::find(kRules, make, &Rule::make);
  return rule == std::end(kRules) ? "" : rule->why(call);
}

std::string contradiction_of(const Call& call) {
  if (on_nothing(call)) return "";
  const std::string_view op = base_name(call.node().op);
  const bool other_type = call.node().op == "aten::view.dtype";
  const bool reorders = std::ranges::find(kReordered, op) != std::end(kReordered) && !other_type;
  if (const std::string why = of_devices(call, reorders); !why.empty()) return why;
  if (const std::string why = of_types(call, reorders); !why.empty()) return why;
  if (const std::string why = of_sizes(call, reorders); !why.empty()) return why;
  return contradiction_of_dimensions(call);
}

}  // namespace

Contradictions::Contradictions(const OpGraph& graph) : resized_(graph.tensors.size(), false) {
  sizes_.emplace_back(graph, graph.samples);
  if (graph.any_batch) sizes_.emplace_back(graph, 2 * graph.samples);
}

std::string Contradictions::of(const Node& node) {
  std::string why;
  for (const Sizes& sizes : sizes_) {
    const Call call(sizes, node);
    const auto resized = [&](std::uint32_t t) { return resized_[t]; };
    if (!why.empty() || std::ranges::any_of(call.inputs(), resized) || std::ranges::any_of(call.outputs(), resized))
      break;
    why = contradiction_of(call);
  }
  if (listing_of(node.op) == Listing::nothing && base_name(node.op).ends_with("_")) {
    for (const std::uint32_t t : node.outputs) resized_[t] = true;
  }
  return why;
}

}  // namespace distsim::opgraph
