// Calls that exporters write out in several nodes though PyTorch runs one kernel for them. They are taken as that kernel where
// nothing else reads what is between the nodes, and their constants are those of the call.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "sim/opgraph/onnx/onnx_reader.hpp"

namespace distsim::opgraph {

std::optional<int> OnnxLowering::only_reader(const std::string& value, std::string_view op) const {
  const auto at = readers_.find(value);
  if (at == readers_.end() || at->second.size() != 1 || outputs_.contains(value)) return std::nullopt;
  const onnx::Node& next = onnx_.node(at->second.front());
  const bool fits = next.domain().empty() && next.op_type() == op && next.input_size() > 0 && next.output_size() == 1;
  return fits ? std::optional(at->second.front()) : std::nullopt;
}

/// A constant of one element, which may be made by a node further on.
std::optional<double> OnnxLowering::number(const std::string& name) const {
  if (const auto at = values_.find(name); at != values_.end()) return at->second.number;
  const auto by = makers_.find(name);
  if (by == makers_.end() || onnx_.node(by->second).op_type() != "Constant") return std::nullopt;
  for (const onnx::Attribute& a : onnx_.node(by->second).attribute()) {
    if (a.name() == "value") return number_in(a.t());
    if (a.name() == "value_float") return a.f();
    if (a.name() == "value_int") return static_cast<double>(a.i());
  }
  return std::nullopt;
}

bool OnnxLowering::goes_on(Chain& chain, std::string_view op) const {
  const std::optional<int> next = only_reader(chain.value, op);
  if (!next) return false;
  chain.nodes.push_back(*next);
  chain.value = onnx_.node(*next).output(0);
  return true;
}

/// Through an op of two values, of which the other is `other`.
bool OnnxLowering::goes_on(Chain& chain, std::string_view op, const std::string& other) const {
  const std::string before = chain.value;
  if (!goes_on(chain, op)) return false;
  const onnx::Node& node = onnx_.node(chain.nodes.back());
  return node.input_size() == 2 && node.input(node.input(0) == before ? 1 : 0) == other;
}

bool OnnxLowering::goes_on(Chain& chain, std::string_view op, double constant) const {
  const std::string before = chain.value;
  if (!goes_on(chain, op)) return false;
  const onnx::Node& node = onnx_.node(chain.nodes.back());
  if (node.input_size() != 2) return false;
  const std::optional<double> found = number(node.input(node.input(0) == before ? 1 : 0));
  return found && std::abs(*found - constant) < 1e-2 * constant;  // in 16 bits
}

Result<void> OnnxLowering::give_chain(const Chain& chain, Id result) {
  for (const int place : chain.nodes) done_[static_cast<std::size_t>(place)] = true;
  node_ = &onnx_.node(chain.nodes.back());
  return give(result);
}

/// x / sqrt(2), erf, + 1, * x, * 0.5; or by tanh, as functional.gelu(approximate="tanh") is exported, which cubes by products.
std::optional<OnnxLowering::Chain> OnnxLowering::written_out_gelu() const {
  if (node_->input_size() != 2 || node_->output_size() != 1) return std::nullopt;
  const std::string& x = node_->input(0);
  Chain chain{node_->output(0), {}};
  if (node_->op_type() == "Div") {
    const std::optional<double> by = number(node_->input(1));
    if (by && std::abs(*by - std::numbers::sqrt2) < 1e-2 && goes_on(chain, "Erf") && goes_on(chain, "Add", 1.0) &&
        goes_on(chain, "Mul", x) && goes_on(chain, "Mul", 0.5))
      return chain;
  } else if (node_->op_type() == "Mul" && node_->input(1) == x) {
    const double scale = std::sqrt(2 / std::numbers::pi);
    if (goes_on(chain, "Mul", x) && goes_on(chain, "Mul", 0.044715) && goes_on(chain, "Add", x) &&
        goes_on(chain, "Mul", scale) && goes_on(chain, "Tanh") && goes_on(chain, "Add", 1.0) &&
        goes_on(chain, "Mul", x) && goes_on(chain, "Mul", 0.5))
      return chain;
  }
  return std::nullopt;
}

/// The last dimensions that a node averages over, which it keeps; 0 where it averages over others.
std::size_t OnnxLowering::averaged(const onnx::Node& mean, std::size_t rank) const {
  std::vector<std::int64_t> axes;
  for (const onnx::Attribute& a : mean.attribute()) {
    if (a.name() == "axes") axes.assign(a.ints().begin(), a.ints().end());
    if (a.name() == "keepdims" && a.i() == 0) return 0;
  }
  for (std::int64_t& a : axes) a = a < 0 ? a + static_cast<std::int64_t>(rank) : a;
  std::ranges::sort(axes);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != static_cast<std::int64_t>(rank - axes.size() + i)) return 0;
  }
  return axes.size();
}

