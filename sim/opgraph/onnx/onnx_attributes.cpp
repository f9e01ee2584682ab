// The attributes that ops of ONNX have, with their types and the values that they may take.
#include <algorithm>
#include <set>

#include "base/text/lower_case.hpp"
#include "base/text/names/spelling.hpp"
#include "base/text/one_of.hpp"
#include "base/text/printable.hpp"
#include "sim/opgraph/onnx/onnx_reader.hpp"

namespace distsim::opgraph {
namespace {

/// AttributeProto.AttributeType, as far as ops that are read have attributes of it.
enum class Kind : std::uint8_t { none, number, integer, text, tensor, graph, numbers, integers, texts, tensors };
constexpr const char* kKindNames[] = {"nothing", "a number",          "a whole number",          "a text", "a tensor",
                                      "a graph", "a list of numbers", "a list of whole numbers", "texts",  "tensors"};

/// Of the ops of the standard's domain, of all opsets.
struct KnownAttribute {
  std::string_view name;
  Kind kind;                 ///< none: not the same in all of them
  std::string_view op = "";  ///< that it is of; empty: of every op that has it
};
constexpr KnownAttribute kAttributes[] = {
    {"activation_alpha", Kind::numbers},
    {"activation_beta", Kind::numbers},
    {"activations", Kind::texts},
    {"align_corners", Kind::integer},
    {"allowzero", Kind::integer},
    {"alpha", Kind::number},
    {"antialias", Kind::integer},
    {"approximate", Kind::text},
    {"auto_pad", Kind::text},
    {"axes", Kind::integers},
    {"axis", Kind::integer},
    {"batch_axis", Kind::integer},
    {"batch_dims", Kind::integer},
    {"beta", Kind::number},
    {"bias", Kind::number},
    {"block_size", Kind::integer},
    {"blocksize", Kind::integer},
    {"broadcast", Kind::integer},
    {"ceil_mode", Kind::integer},
    {"center_point_box", Kind::integer},
    {"clip", Kind::number},
    {"consumed_inputs", Kind::integers},
    {"coordinate_transformation_mode", Kind::text},
    {"count_include_pad", Kind::integer},
    {"cubic_coeff_a", Kind::number},
    {"detect_negative", Kind::integer},
    {"detect_positive", Kind::integer},
    {"dilations", Kind::integers},
    {"direction", Kind::text},
    {"dtype", Kind::integer},
    {"end", Kind::integer},
    {"ends", Kind::integers},
    {"epsilon", Kind::number},
    {"equation", Kind::text},
    {"exclude_outside", Kind::integer},
    {"exclusive", Kind::integer},
    {"extrapolation_value", Kind::number},
    {"fmod", Kind::integer},
    {"gamma", Kind::number},
    {"group", Kind::integer},
    {"height_scale", Kind::number},
    {"hidden_size", Kind::integer},
    {"high", Kind::number},
    {"ignore_index", Kind::integer},
    {"input_forget", Kind::integer},
    {"interleaved", Kind::integer},
    {"inverse", Kind::integer},
    {"is_causal", Kind::integer},
    {"is_test", Kind::integer},
    {"k", Kind::integer},
    {"keep_aspect_ratio_policy", Kind::text},
    {"keepdims", Kind::integer},
    {"kernel_shape", Kind::integers},
    {"kv_num_heads", Kind::integer},
    {"lambd", Kind::number},
    {"largest", Kind::integer},
    {"layout", Kind::integer},
    {"linear_before_reset", Kind::integer},
    {"low", Kind::number},
    {"max", Kind::number},
    {"mean", Kind::number},
    {"min", Kind::number},
    {"mode", Kind::text},
    {"momentum", Kind::number},
    {"nearest_mode", Kind::text},
    {"noop_with_empty_axes", Kind::integer},
    {"num_groups", Kind::integer},
    {"num_heads", Kind::integer},
    {"num_outputs", Kind::integer},
    {"onesided", Kind::integer},
    {"output_dtype", Kind::integer},
    {"output_height", Kind::integer},
    {"output_padding", Kind::integers},
    {"output_sequence", Kind::integer},
    {"output_shape", Kind::integers},
    {"output_width", Kind::integer},
    {"p", Kind::none},
    {"padding_mode", Kind::text},
    {"pads", Kind::integers},
    {"periodic", Kind::integer},
    {"perm", Kind::integers},
    {"pooled_shape", Kind::integers},
    {"precision", Kind::integer},
    {"q_num_heads", Kind::integer},
    {"qk_matmul_output_mode", Kind::integer},
    {"ratio", Kind::number},
    {"reduction", Kind::text},
    {"reverse", Kind::integer},
    {"rotary_embedding_dim", Kind::integer},
    {"round_mode", Kind::text},
    {"sample_size", Kind::integer},
    {"sampling_ratio", Kind::integer},
    {"saturate", Kind::integer},
    {"scale", Kind::number},
    {"scales", Kind::numbers},
    {"seed", Kind::number},
    {"select_last_index", Kind::integer},
    {"shape", Kind::integers},
    {"size", Kind::integer},
    {"softcap", Kind::number},
    {"softmax_precision", Kind::integer},
    {"sorted", Kind::integer},
    {"sparse_value", Kind::none},
    {"spatial", Kind::integer},
    {"spatial_scale", Kind::number},
    {"split", Kind::integers},
    {"start", Kind::integer},
    {"starts", Kind::integers},
    {"stash_type", Kind::integer},
    {"storage_order", Kind::integer},
    {"strides", Kind::integers},
    {"time_axis", Kind::integer},
    {"to", Kind::integer},
    {"training_mode", Kind::integer},
    {"transA", Kind::integer},
    {"transB", Kind::integer},
    {"upper", Kind::integer},
    {"value", Kind::tensor, "Constant"},
    {"value", Kind::tensor, "ConstantOfShape"},
    {"value", Kind::none},
    {"value_float", Kind::number},
    {"value_floats", Kind::numbers},
    {"value_int", Kind::integer},
    {"value_ints", Kind::integers},
    {"value_string", Kind::text},
    {"value_strings", Kind::texts},
    {"width_scale", Kind::number},
};

/// Those that are 0 or 1, of all ops.
constexpr std::string_view kFlags[] = {"align_corners",
                                       "allowzero",
                                       "antialias",
                                       "broadcast",
                                       "ceil_mode",
                                       "count_include_pad",
                                       "detect_negative",
                                       "detect_positive",
                                       "exclude_outside",
                                       "exclusive",
                                       "fmod",
                                       "input_forget",
                                       "interleaved",
                                       "inverse",
                                       "is_causal",
                                       "is_test",
                                       "keepdims",
                                       "largest",
                                       "layout",
                                       "linear_before_reset",
                                       "noop_with_empty_axes",
                                       "onesided",
                                       "output_sequence",
                                       "periodic",
                                       "reverse",
                                       "saturate",
                                       "select_last_index",
                                       "sorted",
                                       "spatial",
                                       "storage_order",
                                       "training_mode",
                                       "transA",
                                       "transB",
                                       "upper"};

/// Texts that are one of a few, of all opsets; of this op, or empty: of every op that has it.
struct Choices {
  std::string_view name, op;
  std::vector<std::string_view> of;
};
const std::vector<Choices>& choices() {
  static const std::vector<Choices> all{
      {"approximate", "", {"none", "tanh"}},
      {"auto_pad", "", {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"}},
      {"coordinate_transformation_mode",
       "Resize",
       {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
        "tf_half_pixel_for_nn", "tf_crop_and_resize"}},
      {"coordinate_transformation_mode", "RoiAlign", {"half_pixel", "output_half_pixel"}},
      {"direction", "", {"forward", "reverse", "bidirectional"}},
      {"direction", "BitShift", {"LEFT", "RIGHT"}},
      {"keep_aspect_ratio_policy", "", {"stretch", "not_larger", "not_smaller"}},
      {"mode", "DepthToSpace", {"DCR", "CRD"}},
      {"mode", "GridSample", {"linear", "nearest", "cubic", "bilinear", "bicubic"}},
      {"mode", "Pad", {"constant", "reflect", "edge", "wrap"}},
      {"mode", "Resize", {"nearest", "linear", "cubic"}},
      {"mode", "RoiAlign", {"avg", "max"}},
      {"mode", "Upsample", {"nearest", "linear", "bilinear"}},
      {"nearest_mode", "", {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple"}},
      {"padding_mode", "", {"zeros", "border", "reflection"}},
      {"reduction", "ScatterElements", {"none", "add", "mul", "max", "min"}},
      {"reduction", "ScatterND", {"none", "add", "mul", "max", "min"}},
      {"reduction", "SoftmaxCrossEntropyLoss", {"none", "sum", "mean"}},
      {"reduction", "NegativeLogLikelihoodLoss", {"none", "sum", "mean"}},
  };
  return all;
}

/// Of gates and states; runtimes take them in any case.
constexpr std::string_view kActivations[] = {
    "relu",       "tanh",        "sigmoid", "affine",   "leakyrelu", "thresholdedrelu",
    "scaledtanh", "hardsigmoid", "elu",     "softsign", "softplus"};

/// What an attribute holds, whatever it states.
bool holds(const onnx::Attribute& a, Kind kind) {
  switch (kind) {
    case Kind::number:
      return a.has_f();
    case Kind::integer:
      return a.has_i();
    case Kind::text:
      return a.has_s();
    case Kind::tensor:
      return a.has_t();
    case Kind::numbers:
      return a.floats_size() > 0;
    case Kind::integers:
      return a.ints_size() > 0;
    case Kind::texts:
      return a.strings_size() > 0;
    default:
      return false;
  }
}

/// The type that it states or, where it states that of its op or none, the one of the only value that it holds. Writers leave zeros
/// and empty lists out.
Kind kind_of(const onnx::Attribute& a, Kind expected) {
  const bool stated = a.type() > 0 && static_cast<std::size_t>(a.type()) < std::size(kKindNames);
  if (stated && static_cast<Kind>(a.type()) != expected) return static_cast<Kind>(a.type());
  if (holds(a, expected)) return expected;
  for (const Kind k :
       {Kind::number, Kind::integer, Kind::text, Kind::tensor, Kind::numbers, Kind::integers, Kind::texts}) {
    if (holds(a, k)) return k;
  }
  return expected;
}

/// "none of ONNX's, did you mean 'strides'?"
std::string unknown_name(const std::string& name) {
  std::vector<std::string> names;
  for (const KnownAttribute& known : kAttributes) names.emplace_back(known.name);
  const std::string nearest = nearest_spelling(name, names);
  return "none of ONNX's" + (nearest.empty() ? "" : ", did you mean '" + nearest + "'?");
}

}  // namespace

/// One that is none of the few that the standard knows would be taken for the default.
Result<void> OnnxLowering::check_value(const onnx::Attribute& a) const {
  const std::string named = "attribute " + in_quotes(a.name(), 60) + ": found ";
  if (std::ranges::find(kFlags, a.name()) != std::end(kFlags) && a.i() != 0 && a.i() != 1)
    return wrong(named + std::to_string(a.i()) + ", expected 0 or 1");
  const Choices* few = nullptr;
  for (const Choices& c : choices()) {
    if (c.name == a.name() && (c.op == node_->op_type() || (c.op.empty() && few == nullptr))) few = &c;
  }
  if (few != nullptr && !a.s().empty() && std::ranges::find(few->of, a.s()) == few->of.end())
    return wrong(named + in_quotes(a.s(), 60) + ", expected " + one_of(few->of));
  if (a.name() != "activations") return {};
  for (const std::string& activation : a.strings()) {
    if (std::ranges::find(kActivations, lower_case(activation)) == std::end(kActivations))
      return wrong(named + in_quotes(activation, 60) + ", expected " + one_of(kActivations));
  }
  return {};
}

/// A name that no op has is one that is misspelt, and has no effect: one is named.
Result<void> OnnxLowering::check_attributes() {
  const bool standard = (node_->domain().empty() || node_->domain() == "ai.onnx") && node_->op_type() != "ATen";
  std::set<std::string_view> seen;
  for (const onnx::Attribute& a : node_->attribute()) {
    if (a.has_g() || a.graphs_size() > 0)
      return wrong("found a graph inside of a node, expected no loops or branches: export the model for fixed shapes");
    const std::string named = "attribute " + in_quotes(a.name(), 60) + ": ";
    if (!seen.insert(a.name()).second) return wrong(named + "found twice, expected once");
    const auto known = std::ranges::find_if(kAttributes, [&](const KnownAttribute& k) {
      return k.name == a.name() && (k.op.empty() || k.op == node_->op_type());
    });
    if (!standard) continue;
    if (known == std::end(kAttributes)) {
      if (unknown_attributes_++ == 0) unknown_attribute_ = wrong(named + "found " + unknown_name(a.name())).what;
      continue;
    }
    if (known->kind == Kind::none) continue;
    if (const Kind found = kind_of(a, known->kind); found != known->kind)
      return wrong(named + "found " + kKindNames[static_cast<std::size_t>(found)] + ", expected " +
                   kKindNames[static_cast<std::size_t>(known->kind)]);
    TRY(check_value(a));
  }
  return {};
}

}  // namespace distsim::opgraph
