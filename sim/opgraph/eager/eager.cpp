#include "sim/opgraph/eager/eager.hpp"

#include <algorithm>
#include <utility>

namespace distsim::opgraph {
namespace {

/// At most what fits: sizes are refused where results are given, after their strides are known.
std::int64_t times(std::int64_t a, std::int64_t b) {
  constexpr double kMost = 4e18;
  return static_cast<double>(a) * static_cast<double>(b) < kMost ? a * b : static_cast<std::int64_t>(kMost);
}

Dims packed_strides(const Dims& dims) {
  Dims out(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) out[i - 1] = times(out[i], std::max<std::int64_t>(1, dims[i]));
  return out;
}

constexpr std::uint32_t kMostCallsBetweenKernels = 50'000;  // a kernel's calls are counted in 16 bits

}  // namespace

void Eager::begin(std::string label) {
  label_ = std::move(label);
  fresh_ = true;
}

Eager::Id Eager::tensor(Dims dims, const Element& element, TensorRole role, const std::string& name) {
  Tensor t;
  for (const std::int64_t d : dims) t.dims.push_back({d, 0});
  t.element = element;
  t.role = role;
  t.name = name;
  t.storage = graph_.tensors.size() + 1;
  graph_.tensors.push_back(std::move(t));
  Facts facts;
  facts.strides = packed_strides(dims);
  facts.dims = std::move(dims);
  facts.gradient = role == TensorRole::parameter;
  facts_.push_back(std::move(facts));
  return static_cast<Id>(facts_.size() - 1);
}

Eager::Id Eager::like(Id x, std::optional<Element> element) {
  return tensor(Dims(facts_[x].dims), element.value_or(graph_.tensors[x].element));
}

Argument Eager::tensors(const Ids& ids) { return {Argument::Kind::tensors, ids, {}, ""}; }
Argument Eager::number(double n) { return {Argument::Kind::number, {}, {n}, ""}; }
Argument Eager::numbers(const std::vector<std::int64_t>& list) {
  return {Argument::Kind::numbers, {}, std::vector<double>(list.begin(), list.end()), ""};
}

void Eager::quiet_call() {
  if (fresh_) calls_ = std::min(calls_ + 1, kMostCallsBetweenKernels);
  fresh_ = false;
}

void Eager::emit(std::string op, std::vector<Argument> inputs, const Ids& outputs) {
  quiet_call();
  Node node;
  node.op = std::move(op);
  node.label = label_;
  node.inputs = std::move(inputs);
  node.outputs = outputs;
  node.phase = phase_;
  node.calls = std::exchange(calls_, 0);
  graph_.nodes.push_back(std::move(node));
}

Eager::Id Eager::kernel(const std::string& op, const Ids& inputs, const Dims& result, std::vector<Argument> rest) {
  std::vector<Argument> arguments;
  for (const Id i : inputs) arguments.push_back(tensors({i}));
  std::ranges::move(rest, std::back_inserter(arguments));
  const Id out = tensor(Dims(result), element(inputs.front()));
  emit("aten::" + op, std::move(arguments), {out});
  return out;
}

void Eager::tape(const Ids& inputs, const Ids& outputs,
                 std::function<void(const std::vector<std::optional<Id>>&)> run) {
  if (phase_ != graph::Phase::forward) return;
  const bool any = std::ranges::any_of(inputs, [&](Id i) { return facts_[i].gradient; });
  if (!any) return;
  for (const Id o : outputs) facts_[o].gradient = element(o).floating;
  for (const Id i : inputs) facts_[i].uses += facts_[i].gradient ? 1 : 0;
  tape_.push_back({label_, inputs, outputs, std::move(run)});
}

/// Adds to what is known of a tensor's gradient.
void Eager::give(Id x, Id gradient) {
  Facts& f = facts_[x];
  if (!f.gradient) return;
  if (!f.complete) {
    f.complete = gradient;
    return;
  }
  const Id before = *f.complete;
  facts_[x].complete = kernel("add", {before, gradient}, Dims(facts_[x].dims));
}

void Eager::backward(const Ids& outputs, Loss loss) {
  Ids needed;
  for (const Id o : outputs) {
    if (needs_gradient(o) && std::ranges::find(needed, o) == needed.end()) needed.push_back(o);
  }
  if (needed.empty()) return;
  begin("loss");
  if (loss == Loss::cross_entropy && !dims(needed.front()).empty())
    begin_cross_entropy(needed.front());
  else
    begin_sum(needed);
  run_tape();
}

/// All sums are added up, and the gradient of each element is that of the loss.
void Eager::begin_sum(const Ids& outputs) {
  std::optional<Id> total;
  for (const Id o : outputs) {
    const Id sum = kernel("sum", {o}, {});
    begin("loss");
    if (total) {
      total = kernel("add", {*total, sum}, {});
      begin("loss");
    } else {
      total = sum;
    }
  }
  phase_ = graph::Phase::backward;
  const Id one = tensor({}, element(outputs.front()));
  emit("aten::ones_like", {tensors({*total})}, {one});
  for (const Id o : outputs) facts_[o].complete = view(one, Dims(dims(o)), Dims(dims(o).size(), 0));
}

void Eager::begin_cross_entropy(Id output) {
  const Element ids{graph::DType::int64, 8, false};
  const std::int64_t classes = dims(output).back();
  const Dims rows{classes > 0 ? count(product(dims(output)) / static_cast<double>(classes)) : 0, classes};
  const Id flat = reshape(output, rows);
  const Id logs = kernel("_log_softmax", {flat}, rows, {number(1)});
  begin("loss");
  const Id target = tensor({rows[0]}, ids, TensorRole::input, "target");
  const Id value = kernel("nll_loss_forward", {logs, target}, {});
  begin("loss");
  phase_ = graph::Phase::backward;
  const Id gradient = kernel("nll_loss_backward", {value, logs, target}, rows);
  begin("loss");
  const Id complete = kernel("_log_softmax_backward_data", {gradient, logs}, rows, {number(1)});
  facts_[output].complete = view(complete, Dims(dims(output)), packed_strides(dims(output)));
  if (flat != output && !tape_.empty() && tape_.back().outputs == Ids{flat}) {
    for (const Id i : tape_.back().inputs) facts_[i].uses -= facts_[i].gradient ? 1 : 0;
    tape_.pop_back();
  }
}

void Eager::run_tape() {
  for (std::size_t i = tape_.size(); i-- > 0;) {
    const Step step = std::move(tape_[i]);
    std::vector<std::optional<Id>> gradients;
    for (const Id o : step.outputs) gradients.push_back(facts_[o].complete);
    const bool reached = std::ranges::any_of(gradients, [](const auto& g) { return g.has_value(); });
    if (reached) {
      begin(step.label);
      step.run(gradients);
      quiet_call();
    }
    for (const Id in : step.inputs) {
      Facts& f = facts_[in];
      if (!f.gradient || --f.uses > 0) continue;
      if (graph_.tensors[in].role != TensorRole::parameter || !f.complete || graph_.nodes.empty()) continue;
      graph_.gradients.push_back({in, static_cast<std::uint32_t>(graph_.nodes.size() - 1)});
      graph_.nodes.back().calls += 1;  // of the node that stores it
    }
  }
}

void Eager::finish() {
  if (!graph_.nodes.empty()) graph_.nodes.back().calls += std::exchange(calls_, 0);
}

// Views.

Eager::Id Eager::view(Id x, Dims dims, Dims strides) {
  quiet_call();
  const std::uint64_t storage = graph_.tensors[x].storage;
  const bool parameter = graph_.tensors[x].role == TensorRole::parameter;
  const Id out = tensor(std::move(dims), element(x));
  graph_.tensors[out].storage = storage;
  if (parameter) graph_.tensors[out].role = TensorRole::buffer;  // the parameter itself is counted once
  facts_[out].strides = std::move(strides);
  return out;
}

/// Strides with which x can be looked at with other sizes; nothing where it has to be copied first.
std::optional<Dims> Eager::strides_for(Id x, const Dims& dims) const {
  const Facts& f = facts_[x];
  Dims out(dims.size(), 1);
  if (product(f.dims) < 1) return packed_strides(dims);
  // As at::detail::computeStride: blocks of x that lie one after the other are matched with sizes from the last one on.
  auto at = static_cast<std::ptrdiff_t>(dims.size()) - 1;
  std::int64_t base = f.strides.empty() ? 1 : f.strides.back(), elements = 1, matched = 1;
  for (auto i = static_cast<std::ptrdiff_t>(f.dims.size()) - 1; i >= 0; --i) {
    const auto d = static_cast<std::size_t>(i);
    elements = times(elements, f.dims[d]);
    const bool ends = i == 0 || (f.dims[d - 1] != 1 && f.strides[d - 1] != times(elements, base));
    if (!ends) continue;
    while (at >= 0 && (matched < elements || dims[static_cast<std::size_t>(at)] == 1)) {
      const auto v = static_cast<std::size_t>(at--);
      out[v] = times(matched, base);
      matched = times(matched, dims[v]);
    }
    if (matched != elements) return std::nullopt;
    if (i > 0) base = f.strides[d - 1], elements = 1, matched = 1;
  }
  return at < 0 || f.dims.empty() ? std::optional<Dims>(f.dims.empty() ? packed_strides(dims) : out) : std::nullopt;
}

Eager::Id Eager::reshape(Id x, const Dims& dims) {
  if (facts_[x].dims == dims) return x;
  const std::optional<Dims> strides = strides_for(x, dims);
  if (!strides) {  // autograd has a node for the copy, and one for the view of it
    const Id copy = kernel("clone", {x}, Dims(facts_[x].dims));
    tape({x}, {copy}, [this, x](const auto& g) { give(x, *g[0]); });
    return reshape(copy, dims);
  }
  const Id out = view(x, Dims(dims), Dims(*strides));
  tape({x}, {out}, [this, x](const auto& g) { give(x, reshape(*g[0], Dims(facts_[x].dims))); });
  return out;
}

Eager::Id Eager::permute(Id x, const std::vector<std::size_t>& order) {
  Dims dims, strides;
  std::vector<std::size_t> back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    dims.push_back(facts_[x].dims[order[i]]), strides.push_back(facts_[x].strides[order[i]]);
    back[order[i]] = i;
  }
  const Id out = view(x, std::move(dims), std::move(strides));
  tape({x}, {out}, [this, x, back](const auto& g) { give(x, permute(*g[0], back)); });
  return out;
}

