// Whether a model agrees with itself: inputs with the sizes that an op needs, and results with those that are stated.
#include <algorithm>

#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "sim/opgraph/onnx/onnx_reader.hpp"

namespace distsim::opgraph {
namespace {

std::string sizes_text(const Dims& dims) { return (dims.empty() ? "" : "sizes ") + text_of(dims); }

}  // namespace

Error OnnxLowering::wrong_input(int input, const std::string& what) const {
  return wrong("input " + std::to_string(input) + " (" + in_quotes(node_->input(input), 120) + "): " + what);
}

/// An input that may be missing.
Result<void> OnnxLowering::expect_sizes(int input, const Dims& expected) {
  if (!has(input) || in(input).dims == expected) return {};
  return wrong_input(input, "found " + sizes_text(in(input).dims) + ", expected " + text_of(expected));
}

/// The same, or what is broadcast to them.
Result<void> OnnxLowering::expect_broadcast(int input, const Dims& whole) {
  if (!has(input)) return {};
  const Dims& own = in(input).dims;
  if (broadcast_of({own, whole}) == whole) return {};
  return wrong_input(input,
                     "found " + sizes_text(own) + ", expected what is broadcast to " + text_of(whole) + with_samples());
}

Result<void> OnnxLowering::check_places(Id places) const {
  return eager_.element(places).floating ? wrong("found places that are no whole numbers, expected int32 or int64")
                                         : Result<void>();
}

/// Constant places, or coordinates in the dimensions of these sizes, lie in them. One that does so only with more samples is known
/// by the pass with the most.
Result<void> OnnxLowering::check_range(int input, const Dims& sizes) {
  if (!has(input) || !in(input).numbers || sizes.empty() || (any_batch_ && samples_ != kSamples.back())) return {};
  const std::vector<std::int64_t>& places = *in(input).numbers;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::int64_t size = sizes[i % sizes.size()];
    if (places[i] >= -size && places[i] < size) continue;
    return wrong_input(input, "found the place " + std::to_string(places[i]) + ", expected one of a dimension of " +
                                  std::to_string(size));
  }
  return {};
}

Result<void> OnnxLowering::check_split(const std::vector<std::int64_t>& sizes, std::int64_t whole) const {
  double sum = 0;
  for (const std::int64_t size : sizes) {
    if (size < 0 || size > whole) return wrong("split: found " + std::to_string(size) + " of " + std::to_string(whole));
    sum += static_cast<double>(size);
  }
  if (sum == static_cast<double>(whole)) return {};
  return wrong("split: found parts of " + std::to_string(count(sum)) + " in all, expected the " +
               std::to_string(whole) + " of the dimension");
}

/// A scale, a shift, a mean and a variance for each channel; of groups one for each group below opset 21.
Result<void> OnnxLowering::check_channels() {
  const Dims x = in(0).dims;
  if (x.size() < 2 || integer("spatial", 1) == 0) return {};
  Dims row{x[1]};
  if (node_->op_type() == "GroupNormalization") {
    const std::int64_t groups = integer("num_groups", x[1]);
    if (groups < 1 || x[1] % groups != 0)
      return wrong("num_groups: found " + std::to_string(groups) + ", expected a divisor of the " +
                   counted(static_cast<std::uint64_t>(x[1]), "channel"));
    constexpr std::int64_t kFirstByChannel = 21;
    if (opset_ < kFirstByChannel && has(1) && in(1).dims == Dims{groups}) row = {groups};
  }
  for (int i = 1; i < node_->input_size(); ++i) TRY(expect_sizes(i, row));
  return {};
}

/// A scale and a shift that are broadcast to what is normalised.
Result<void> OnnxLowering::check_rows() {
  for (int i = 1; i < node_->input_size(); ++i) TRY(expect_broadcast(i, in(0).dims));
  return {};
}

Result<void> OnnxLowering::check_filters() {
  if (!has(1) || in(1).dims.size() < 3) return {};
  const Dims f = in(1).dims;
  const std::int64_t groups = integer("group", 1);
  if (groups < 1) return {};
  if (f[0] % groups != 0 || groups > std::max<std::int64_t>(1, f[0]))
    return wrong_input(1, "found " + counted(static_cast<std::uint64_t>(f[0]), "filter") + ", expected a multiple of " +
                              counted(static_cast<std::uint64_t>(groups), "group"));
  return expect_sizes(2, {node_->op_type() == "ConvTranspose" ? f[1] * groups : f[0]});
}

Result<void> OnnxLowering::check_gemm() {
  if (!has(1) || in(0).dims.size() != 2 || in(1).dims.size() != 2) return {};
  const auto side = [&](int input, const char* turned, std::size_t place) {
    return in(input).dims[integer(turned, 0) != 0 ? 1 - place : place];
  };
  return expect_broadcast(2, {side(0, "transA", 0), side(1, "transB", 1)});
}