/// The mean, x - mean, its square's mean, + epsilon, the root, the quotient. From opset 17 on there is an op for it, and what is
/// written out was so in the model.
std::optional<OnnxLowering::Chain> OnnxLowering::written_out_norm(std::size_t rank) const {
  const std::size_t row = averaged(*node_, rank);
  Chain chain{node_->output(0), {}};
  if (opset_ >= 17 || row == 0 || !goes_on(chain, "Sub", node_->input(0))) return std::nullopt;
  const onnx::Node& centred = onnx_.node(chain.nodes.back());
  const auto readers = readers_.find(chain.value);
  if (centred.input(0) != node_->input(0) || readers == readers_.end() || readers->second.size() != 2 ||
      outputs_.contains(chain.value))
    return std::nullopt;
  for (const int place : readers->second) {
    const onnx::Node& square = onnx_.node(place);
    if (square.op_type() != "Pow" || square.input_size() != 2 || square.output_size() != 1 ||
        square.input(0) != chain.value || number(square.input(1)) != 2.0)
      continue;
    Chain root{square.output(0), chain.nodes};
    root.nodes.push_back(place);
    if (!goes_on(root, "ReduceMean") || averaged(onnx_.node(root.nodes.back()), rank) != row || !goes_on(root, "Add"))
      return std::nullopt;
    const onnx::Node& sum = onnx_.node(root.nodes.back());
    const std::string& variance = onnx_.node(root.nodes[root.nodes.size() - 2]).output(0);
    const bool constant = sum.input_size() == 2 && number(sum.input(sum.input(0) == variance ? 1 : 0)).has_value();
    const bool divides = goes_on(root, "Sqrt") && goes_on(root, "Div", chain.value);
    if (constant && divides && onnx_.node(root.nodes.back()).input(0) == chain.value) return root;
  }
  return std::nullopt;
}

/// A trained row that the next node, and no other, takes the value times or adds to it.
std::optional<OnnxLowering::Id> OnnxLowering::take_row(Chain& chain, std::string_view op, const Dims& row) {
  Chain longer = chain;
  if (!goes_on(longer, op)) return std::nullopt;
  const onnx::Node& next = onnx_.node(longer.nodes.back());
  if (next.input_size() != 2) return std::nullopt;
  const int other = next.input(0) == chain.value ? 1 : 0;
  const auto value = values_.find(next.input(other));
  if (value == values_.end() || !value->second.weight || value->second.dims != row) return std::nullopt;
  node_ = &next;
  const Result<Id> found = tensor(other);
  if (!found.ok()) return std::nullopt;
  chain = std::move(longer);
  return *found;
}

Result<void> OnnxLowering::norm_of(Chain chain, Id x, const Dims& row) {
  std::optional<Id> shift;
  const std::optional<Id> scale = take_row(chain, "Mul", row);
  if (scale) shift = take_row(chain, "Add", row);
  ++norms_;
  return give_chain(chain, eager_.row_norm("native_layer_norm", x, row, scale, shift));
}

/// x[:, i, j] is exported with the indexed dimensions moved to the front and made one, of which a row is gathered for each place.
/// PyTorch reads the places where they lie: this names what is moved, given the node that makes the dimensions one.
std::optional<OnnxLowering::Indexed> OnnxLowering::indexed_by(const onnx::Node& flatten) const {
  const auto whole = [](const onnx::Node& node, std::string_view name, std::int64_t otherwise) {
    for (const onnx::Attribute& a : node.attribute()) {
      if (a.name() == name) return a.i();
    }
    return otherwise;
  };
  if (flatten.op_type() != "Flatten" || flatten.input_size() != 1 || flatten.output_size() != 1) return std::nullopt;
  const auto by = makers_.find(flatten.input(0));
  if (by == makers_.end() || onnx_.node(by->second).op_type() != "Transpose") return std::nullopt;
  const onnx::Node& transpose = onnx_.node(by->second);
  const std::optional<int> gather = only_reader(flatten.output(0), "Gather");
  if (transpose.input_size() != 1 || !only_reader(transpose.output(0), "Flatten") || !gather ||
      onnx_.node(*gather).input_size() != 2 || onnx_.node(*gather).input(0) != flatten.output(0) ||
      whole(onnx_.node(*gather), "axis", 0) != 0)
    return std::nullopt;
  Indexed out{transpose.input(0), 0, whole(flatten, "axis", 1)};
  std::vector<std::int64_t> order;
  for (const onnx::Attribute& a : transpose.attribute()) {
    if (a.name() == "perm") order.assign(a.ints().begin(), a.ints().end());
  }
  const auto rank = static_cast<std::int64_t>(order.size());
  const auto x = values_.find(out.whole);
  if (x == values_.end() || !x->second.tensor) return std::nullopt;  // a constant, which is folded
  if (out.dims < 1 || out.dims >= rank) return std::nullopt;
  out.first = order.front();
  for (std::int64_t i = 0, other = 0; i < rank; ++i) {
    const bool indexed = i < out.dims;
    if (!indexed && other == out.first) other += out.dims;
    if (order[static_cast<std::size_t>(i)] != (indexed ? out.first + i : other++)) return std::nullopt;
  }
  return out;
}

/// The result has the places first, as the nodes that follow expect.
Result<void> OnnxLowering::index_of(const Indexed& indexed) {
  TRY_ASSIGN(const Id ids, tensor(1));
  const Id x = values_.at(indexed.whole).tensor.value();
  const Dims from = eager_.dims(x), places = eager_.dims(ids);
  const auto first = static_cast<std::size_t>(indexed.first);
  Dims dims(from.begin(), from.begin() + indexed.first);
  dims.insert(dims.end(), places.begin(), places.end());
  dims.insert(dims.end(), from.begin() + indexed.first + indexed.dims, from.end());
  TRY(checked(Dims(dims)));
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < places.size(); ++i) order.push_back(first + i);
  std::int64_t others = 1;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (i >= first && i < first + places.size()) continue;
    order.push_back(i);
    others *= dims[i];
  }
  const Id out = eager_.gather("index", x, ids, dims, static_cast<std::size_t>(indexed.dims));
  Dims result = places;
  result.push_back(others);
  return give(eager_.reshape(eager_.permute(out, order), result));
}

}  // namespace distsim::opgraph