Eager::Id Eager::transpose(Id x) {
  std::vector<std::size_t> order(dims(x).size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (order.size() > 1) std::swap(order[order.size() - 1], order[order.size() - 2]);
  return permute(x, order);
}

Eager::Id Eager::expand(Id x, const Dims& dims, bool always) {
  const Facts& f = facts_[x];
  if (f.dims == dims && !always) return x;
  const std::size_t added = dims.size() - std::min(dims.size(), f.dims.size());
  Dims strides(dims.size(), 0);
  for (std::size_t i = added; i < dims.size(); ++i) {
    if (f.dims[i - added] == dims[i]) strides[i] = f.strides[i - added];
  }
  const Id out = view(x, Dims(dims), std::move(strides));
  tape({x}, {out}, [this, x](const auto& g) { give(x, summed_to(*g[0], Dims(facts_[x].dims))); });
  return out;
}

Eager::Id Eager::slice(Id x, std::size_t axis, std::int64_t length, std::int64_t step) {
  Dims dims = facts_[x].dims, strides = facts_[x].strides;
  if (dims[axis] == length) return x;
  dims[axis] = length;
  if (length > 1) strides[axis] = times(strides[axis], step);
  const Id out = view(x, std::move(dims), std::move(strides));
  tape({x}, {out}, [this, x](const auto& g) { give(x, kernel("slice_backward", {*g[0]}, Dims(facts_[x].dims))); });
  return out;
}

Eager::Ids Eager::split(Id x, std::size_t axis, const std::vector<std::int64_t>& lengths) {
  Ids parts;
  for (const std::int64_t length : lengths) {
    Dims dims = facts_[x].dims;
    dims[axis] = length;
    parts.push_back(view(x, std::move(dims), Dims(facts_[x].strides)));
  }
  tape({x}, parts, [this, x, parts](const auto& g) {
    Ids given;
    for (std::size_t i = 0; i < parts.size(); ++i)
      given.push_back(g[i] ? *g[i] : fill(facts_[parts[i]].dims, element(x)));
    const Id joined = like(x);
    emit("aten::cat", {tensors(given)}, {joined});
    give(x, joined);
  });
  return parts;
}

/// What was broadcast is summed.
Eager::Id Eager::summed_to(Id gradient, const Dims& dims) {
  if (facts_[gradient].dims == dims) return gradient;
  if (product(facts_[gradient].dims) == product(dims)) return reshape(gradient, dims);
  return kernel("sum", {gradient}, dims);
}

}  // namespace distsim::opgraph