/// Whole numbers, of which constant ones are those of a sequence of this length at most.
Result<void> OnnxLowering::check_lengths(int input, std::int64_t longest) const {
  if (!has(input)) return {};
  const OnnxValue& lengths = values_.at(node_->input(input));
  if (lengths.element.floating) return wrong_input(input, "found lengths that are no whole numbers, expected int32");
  if (!lengths.numbers || (any_batch_ && samples_ != kSamples.back())) return {};
  for (const std::int64_t n : *lengths.numbers) {
    if (n < 0 || n > longest)
      return wrong_input(input, "found the length " + std::to_string(n) + ", expected 0 .. " + std::to_string(longest));
  }
  return {};
}

/// Gates of both directions: W [ways, gates x hidden, inputs], R [ways, gates x hidden, hidden], B for both of them.
Result<void> OnnxLowering::check_recurrent() {
  const Dims x = in(0).dims;
  const std::int64_t hidden = integer("hidden_size", 0), ways = text("direction") == "bidirectional" ? 2 : 1;
  if (x.size() != 3 || hidden < 1 || hidden > kMostHidden) return {};
  const std::string& op = node_->op_type();
  const std::int64_t gates = op == "LSTM" ? 4 : op == "GRU" ? 3 : 1, rows = gates * hidden;
  const std::int64_t activations = ways * std::max<std::int64_t>(1, gates - 1);
  if (const onnx::Attribute* stated = attribute("activations");
      stated != nullptr && stated->strings_size() > 0 && stated->strings_size() != activations)
    return wrong("activations: found " + std::to_string(stated->strings_size()) + ", expected " +
                 std::to_string(activations));
  TRY(expect_sizes(1, {ways, rows, x[2]}));
  TRY(expect_sizes(2, {ways, rows, hidden}));
  TRY(expect_sizes(3, {ways, 2 * rows}));
  const std::size_t batch = integer("layout", 0) == 1 ? 0 : 1;
  if (has(4) && in(4).dims != Dims{1}) TRY(expect_sizes(4, {x[batch]}));  // exported with one sample
  TRY(check_lengths(4, x[1 - batch]));
  for (int i = 5; i < 7; ++i) {  // states to begin with, exported with one sample
    if (!has(i)) continue;
    Dims states{ways, ways, hidden};
    const Dims own = in(i).dims;
    states[batch] = own.size() == 3 && own[batch] == 1 ? 1 : x[batch];
    TRY(expect_sizes(i, states));
  }
  return expect_sizes(7, {ways, 3 * hidden});
}

/// Products have one type: numbers of a file that are whole ones are none of floating-point ones.
Result<void> OnnxLowering::check_factors() {
  TRY(check_types_of_factors());
  const auto floats = [&](int i) {
    return in(i).tensor ? eager_.element(*in(i).tensor).floating : in(i).element.floating;
  };
  for (int i = 0; i < node_->input_size(); ++i) {
    if (!has(i) || !in(i).weight || floats(i)) continue;
    for (int k = 0; k < node_->input_size(); ++k) {
      if (has(k) && floats(k))
        return wrong_input(i, "found whole numbers of " + counted(in(i).element.bytes, "byte") +
                                  ", expected floating-point ones as of input " + std::to_string(k));
    }
  }
  return node_->op_type() == "Gemm" ? check_gemm() : node_->op_type() == "MatMul" ? Result<void>() : check_filters();
}

/// Products have one type of floating-point numbers, as far as the file says which they are.
Result<void> OnnxLowering::check_types_of_factors() {
  const auto element = [&](int i) { return in(i).tensor ? eager_.element(*in(i).tensor) : in(i).element; };
  const auto is_stated = [&](int i) {
    const auto stated = stated_.find(node_->input(i));
    if (!makers_.contains(node_->input(i))) return true;
    if (stated == stated_.end() || !stated->second->has_tensor_type()) return false;
    const auto of_file = element_of(stated->second->tensor_type().elem_type());
    return of_file.ok() && of_file->dtype == element(i).dtype && of_file->floating == element(i).floating;
  };
  std::optional<int> first;
  for (int i = 0; i < node_->input_size(); ++i) {
    if (!has(i)) continue;
    if (in(i).is_complex) return wrong_input(i, "found complex numbers, expected real ones");
    if (!element(i).floating || !is_stated(i)) continue;
    if (!first) first = i;
    if (element(i).dtype != element(*first).dtype)
      return wrong_input(i, "found " + std::string(graph::name_of(element(i).dtype)) + ", expected the " +
                                std::string(graph::name_of(element(*first).dtype)) + " of input " +
                                std::to_string(*first));
  }
  return {};
}

