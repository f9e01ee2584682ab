// What computes.
#include <algorithm>

#include "base/text/printable.hpp"
#include "base/text/quantity_text.hpp"
#include "sim/opgraph/onnx/onnx_reader.hpp"

namespace distsim::opgraph {

/// A constant of one element is passed with the call.
Result<void> OnnxLowering::unary() {
  TRY_ASSIGN(const Id x, tensor(0));
  return give(eager_.unary(rule_->call, x));
}

Result<void> OnnxLowering::binary() {
  if (!has(0) || !has(1)) return wrong("found one input, expected two");
  if (const std::optional<Chain> gelu = written_out_gelu()) {
    TRY_ASSIGN(const Id x, tensor(0));
    return give_chain(*gelu, eager_.unary("gelu", x));
  }
  const bool left = in(0).scalar && !in(0).tensor && !(in(0).weight && !in(0).frozen);
  const bool right = in(1).scalar && !in(1).tensor && !(in(1).weight && !in(1).frozen);
  if (left != right && rule_->call != "prelu") {
    TRY_ASSIGN(const Id x, tensor(left ? 1 : 0));
    Dims result = eager_.dims(x);
    const std::size_t rank = in(left ? 0 : 1).dims.size();
    const Id out = eager_.unary(rule_->call, x);
    if (rank <= result.size()) return give(out);
    result.insert(result.begin(), rank - result.size(), 1);
    return give(eager_.reshape(out, result));
  }
  TRY(broadcasts(in(0).dims, in(1).dims));
  TRY_ASSIGN(const Id a, tensor(0));
  TRY_ASSIGN(const Id b, tensor(1));
  return give(eager_.binary(rule_->call, a, b));
}

/// Sums and the like of any number of tensors.
Result<void> OnnxLowering::several() {
  TRY_ASSIGN(Id out, tensor(0));
  for (int i = 1; i < node_->input_size(); ++i) {
    TRY_ASSIGN(const Id next, tensor(i));
    TRY(broadcasts(eager_.dims(out), eager_.dims(next)));
    out = eager_.binary(rule_->call, out, next);
  }
  return give(out);
}

Result<void> OnnxLowering::where() {
  TRY_ASSIGN(const Id condition, tensor(0));
  TRY_ASSIGN(const Id a, tensor(1));
  TRY_ASSIGN(const Id b, tensor(2));
  TRY(broadcasts(eager_.dims(condition), eager_.dims(a)));
  TRY(broadcasts(eager_.dims(condition), eager_.dims(b)));
  TRY(broadcasts(eager_.dims(a), eager_.dims(b)));
  return give(eager_.where(condition, a, b));
}

Result<void> OnnxLowering::cast() {
  TRY_ASSIGN(const Id x, tensor(0));
  TRY_ASSIGN(const Element to, element_of(static_cast<std::int32_t>(integer("to", 0))));
  return give(eager_.cast(x, to));
}

/// The addition of a trained row after a product: PyTorch's linear layers add it in the product.
std::optional<int> OnnxLowering::bias_after() const {
  const auto at = node_->output_size() == 1 ? readers_.find(node_->output(0)) : readers_.end();
  if (at == readers_.end() || at->second.size() != 1 || outputs_.contains(node_->output(0))) return std::nullopt;
  const onnx::Node& add = onnx_.node(at->second.front());
  if (add.op_type() != "Add" || add.input_size() != 2 || add.output_size() != 1) return std::nullopt;
  const std::string& other = add.input(0) == node_->output(0) ? add.input(1) : add.input(0);
  const auto bias = values_.find(other);
  const bool row = bias != values_.end() && bias->second.weight && bias->second.dims.size() == 1;
  const Dims& b = values_.at(node_->input(1)).dims;
  return row && b.size() == 2 && bias->second.dims[0] == b[1] ? std::optional<int>(at->second.front()) : std::nullopt;
}

Result<void> OnnxLowering::matmul() {
  TRY_ASSIGN(const Id a, tensor(0));
  TRY_ASSIGN(const Id b, tensor(1));
  const Dims da = eager_.dims(a), db = eager_.dims(b);
  if (da.empty() || db.empty()) return wrong("found a single number, expected vectors or matrices");
  const std::int64_t inner = db.size() == 1 ? db[0] : db[db.size() - 2];
  if (da.back() != inner)
    return wrong("found inner sizes " + std::to_string(da.back()) + " and " + std::to_string(inner) +
                 ", expected equal ones");
  if (da.size() > 2 && db.size() > 2) TRY(broadcasts(Dims(da.begin(), da.end() - 2), Dims(db.begin(), db.end() - 2)));
  const std::optional<int> add = bias_after();
  if (!add || da.size() < 2) return give(eager_.matmul(a, b));
  const onnx::Node* product = node_;
  node_ = &onnx_.node(*add);
  TRY_ASSIGN(const Id bias, tensor(node_->input(0) == product->output(0) ? 1 : 0));
  done_[static_cast<std::size_t>(*add)] = true;
  return give(eager_.linear(a, b, false, bias));
}

/// alpha * A * B + beta * C, either of the two transposed.
Result<void> OnnxLowering::gemm() {
  TRY_ASSIGN(Id a, tensor(0));
  TRY_ASSIGN(const Id b, tensor(1));
  const bool turned = integer("transB", 0) != 0;
  if (eager_.dims(a).size() != 2 || eager_.dims(b).size() != 2)
    return wrong("found no matrices, expected two dimensions");
  if (integer("transA", 0) != 0) a = eager_.permute(a, {1, 0});
  if (eager_.dims(a)[1] != eager_.dims(b)[turned ? 1 : 0])
    return wrong("found different inner sizes, expected equal ones");
  std::optional<Id> bias;
  if (has(2)) {
    TRY_ASSIGN(bias, tensor(2));
  }
  return give(eager_.linear(a, b, turned, bias));
}

Result<void> OnnxLowering::global_pool() {
  TRY_ASSIGN(const Id x, tensor(0));
  std::vector<std::size_t> axes;
  for (std::size_t i = 2; i < eager_.dims(x).size(); ++i) axes.push_back(i);
  return give(eager_.reduce(rule_->call, x, axes, true));
}

Result<void> OnnxLowering::batch_norm() {
  TRY_ASSIGN(const Id x, tensor(0));
  TRY_ASSIGN(const Id scale, tensor(1));
  TRY_ASSIGN(const Id shift, tensor(2));
  if (eager_.dims(x).size() < 2) return wrong("found no channels, expected at least two dimensions");
  return give(eager_.batch_norm(x, scale, shift));
}

Result<void> OnnxLowering::layer_norm() {
  TRY_ASSIGN(const Id x, tensor(0));
  const Dims dims = eager_.dims(x);
  TRY_ASSIGN(const std::size_t axis, axis_of(integer("axis", -1), dims.size()));
  std::optional<Id> scale, shift;
  if (has(1)) {
    TRY_ASSIGN(scale, tensor(1));
  }
  if (has(2)) {
    TRY_ASSIGN(shift, tensor(2));
  }
  return give(eager_.row_norm(rule_->call, x, Dims(dims.begin() + static_cast<std::ptrdiff_t>(axis), dims.end()), scale,
                              shift));
}

/// Instances are groups of one channel each.
Result<void> OnnxLowering::instance_norm() {
  TRY_ASSIGN(const Id x, tensor(0));
  const Dims dims = eager_.dims(x);
  if (dims.size() < 2) return wrong("found no channels, expected at least two dimensions");
  std::optional<Id> scale, shift;
  if (has(1)) {
    TRY_ASSIGN(scale, tensor(1));
  }
  if (has(2)) {
    TRY_ASSIGN(shift, tensor(2));
  }
  return give(eager_.group_norm(x, integer("num_groups", std::max<std::int64_t>(1, dims[1])), scale, shift));
}

Result<void> OnnxLowering::softmax() {
  TRY_ASSIGN(const Id x, tensor(0));
  TRY_ASSIGN(const std::size_t axis, axis_of(integer("axis", opset_ < 13 ? 1 : -1), eager_.dims(x).size()));
  return give(eager_.softmax(rule_->call, x, static_cast<std::int64_t>(axis)));
}

/// Of training: exported for inference, it is there without its flag, with one that is false, or not at all.
Result<void> OnnxLowering::dropout() {
  constexpr std::int64_t kFirstWithFlag = 12, kLastWithTest = 6;
  TRY_ASSIGN(const Id x, tensor(0));
  const onnx::Attribute* stated = attribute("ratio");
  const std::optional<double> given = has(1) ? number(node_->input(1)) : std::nullopt;
  if ((given && !(*given >= 0 && *given < 1)) || (stated != nullptr && !(stated->f() >= 0 && stated->f() <= 1)))
    return wrong("ratio: found " + format_quantity(given ? *given : static_cast<double>(stated->f()), Dimension::none) +
                 ", expected 0 and more, less than 1");
  bool trains = opset_ > kLastWithTest || integer("is_test", 0) == 0;
  if (opset_ >= kFirstWithFlag)
    trains = has(2) && (!in(2).numbers || in(2).numbers->size() != 1 || in(2).numbers->front() != 0);
  return give(trains ? eager_.dropout(x) : x);
}

Result<std::vector<std::size_t>> OnnxLowering::reduced_axes(std::size_t rank) {
  const bool index = node_->op_type().starts_with("Arg");
  std::vector<std::int64_t> stated;
  if (index) {
    stated = {integer("axis", 0)};
  } else {
    TRY_ASSIGN(stated, listed("axes", 1));
  }
  std::vector<std::size_t> axes;
  for (const std::int64_t a : stated) {
    TRY_ASSIGN(const std::size_t axis, axis_of(a, rank));
    axes.push_back(axis);
  }
  TRY(expect_once(axes));
  const bool all = stated.empty() && integer("noop_with_empty_axes", 0) == 0;
  for (std::size_t i = 0; all && i < rank; ++i) axes.push_back(i);
  return axes;
}

Result<void> OnnxLowering::reduce() {
  TRY_ASSIGN(const Id x, tensor(0));
  const std::size_t rank = eager_.dims(x).size();
  if (const std::optional<Chain> norm =
          node_->op_type() == "ReduceMean" && node_->output_size() == 1 ? written_out_norm(rank) : std::nullopt) {
    const Dims& dims = eager_.dims(x);
    return norm_of(*norm, x, Dims(dims.end() - static_cast<std::ptrdiff_t>(averaged(*node_, rank)), dims.end()));
  }
  TRY_ASSIGN(const std::vector<std::size_t> axes, reduced_axes(rank));
  if (axes.empty() && rank > 0) return give(x);
  return give(eager_.reduce(rule_->call, x, axes, integer("keepdims", 1) != 0));
}

Result<void> OnnxLowering::top_k() {
  TRY_ASSIGN(const Id x, tensor(0));
  Dims dims = eager_.dims(x);
  TRY_ASSIGN(const std::size_t axis, axis_of(integer("axis", -1), dims.size()));
  if (!has(1)) return wrong("found no input K, expected one");
  TRY_ASSIGN(const std::vector<std::int64_t> k, numbers(1, "K"));
  if (k.size() != 1) return wrong("K: found no single number, expected one");
  dims[axis] = k.front();
  TRY(checked(Dims(dims)));
  const Ids out = eager_.opaque("aten::topk", {x}, {dims, dims}, {eager_.element(x), {graph::DType::int64, 8, false}});
  TRY(give(out[0], 0));
  return give(out[1], 1);
}

Result<void> OnnxLowering::cumulative() {
  TRY_ASSIGN(const Id x, tensor(0));
  return give(eager_.unary("cumsum", x));
}

/// X, W, R: steps, batch and inputs; with layout 1 the batch comes first, also in the results.
Result<void> OnnxLowering::recurrent() {
  TRY_ASSIGN(Id x, tensor(0));
  if (!has(1) || !has(2)) return wrong("found no weights W and R, expected both");
  const bool batch_first = integer("layout", 0) == 1;
  if (batch_first && eager_.dims(x).size() == 3) x = eager_.permute(x, {1, 0, 2});
  Ids weights;
  for (int i = 1; i < 4; ++i) {
    if (!has(i)) continue;
    TRY_ASSIGN(const Id w, tensor(i));
    weights.push_back(w);
  }
  const Dims d = eager_.dims(x);
  const bool lstm = node_->op_type() == "LSTM", gru = node_->op_type() == "GRU",
             both = text("direction") == "bidirectional";
  // R is directions x (gates hidden) x hidden.
  const Dims states = eager_.dims(weights[1]);
  const std::int64_t hidden = integer("hidden_size", states.size() == 3 ? states[2] : 0), ways = both ? 2 : 1;
  if (d.size() != 3 || hidden < 1 || hidden > kMostHidden)
    return wrong("found no sequence of three dimensions, or neither hidden_size nor R of three");
  std::vector<Dims> results{{d[0], ways, d[1], hidden}, {ways, d[1], hidden}};
  if (lstm) results.push_back(results[1]);
  const RecurrentMode mode = lstm ? RecurrentMode::lstm : gru ? RecurrentMode::gru : RecurrentMode::tanh;
  Ids out = eager_.recurrent(x, weights, mode, hidden, both, results);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (batch_first) out[i] = i == 0 ? eager_.permute(out[i], {2, 0, 1, 3}) : eager_.permute(out[i], {1, 0, 2});
    TRY(give(out[i], static_cast<int>(i)));
  }
  return {};
}

