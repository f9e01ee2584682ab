// The frame: names, types, the order of nodes.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "base/text/quantity_text.hpp"
#include "sim/opgraph/onnx/onnx_reader.hpp"

namespace distsim::opgraph {
namespace {

constexpr std::size_t kMostNumbers = 65'536;  // of a constant that shapes are computed from

/// TensorProto.DataType.
constexpr std::string_view kOnnxTypes[] = {
    "",          "float32",    "uint8",    "int8",          "int16",           "int16",       "int32",
    "int64",     "",           "bool",     "float16",       "float64",         "int32",       "int64",
    "complex64", "complex128", "bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"};

bool is_complex(std::int32_t type) { return type == 14 || type == 15; }

bool bytes_as_numbers(const onnx::Tensor& t, std::vector<std::int64_t>& out) {
  const std::string& raw = t.raw_data();
  const auto take = [&]<class T>(T) {
    out.resize(raw.size() / sizeof(T));
    for (std::size_t i = 0; i < out.size(); ++i) {
      T value;
      std::memcpy(&value, raw.data() + i * sizeof(T), sizeof(T));
      out[i] = static_cast<std::int64_t>(value);
    }
    return true;
  };
  switch (t.data_type()) {
    case 7:
      return take(std::int64_t{});
    case 6:
      return take(std::int32_t{});
    case 9:
      return take(std::uint8_t{});
    default:
      return false;
  }
}

std::vector<double> floats_in(const onnx::Tensor& t) {
  if (t.raw_data().empty()) return {t.float_data().begin(), t.float_data().end()};
  std::vector<float> values(t.raw_data().size() / sizeof(float));
  std::memcpy(values.data(), t.raw_data().data(), values.size() * sizeof(float));
  return {values.begin(), values.end()};
}

/// IEEE 754 binary16.
double half_of(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  const double magnitude = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

}  // namespace

/// Of a constant of one element in the file, of a type that the constants of a call have.
std::optional<double> OnnxLowering::number_in(const onnx::Tensor& t) {
  const std::string& raw = t.raw_data();
  const auto as = [&]<class T>(T value) -> std::optional<double> {
    if (raw.size() != sizeof(T)) return std::nullopt;
    std::memcpy(&value, raw.data(), sizeof(T));
    return static_cast<double>(value);
  };
  for (const std::int64_t d : t.dims()) {
    if (d != 1) return std::nullopt;
  }
  switch (t.data_type()) {
    case 1:
      return t.float_data_size() == 1 ? std::optional<double>(t.float_data(0)) : as(float{});
    case 11:
      return t.double_data_size() == 1 ? std::optional<double>(t.double_data(0)) : as(double{});
    case 7:
      return t.int64_data_size() == 1 ? std::optional<double>(t.int64_data(0)) : as(std::int64_t{});
    case 6:
      return t.int32_data_size() == 1 ? std::optional<double>(t.int32_data(0)) : as(std::int32_t{});
    case 10: {
      if (t.int32_data_size() == 1) return half_of(static_cast<std::uint16_t>(t.int32_data(0)));
      const std::optional<double> bits = as(std::uint16_t{});
      return bits ? std::optional(half_of(static_cast<std::uint16_t>(*bits))) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

OnnxLowering::OnnxLowering(const onnx::Model& model, const GraphOptions& options, std::int64_t samples, OpGraph& graph)
    : model_(model), onnx_(model.graph()), options_(options), samples_(samples), graph_(graph), eager_(graph) {}

Error OnnxLowering::wrong(const std::string& what) const {
  if (node_ == nullptr) return {what, graph_.file, ""};
  const std::string& name = !node_->name().empty() || node_->output_size() == 0 ? node_->name() : node_->output(0);
  return {"node " + in_quotes(name, 120) + " (" + printable(node_->op_type(), 60) + "): " + what, graph_.file, ""};
}

Result<Element> OnnxLowering::element_of(std::int32_t type) const {
  const bool known = type > 0 && static_cast<std::size_t>(type) < std::size(kOnnxTypes);
  const std::optional<Element> element =
      known ? element_named(kOnnxTypes[static_cast<std::size_t>(type)]) : std::nullopt;
  if (!element)
    return wrong("found elements of type " + std::to_string(type) +
                 ", expected numbers, such as float (1) or int64 (7)");
  return *element;
}

Result<Dims> OnnxLowering::checked(Dims dims) const {
  if (dims.size() > kMostDims) return wrong("found more than 32 dimensions, expected fewer");
  double all = 1;
  for (const std::int64_t d : dims) {
    if (d < 0 || d > kLargestExtent) return wrong("found the size " + std::to_string(d) + ", expected 0 .. 2^48");
    all *= static_cast<double>(std::max<std::int64_t>(1, d));
  }
  if (all > 1e17) return wrong("found a tensor of more than 1e17 elements, expected fewer");
  return dims;
}

/// A tensor states its sizes and holds its values, unless these were left out or are in another file: weights are not looked
/// at.
Result<void> OnnxLowering::check_data(const onnx::Tensor& t, const OnnxValue& value) const {
  if (t.data_location() == 1) return {};
  const double elements = product(value.dims);
  double found = static_cast<double>(
                     std::max({t.float_data_size(), t.int32_data_size(), t.int64_data_size(), t.double_data_size()})) /
                 (is_complex(t.data_type()) ? 2 : 1);
  if (!t.raw_data().empty())
    found = static_cast<double>(t.raw_data().size()) / static_cast<double>(value.element.bytes);
  if (found == elements || found == 0) return {};
  return wrong("'" + printable(t.name(), 120) + "': found values for " + format_quantity(found, Dimension::none) +
               " elements, expected " + std::to_string(count(elements)));
}

Result<void> OnnxLowering::read_constant(const onnx::Tensor& t, OnnxValue& value) {
  TRY_ASSIGN(value.dims, checked(Dims(t.dims().begin(), t.dims().end())));
  TRY_ASSIGN(value.element, element_of(t.data_type()));
  value.is_complex = is_complex(t.data_type());
  TRY(check_data(t, value));
  const double elements = product(value.dims);
  value.scalar = elements == 1;
  if (value.scalar) value.number = number_in(t);
  if (t.data_type() == 1 && value.dims.size() == 1 && value.dims[0] <= static_cast<std::int64_t>(kMostDims))
    value.scales = floats_in(t);
  if (value.element.floating || elements > static_cast<double>(kMostNumbers) || t.data_location() == 1) return {};
  std::vector<std::int64_t> numbers;
  if (!t.raw_data().empty()) {
    if (!bytes_as_numbers(t, numbers)) return {};
  } else if (t.int64_data_size() > 0) {
    numbers.assign(t.int64_data().begin(), t.int64_data().end());
  } else {
    numbers.assign(t.int32_data().begin(), t.int32_data().end());
  }
  if (static_cast<double>(numbers.size()) != elements)
    return wrong("'" + printable(t.name()) + "': found " + std::to_string(numbers.size()) + " elements, expected " +
                 std::to_string(count(elements)));
  value.numbers = std::move(numbers);
  return {};
}

Result<void> OnnxLowering::read_initializers() {
  for (const onnx::Tensor& t : onnx_.initializer()) {
    OnnxValue value;
    TRY(read_constant(t, value));
    value.weight = true;
    value.frozen = !value.element.floating || t.dims_size() == 0;
    if (!values_.emplace(t.name(), std::move(value)).second)
      return wrong("found the initializer " + in_quotes(t.name(), 120) + " twice, expected it once");
  }
  for (const onnx::Node& n : onnx_.node()) {
    for (int i = 3; n.op_type() == "BatchNormalization" && i < std::min(5, n.input_size()); ++i) {
      const auto at = values_.find(n.input(i));
      if (at != values_.end()) at->second.frozen = true;  // running means and variances
    }
  }
  return {};
}

Result<void> OnnxLowering::read_inputs() {
  find_batch();
  std::unordered_set<std::string> seen;
  for (const onnx::ValueInfo& input : onnx_.input()) {
    if (!seen.insert(input.name()).second)
      return wrong("found the input " + in_quotes(input.name(), 120) + " twice, expected it once");
    if (const auto weight = values_.find(input.name()); weight != values_.end()) {
      // Models of 2018 list their weights among the inputs.
      if (const std::string what = contradiction(input, weight->second.dims); !what.empty())
        return wrong("input " + in_quotes(input.name(), 120) + ": found " + what + ", as its initializer has");
      continue;
    }
    if (!input.type().has_tensor_type() || !input.type().tensor_type().has_shape())
      return wrong("input " + in_quotes(input.name()) + ": found no shape, expected a tensor with one");
    OnnxValue value;
    const onnx::TensorType& type = input.type().tensor_type();
    TRY_ASSIGN(value.element, element_of(type.elem_type()));
    value.is_complex = is_complex(type.elem_type());
    int place = 0;
    for (const onnx::Dimension& d : type.shape().dim()) {
      TRY_ASSIGN(const std::int64_t size, size_of(d, input.name(), place++));
      value.dims.push_back(size);
    }
    TRY_ASSIGN(value.dims, checked(std::move(value.dims)));
    if (batch_ == 0) batch_ = batch_of(value.dims, input.name());
    value.tensor = eager_.tensor(Dims(value.dims), value.element, TensorRole::input, printable(input.name(), 200));
    values_[input.name()] = std::move(value);
  }
  return {};
}

Result<void> OnnxLowering::read_types() {
  for (const onnx::ValueInfo& v : onnx_.value_info()) stated_[v.name()] = &v.type();
  for (const onnx::ValueInfo& v : onnx_.output()) stated_[v.name()] = &v.type();
  for (const onnx::OperatorSet& set : model_.opset_import()) {
    if (set.domain().empty() || set.domain() == "ai.onnx") opset_ = set.version();
  }
  constexpr std::int64_t kNewestOpset = 26, kFirstFormatWithOpsets = 3;
  if (opset_ < 1 && (opset_ < 0 || model_.ir_version() >= kFirstFormatWithOpsets))
    return wrong("opset_import: found " + (opset_ < 0 ? std::to_string(opset_) : std::string("none")) +
                 " for ai.onnx, expected the version of its ops");
  if (opset_ > kNewestOpset)
    graph_.remarks.push_back("the ops are of opset " + std::to_string(opset_) + ", and read as those of " +
                             std::to_string(kNewestOpset) + ", the newest that is known");
  return {};
}

/// A node may only read what an earlier one has made, so that there are no cycles.
Result<void> OnnxLowering::check_order() {
  for (const onnx::ValueInfo& output : onnx_.output()) outputs_.insert(output.name());
  for (int i = 0; i < onnx_.node_size(); ++i) {
    for (const std::string& output : onnx_.node(i).output()) {
      if (output.empty()) continue;
      node_ = &onnx_.node(i);
      if (values_.contains(output))
        return wrong("makes " + in_quotes(output, 120) +
                     ", which is an input or initializer; expected a name of its own");
      if (!makers_.emplace(output, i).second)
        return wrong("makes " + in_quotes(output, 120) +
                     ", which another output is called; expected a name of its own");
    }
  }
  node_ = nullptr;
  for (const std::string& output : outputs_) {
    if (!makers_.contains(output) && !values_.contains(output))
      return wrong("output " + in_quotes(output, 120) + ": found no node that makes it, expected one");
  }
  for (int i = 0; i < onnx_.node_size(); ++i) {
    node_ = &onnx_.node(i);
    for (const std::string& input : node_->input()) {
      if (input.empty()) continue;
      readers_[input].push_back(i);
      if (values_.contains(input)) continue;
      const auto by = makers_.find(input);
      if (by == makers_.end())
        return wrong("reads " + in_quotes(input) +
                     ", which nothing makes; expected an input, an initializer or a result");
      if (by->second >= i)
        return wrong("reads " + in_quotes(input) +
                     ", which no earlier node makes; expected nodes in the order of their "
                     "calls, without cycles");
    }
    TRY(check_attributes());
    TRY(check_required());
  }
  node_ = nullptr;
  return {};
}

Result<void> OnnxLowering::run() {
  graph_.name = printable(onnx_.name(), 80);
  if (onnx_.node_size() == 0) return wrong("found no nodes, expected at least one");
  if (static_cast<std::size_t>(onnx_.node_size()) > kMostNodes)
    return wrong("found more than 2,000,000 nodes, expected fewer");
  TRY(read_initializers());
  TRY(read_inputs());
  TRY(read_types());
  TRY(check_order());
  TRY(run_nodes());
  node_ = nullptr;
  if (onnx_.output_size() == 0) return wrong("found no outputs, expected at least one");
  TRY(check_results());
  for (const onnx::ValueInfo& output : onnx_.output()) {
    const auto at = values_.find(output.name());
    if (at != values_.end() && at->second.tensor) graph_.results.push_back(*at->second.tensor);
  }
  if (!options_.forward_only) begin_backward();
  eager_.finish();
  if (graph_.nodes.empty()) return wrong("found no node that computes anything, expected at least one");
  return {};
}

/// From all outputs that depend on a parameter; a cross entropy from the first of them, and the others are named.
void OnnxLowering::begin_backward() {
  Eager::Ids outputs;
  std::string first, others;
  for (const onnx::ValueInfo& output : onnx_.output()) {
    const auto at = values_.find(output.name());
    if (at == values_.end() || !at->second.tensor || !eager_.needs_gradient(*at->second.tensor)) continue;
    outputs.push_back(*at->second.tensor);
    if (first.empty())
      first = output.name();
    else
      others += (others.empty() ? "" : ", ") + in_quotes(output.name());
  }
  if (outputs.empty()) return;
  const bool scores = options_.cross_entropy && product(eager_.dims(outputs.front())) > 1;
  if (scores && !others.empty())
    graph_.remarks.push_back("the loss is the cross entropy of output " + in_quotes(first) + "; not of " +
                             printable(others, 200));
  eager_.backward(outputs, scores ? Eager::Loss::cross_entropy : Eager::Loss::sum);
}

Result<void> OnnxLowering::run_nodes() {
  done_.assign(static_cast<std::size_t>(onnx_.node_size()), false);
  for (place_ = 0; place_ < onnx_.node_size(); ++place_) {
    if (done_[static_cast<std::size_t>(place_)]) continue;
    node_ = &onnx_.node(place_);
    name_of_call();
    TRY(run_node());
  }
  return {};
}

/// "blocks.0.attention" of "/blocks.0/attention/MatMul", as PyTorch names what it exports.
void OnnxLowering::name_of_call() {
  std::string label = node_->name();
  if (label.starts_with("/")) label.erase(0, 1);
  if (const std::size_t last = label.rfind('/'); last != label.npos) label.resize(last);
  std::ranges::replace(label, '/', '.');
  eager_.begin(label.empty() ? node_->op_type() + " " + std::to_string(place_) : printable(label, 200));
}

Result<void> OnnxLowering::run_node() {
  for (const std::string& input : node_->input()) {
    if (!input.empty() && !values_.contains(input))
      return wrong("reads " + in_quotes(input) + ", which the node that makes it is not known to give");
  }
  TRY_ASSIGN(const bool folded, fold());
  if (folded || fold_scalars()) return {};
  const bool standard = node_->domain().empty() || node_->domain() == "ai.onnx";
  const bool of_aten = node_->op_type() == "ATen";
  rule_ = standard || of_aten ? rule_of(node_->op_type()) : nullptr;
  if (standard) TRY(check_operands());
  return rule_ != nullptr ? (this->*rule_->run)() : unknown();
}

/// Single constants that are computed from single constants: the host does it.
bool OnnxLowering::fold_scalars() {
  if (node_->input_size() == 0 || node_->output_size() != 1) return false;
  for (int i = 0; i < node_->input_size(); ++i) {
    if (!has(i) || !in(i).scalar || in(i).tensor || (in(i).weight && !in(i).frozen)) return false;
  }
  const Rule* rule = rule_of(node_->op_type());
  const bool pointwise = rule != nullptr && (rule->run == &OnnxLowering::unary || rule->run == &OnnxLowering::binary ||
                                             rule->run == &OnnxLowering::cast);
  if (!pointwise) return false;
  OnnxValue value = in(0);
  value.numbers.reset();
  value.weight = false, value.frozen = true;
  values_[node_->output(0)] = std::move(value);
  return true;
}

Result<OnnxLowering::Id> OnnxLowering::tensor(int input) {
  if (!has(input)) return wrong("found no input " + std::to_string(input) + ", expected one");
  OnnxValue& value = in(input);
  if (!value.tensor) {
    const TensorRole role = value.weight && !value.frozen ? TensorRole::parameter : TensorRole::buffer;
    value.tensor = eager_.tensor(Dims(value.dims), value.element, role, printable(node_->input(input), 200));
  }
  return *value.tensor;
}

Result<std::vector<std::int64_t>> OnnxLowering::numbers(int input, std::string_view what) {
  if (!has(input)) return wrong(std::string(what) + ": found no input " + std::to_string(input) + ", expected one");
  const OnnxValue& value = in(input);
  if (!value.numbers)
    return wrong(std::string(what) + ", " + in_quotes(node_->input(input)) +
                 ": found values that follow from the data, or that are in another file; expected a constant");
  return *value.numbers;
}

const onnx::Attribute* OnnxLowering::attribute(std::string_view name) const {
  for (const onnx::Attribute& a : node_->attribute()) {
    if (a.name() == name) return &a;
  }
  return nullptr;
}

std::int64_t OnnxLowering::integer(std::string_view name, std::int64_t otherwise) const {
  const onnx::Attribute* a = attribute(name);
  if (a == nullptr) return otherwise;
  const bool other =
      a->has_f() || a->has_s() || a->has_t() || a->floats_size() > 0 || a->ints_size() > 0 || a->strings_size() > 0;
  return a->has_i() || !other ? a->i() : otherwise;  // a zero that its writer left out
}

std::vector<std::int64_t> OnnxLowering::integers(std::string_view name) const {
  const onnx::Attribute* a = attribute(name);
  return a == nullptr ? std::vector<std::int64_t>{} : std::vector<std::int64_t>(a->ints().begin(), a->ints().end());
}

std::string OnnxLowering::text(std::string_view name) const {
  const onnx::Attribute* a = attribute(name);
  return a == nullptr ? "" : a->s();
}

Result<std::size_t> OnnxLowering::axis_of(std::int64_t axis, std::size_t rank) const {
  const auto n = static_cast<std::int64_t>(rank);
  if (axis < -n || axis >= n)
    return wrong("found the axis " + std::to_string(axis) + " of a tensor with " + std::to_string(rank) +
                 " dimensions");
  return static_cast<std::size_t>(axis < 0 ? axis + n : axis);
}

Result<void> OnnxLowering::expect_once(std::vector<std::size_t> axes) const {
  std::ranges::sort(axes);
  const auto twice = std::ranges::adjacent_find(axes);
  return twice == axes.end() ? Result<void>()
                             : wrong("axes: found " + std::to_string(*twice) + " twice, expected once");
}

Result<std::vector<std::int64_t>> OnnxLowering::listed(std::string_view attribute_name, int input) {
  if (has(input)) return numbers(input, attribute_name);
  return integers(attribute_name);
}

Result<void> OnnxLowering::give(Id t, int output) {
  if (output >= node_->output_size() || node_->output(output).empty()) return {};
  OnnxValue value;
  TRY_ASSIGN(value.dims, checked(Dims(eager_.dims(t))));
  value.element = eager_.element(t);
  value.tensor = t;
  values_[node_->output(output)] = std::move(value);
  return {};
}

Result<void> OnnxLowering::give_numbers(Dims dims, std::vector<std::int64_t> numbers) {
  if (node_->output_size() == 0) return wrong("found no output, expected one");
  if (numbers.size() > kMostNumbers) return wrong("found more than 65,536 constants to compute with, expected fewer");
  for (const std::int64_t n : numbers) {
    if (n > kLargestExtent && n != INT64_MAX) return wrong("found " + std::to_string(n) + ", expected at most 2^48");
  }
  OnnxValue value;
  value.scalar = numbers.size() == 1;
  value.dims = std::move(dims);
  value.element = {graph::DType::int64, 8, false};
  value.numbers = std::move(numbers);
  values_[node_->output(0)] = std::move(value);
  return {};
}

Result<bool> OnnxLowering::broadcasts(const Dims& a, const Dims& b) const {
  for (std::size_t i = 1; i <= std::min(a.size(), b.size()); ++i) {
    const std::int64_t x = a[a.size() - i], y = b[b.size() - i];
    if (x != y && x != 1 && y != 1)
      return wrong("found tensors of sizes " + std::to_string(x) + " and " + std::to_string(y) +
                   " in one dimension, expected equal ones or 1");
  }
  return true;
}

/// Sizes of the results that the file states; fewer than there are results where it does not.
std::vector<Dims> OnnxLowering::stated_results(std::vector<Element>& types) const {
  std::vector<Dims> out;
  for (const std::string& name : node_->output()) {
    const auto at = stated_.find(name);
    if (at == stated_.end() || !at->second->has_tensor_type() || !at->second->tensor_type().has_shape()) return out;
    const onnx::TensorType& type = at->second->tensor_type();
    const auto element = element_of(type.elem_type());
    Dims dims;
    for (const onnx::Dimension& d : type.shape().dim()) {
      const auto given = options_.dimensions.find(d.dim_param());
      if (d.has_dim_value())
        dims.push_back(d.dim_value());
      else if (given != options_.dimensions.end())
        dims.push_back(given->second);
      else if (!d.dim_param().empty() && d.dim_param() == batch_name_)
        dims.push_back(samples_);
      else
        return out;
    }
    auto sizes = checked(std::move(dims));
    if (!element.ok() || !sizes.ok()) return out;
    types.push_back(*element);
    out.push_back(std::move(*sizes));
  }
  return out;
}

}  // namespace distsim::opgraph