Result<void> OnnxLowering::check_parts() {
  if (!has(0)) return {};
  const Dims first = in(0).dims;
  TRY_ASSIGN(const std::size_t axis, axis_of(concat_axis(), first.size()));
  for (int i = 1; i < node_->input_size(); ++i) {
    if (!has(i)) continue;
    Dims own = in(i).dims;
    if (own.size() == first.size()) own[axis] = first[axis];
    if (own == first) continue;
    return wrong_input(i, "found " + sizes_text(in(i).dims) + ", expected the " + text_of(first) +
                              " of input 0 in all dimensions but " + std::to_string(axis));
  }
  return {};
}

Result<void> OnnxLowering::check_gather() {
  TRY_ASSIGN(const std::size_t axis, axis_of(integer("axis", 0), in(0).dims.size()));
  return check_range(1, {in(0).dims[axis]});
}

/// Places have as many dimensions as what they are of, and none that is larger but the indexed one; updates are as many.
Result<void> OnnxLowering::check_elements() {
  if (!has(1)) return {};
  const Dims x = in(0).dims, places = in(1).dims;
  TRY_ASSIGN(const std::size_t axis, axis_of(integer("axis", 0), x.size()));
  bool fits = places.size() == x.size();
  for (std::size_t i = 0; fits && i < x.size(); ++i) fits = i == axis || places[i] <= x[i];
  if (!fits)
    return wrong_input(1, "found " + sizes_text(places) + ", expected at most the " + text_of(x) +
                              " of input 0 in all dimensions but " + std::to_string(axis));
  TRY(check_range(1, {x[axis]}));
  return node_->op_type() == "GatherElements" ? Result<void>() : expect_sizes(2, places);
}

/// The last dimension of the places has coordinates; an update for each place has what they leave open.
Result<void> OnnxLowering::check_coordinates() {
  if (!has(1) || in(1).dims.empty()) return {};
  const Dims x = in(0).dims, places = in(1).dims;
  const bool scatters = node_->op_type() == "ScatterND";
  const std::int64_t shared = scatters ? 0 : std::clamp<std::int64_t>(integer("batch_dims", 0), 0, 32);
  const std::int64_t last = shared + places.back(), rank = static_cast<std::int64_t>(x.size());
  if (last > rank)
    return wrong_input(1, "found " + counted(static_cast<std::uint64_t>(places.back()), "coordinate") +
                              ", expected at most the " + std::to_string(std::max<std::int64_t>(0, rank - shared)) +
                              " of input 0");
  TRY(check_range(1, Dims(x.begin() + shared, x.begin() + last)));
  Dims updates(places.begin(), places.end() - 1);
  updates.insert(updates.end(), x.begin() + last, x.end());
  return scatters ? expect_sizes(2, updates) : Result<void>();
}

Result<void> OnnxLowering::check_top_k() {
  if (!has(1) || !in(1).numbers || in(1).numbers->size() != 1) return {};
  TRY_ASSIGN(const std::size_t axis, axis_of(integer("axis", -1), in(0).dims.size()));
  const std::int64_t k = in(1).numbers->front(), size = in(0).dims[axis];
  if (k <= size || (any_batch_ && samples_ != kSamples.back())) return {};
  return wrong_input(1, "found " + std::to_string(k) + ", expected at most the " + std::to_string(size) +
                            " of dimension " + std::to_string(axis));
}

/// The dimension along which is summed is a constant in most models.
Result<void> OnnxLowering::check_cumulative() {
  if (!has(1)) return {};
  const OnnxValue& along = in(1);
  if (product(along.dims) != 1 || along.element.floating)
    return wrong_input(1, "found " + sizes_text(along.dims) +
                              (along.element.floating ? " that is no whole number" : "") +
                              ", expected the number of one dimension");
  if (!along.numbers || along.numbers->size() != 1) return {};
  TRY(axis_of(along.numbers->front(), in(0).dims.size()));
  return {};
}

/// A class for everything but the second dimension, which has their scores; a weight for each class.
Result<void> OnnxLowering::check_targets() {
  Dims x = in(0).dims;
  if (!has(1) || x.size() < 2) return {};
  TRY(expect_sizes(2, {x[1]}));
  x.erase(x.begin() + 1);
  TRY(expect_sizes(1, x));
  if (!in(1).element.floating) return {};
  return wrong_input(1, "found targets that are no whole numbers, expected classes of int32 or int64");
}