/// SoftmaxCrossEntropyLoss over the second dimension.
Result<void> OnnxLowering::loss() {
  TRY_ASSIGN(const Id x, tensor(0));
  if (eager_.dims(x).size() < 2) return wrong("found no classes, expected at least two dimensions");
  const Id logs = node_->op_type() == "NegativeLogLikelihoodLoss" ? x : eager_.softmax("_log_softmax", x, 1);
  TRY_ASSIGN(const Id target, tensor(1));
  const std::string how = text("reduction");
  const Dims result = how == "none" ? eager_.dims(target) : Dims{};
  return give(eager_.opaque("aten::nll_loss_forward", {logs, target}, {result}, {eager_.element(x)}).front());
}

/// A call of PyTorch that ONNX has no op for: its name is an attribute.
Result<void> OnnxLowering::aten() {
  const std::string name = text("operator");
  if (name == "embedding_bag" && node_->input_size() >= 3) {
    TRY_ASSIGN(const Id table, tensor(0));
    TRY_ASSIGN(const Id ids, tensor(1));
    TRY_ASSIGN(const Id offsets, tensor(2));
    const Dims width = eager_.dims(table), bags = eager_.dims(offsets);
    if (width.size() != 2 || bags.size() != 1)
      return wrong("found no table or offsets, expected two dimensions and one");
    return give(eager_.embedding_bag(table, ids, offsets, {bags[0], width[1]}));
  }
  return unknown();
}

/// By the sizes of its results, which the file has to state.
Result<void> OnnxLowering::unknown() {
  std::vector<Element> types;
  const std::vector<Dims> results = stated_results(types);
  if (results.size() != static_cast<std::size_t>(node_->output_size()))
    return wrong(
        "found an op that distsim has no shapes for, and none in the file, expected value_info of its results: "
        "run ONNX's shape inference");
  Ids inputs;
  for (int i = 0; i < node_->input_size(); ++i) {
    if (!has(i)) continue;
    TRY_ASSIGN(const Id t, tensor(i));
    inputs.push_back(t);
  }
  const std::string domain = node_->domain().empty() ? "onnx" : printable(node_->domain(), 60);
  const Ids out = eager_.opaque(domain + "::" + printable(node_->op_type(), 60), inputs, results, types);
  for (std::size_t i = 0; i < out.size(); ++i) TRY(give(out[i], static_cast<int>(i)));
  return {};
}

}  // namespace distsim::opgraph