/// Of ops whose inputs depend on each other.
Result<void> OnnxLowering::check_operands() {
  using L = OnnxLowering;
  static constexpr std::pair<std::string_view, Handler> kChecks[] = {
      {"BatchNormalization", &L::check_channels},
      {"InstanceNormalization", &L::check_channels},
      {"GroupNormalization", &L::check_channels},
      {"LayerNormalization", &L::check_rows},
      {"RMSNormalization", &L::check_rows},
      {"PRelu", &L::check_rows},
      {"Conv", &L::check_factors},
      {"ConvTranspose", &L::check_factors},
      {"Gemm", &L::check_factors},
      {"MatMul", &L::check_factors},
      {"LSTM", &L::check_recurrent},
      {"GRU", &L::check_recurrent},
      {"RNN", &L::check_recurrent},
      {"Concat", &L::check_parts},
      {"Gather", &L::check_gather},
      {"GatherElements", &L::check_elements},
      {"ScatterElements", &L::check_elements},
      {"Scatter", &L::check_elements},
      {"GatherND", &L::check_coordinates},
      {"ScatterND", &L::check_coordinates},
      {"TopK", &L::check_top_k},
      {"CumSum", &L::check_cumulative},
      {"SoftmaxCrossEntropyLoss", &L::check_targets},
      {"NegativeLogLikelihoodLoss", &L::check_targets},
  };
  const auto at = std::ranges::find(kChecks, node_->op_type(), [](const auto& c) { return c.first; });
  return at == std::end(kChecks) || !has(0) ? Result<void>() : (this->*at->second)();
}

/// "dimension 1 of 99, expected 32": what a model states of a value against what is made. A stated 1 may be the batch that it
/// was exported with, and exporters leave a shape empty where they do not know it. Empty: they agree.
std::string OnnxLowering::contradiction(const onnx::ValueInfo& stated, const Dims& made) const {
  if (!stated.type().has_tensor_type() || !stated.type().tensor_type().has_shape()) return "";
  const onnx::Shape& shape = stated.type().tensor_type().shape();
  if (shape.dim_size() == 0) return "";
  if (static_cast<std::size_t>(shape.dim_size()) != made.size())
    return counted(static_cast<std::uint64_t>(shape.dim_size()), "dimension") + ", expected " +
           std::to_string(made.size());
  for (int i = 0; i < shape.dim_size(); ++i) {
    const onnx::Dimension& d = shape.dim(i);
    const std::int64_t own = made[static_cast<std::size_t>(i)];
    const bool of_batch = any_batch_ && own % samples_ == 0 && d.dim_value() == own / samples_;
    if (!d.has_dim_value() || d.dim_value() <= 0 || d.dim_value() == own || of_batch) continue;
    return "dimension " + std::to_string(i) + " of " + std::to_string(d.dim_value()) + ", expected " +
           std::to_string(own);
  }
  return "";
}

/// "elements of 8 bytes, whole numbers, expected ...": of what a model states of a value against what is made. Empty: they
/// agree, or one is not known.
std::string OnnxLowering::other_element(const onnx::ValueInfo& stated, const OnnxValue& made) const {
  if (!stated.type().has_tensor_type()) return "";
  const auto element = element_of(stated.type().tensor_type().elem_type());
  const Element& own = made.tensor ? eager_.element(*made.tensor) : made.element;
  if (!element.ok() || (element->bytes == own.bytes && element->floating == own.floating)) return "";
  const auto text = [](const Element& e) {
    return std::string(e.floating ? "floating-point" : "whole") + " numbers of " + counted(e.bytes, "byte");
  };
  return text(*element) + ", expected " + text(own);
}

/// Outputs are as stated. Of values between, which tools that change a model leave as they were, one is named.
Result<void> OnnxLowering::check_results() {
  for (const onnx::ValueInfo& output : onnx_.output()) {
    const auto at = values_.find(output.name());
    if (at == values_.end()) continue;
    if (const std::string what = contradiction(output, at->second.dims); !what.empty())
      return wrong("output " + in_quotes(output.name(), 120) + ": found " + what + ", which its node makes");
  }
  const auto remark_on = [&](const char* of, const onnx::ValueInfo& value, bool sizes) {
    const auto at = values_.find(value.name());
    if (at == values_.end()) return false;
    std::string what = sizes ? contradiction(value, at->second.dims) : "";
    if (what.empty()) what = other_element(value, at->second);
    if (what.empty()) return false;
    graph_.remarks.push_back(of + in_quotes(value.name(), 120) + ": found " + what +
                             ", which its node makes; what is stated is not used");
    return true;
  };
  std::ranges::any_of(onnx_.output(), [&](const auto& value) { return remark_on("output ", value, false); });
  std::ranges::any_of(onnx_.value_info(), [&](const auto& value) { return remark_on("value_info ", value, true); });
  if (unknown_attributes_ > 0)
    graph_.remarks.push_back(
        unknown_attribute_ + (unknown_attribute_.ends_with('?') ? " It" : "; it") + " is not used" +
        (unknown_attributes_ == 1 ? "" : ", as " + std::to_string(unknown_attributes_ - 1) + " more"));
  if (!unused_pads_.empty()) graph_.remarks.push_back(unused_pads_);
  return {};
}

}  // namespace distsim::opgraph
