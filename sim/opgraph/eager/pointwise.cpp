// Pointwise calls, reductions and what moves data, with their gradients as torch/csrc/autograd/derivatives.yaml has them.
#include <algorithm>

#include "sim/opgraph/eager/eager.hpp"

namespace distsim::opgraph {
namespace {

/// Kernels of a gradient, in their order. Each reads the gradient and the tensor that was kept.
struct UnaryGradient {
  std::string_view op;
  std::vector<std::string_view> kernels;
};

const std::vector<UnaryGradient>& unary_gradients() {
  static const std::vector<UnaryGradient> table{
      {"relu", {"threshold_backward"}},
      {"relu6", {"hardtanh_backward"}},
      {"hardtanh", {"hardtanh_backward"}},
      {"clamp", {"ge", "le", "logical_and", "where"}},
      {"leaky_relu", {"leaky_relu_backward"}},
      {"elu", {"elu_backward"}},
      {"selu", {"elu_backward"}},
      {"celu", {"elu_backward"}},
      {"gelu", {"gelu_backward"}},
      {"silu", {"silu_backward"}},
      {"mish", {"mish_backward"}},
      {"hardswish", {"hardswish_backward"}},
      {"hardsigmoid", {"hardsigmoid_backward"}},
      {"sigmoid", {"sigmoid_backward"}},
      {"tanh", {"tanh_backward"}},
      {"softplus", {"softplus_backward"}},
      {"exp", {"mul"}},
      {"log", {"div"}},
      {"sqrt", {"mul", "div"}},
      {"rsqrt", {"pow", "mul", "mul"}},
      {"reciprocal", {"neg", "mul", "mul"}},
      {"pow", {"pow", "mul", "mul"}},
      {"square", {"mul", "mul"}},
      {"erf", {"pow", "neg", "exp", "mul", "mul"}},
      {"neg", {"neg"}},
      {"abs", {"sgn", "mul"}},
      {"sin", {"cos", "mul"}},
      {"cos", {"sin", "neg", "mul"}},
      {"add", {}},
      {"sub", {}},
      {"mul", {"mul"}},
      {"div", {"div"}},
      {"tril", {"tril"}},
      {"cumsum", {"flip", "cumsum", "flip"}},
      {"remainder", {}},
  };
  return table;
}

bool takes_gradient(std::string_view op) {
  for (const std::string_view name : {"pow", "neg", "exp", "sgn", "cos", "sin", "ge", "le", "logical_and"}) {
    if (op == name) return false;
  }
  return true;
}

}  // namespace

Eager::Id Eager::unary(std::string_view op, Id x) {
  const Id out = kernel(std::string(op), {x}, Dims(facts_[x].dims));
  const auto& table = unary_gradients();
  const auto known = std::ranges::find(table, op, &UnaryGradient::op);
  if (known == table.end()) return out;  // steps and comparisons have no gradient
  const bool of_gradient_alone = op == "mul" || op == "div" || op == "cumsum";  // by a constant; sums
  tape({x}, {out}, [this, x, known, of_gradient_alone](const auto& g) {
    Id current = *g[0];
    if (of_gradient_alone) {
      for (const std::string_view k : known->kernels) current = kernel(std::string(k), {current}, Dims(facts_[x].dims));
      return give(x, current);
    }
    const bool alone = known->kernels.size() == 1;
    for (const std::string_view k : known->kernels) {
      const bool last = k == known->kernels.back();
      const Ids inputs = takes_gradient(k) && (last || alone) ? Ids{*g[0], x} : Ids{takes_gradient(k) ? current : x};
      const Id result = kernel(std::string(k), k == "neg" && alone ? Ids{*g[0]} : inputs, Dims(facts_[x].dims));
      current = result;
    }
    give(x, current);
  });
  return out;
}

Eager::Id Eager::binary(std::string_view op, Id a, Id b) {
  const Dims result = broadcast_of({dims(a), dims(b)}).value_or(dims(a));  // readers refuse what is not broadcast
  const bool compares = op == "eq" || op == "lt" || op == "gt" || op == "le" || op == "ge" || op == "logical_and" ||
                        op == "logical_or" || op == "logical_xor";
  const Element type = compares ? Element{graph::DType::int8, 1, false} : element(element(a).floating ? a : b);
  const Id out = tensor(Dims(result), type);
  emit("aten::" + std::string(op), {tensors({a}), tensors({b})}, {out});
  if (compares) return out;
  tape({a, b}, {out}, [this, a, b, op = std::string(op)](const auto& g) {
    const Id gradient = *g[0];
    const Dims whole = facts_[gradient].dims;
    const auto to = [&](Id x, Id from) { give(x, summed_to(from, Dims(facts_[x].dims))); };
    if (op == "maximum" || op == "minimum") {
      const Id mask = kernel("ge", {a, b}, whole);
      for (const Id x : {a, b}) {
        if (facts_[x].gradient) to(x, kernel("masked_fill", {gradient, mask}, whole));
      }
      return;
    }
    if (op == "prelu") {  // one kernel writes both, whichever is needed
      const Id of_a = tensor(Dims(whole), element(gradient)), of_b = tensor(Dims(whole), element(gradient));
      emit("aten::_prelu_kernel_backward", {tensors({a}), tensors({b}), tensors({gradient})}, {of_a, of_b});
      if (facts_[a].gradient) to(a, of_a);
      if (facts_[b].gradient) to(b, of_b);
      return;
    }
    if (facts_[a].gradient) {
      const bool product = op == "mul" || op == "div";
      Id from = product ? kernel(op, {gradient, b}, whole) : gradient;
      if (op == "pow") from = kernel("mul", {kernel("pow", {a, b}, whole), gradient}, whole);
      to(a, from);
    }
    if (!facts_[b].gradient) return;
    Id from = gradient;
    if (op == "mul") from = kernel("mul", {gradient, a}, whole);
    if (op == "sub") from = kernel("neg", {gradient}, whole);
    if (op == "div" || op == "pow")
      from = kernel("mul", {kernel("neg", {gradient}, whole), kernel("div", {kernel("div", {a, b}, whole), b}, whole)},
                    whole);
    to(b, from);
  });
  return out;
}

Eager::Id Eager::where(Id condition, Id a, Id b) {
  Dims result = dims(condition);
  for (const Id t : {a, b}) {
    const Dims& own = dims(t);
    if (own.size() > result.size()) result.insert(result.begin(), own.size() - result.size(), 1);
    for (std::size_t i = 0; i < own.size(); ++i) {
      std::int64_t& size = result[result.size() - own.size() + i];
      size = size == 1 ? own[i] : size;
    }
  }
  const Id out = tensor(Dims(result), element(a));
  emit("aten::where", {tensors({condition}), tensors({a}), tensors({b})}, {out});
  tape({a, b}, {out}, [this, condition, a, b, result](const auto& g) {
    const Id gradient = *g[0];
    for (const Id x : {a, b}) {
      if (facts_[x].gradient) give(x, summed_to(kernel("where", {gradient, condition}, result), Dims(facts_[x].dims)));
    }
  });
  return out;
}

Eager::Id Eager::flip(Id x) {
  const Id out = kernel("flip", {x}, Dims(facts_[x].dims));
  tape({x}, {out}, [this, x](const auto& g) { give(x, kernel("flip", {*g[0]}, Dims(facts_[x].dims))); });
  return out;
}

Eager::Id Eager::cast(Id x, const Element& to) {
  if (element(x).dtype == to.dtype && element(x).bytes == to.bytes && element(x).floating == to.floating) return x;
  const Id out = like(x, to);
  emit("aten::_to_copy", {tensors({x})}, {out});
  tape({x}, {out}, [this, x](const auto& g) {
    const Id back = like(x);
    emit("aten::_to_copy", {tensors({*g[0]})}, {back});
    give(x, back);
  });
  return out;
}

Eager::Id Eager::fill(const Dims& dims, const Element& element) {
  const Id out = tensor(Dims(dims), element);
  emit("aten::full", {}, {out});
  return out;
}

Eager::Id Eager::dropout(Id x) {
  const Id out = like(x), mask = like(x, Element{graph::DType::int8, 1, false});
  emit("aten::native_dropout", {tensors({x}), number(0.1), number(1)}, {out, mask});
  tape({x}, {out}, [this, x, mask](const auto& g) {
    give(x, kernel("native_dropout_backward", {*g[0], mask}, Dims(facts_[x].dims)));
  });
  return out;
}

Eager::Id Eager::reduce(std::string_view op, Id x, const std::vector<std::size_t>& axes, bool keep) {
  Dims result, kept = dims(x);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (std::ranges::find(axes, i) != axes.end())
      kept[i] = 1;
    else
      result.push_back(kept[i]);
  }
  const bool index = op == "argmax" || op == "argmin";
  const Id out = tensor(Dims(keep ? kept : result), index ? Element{graph::DType::int64, 8, false} : element(x));
  emit("aten::" + std::string(op), {tensors({x})}, {out});
  if (index) return out;
  tape({x}, {out}, [this, x, out, kept, op = std::string(op)](const auto& g) {
    const Dims whole = facts_[x].dims;
    const Id spread = expand(reshape(*g[0], kept), whole);
    if (op == "sum") return give(x, spread);
    if (op == "mean") return give(x, kernel("div", {spread}, whole));
    const Id mask = kernel("eq", {x, out}, whole);
    give(x, kernel("mul", {spread, mask}, whole));
  });
  return out;
}

Eager::Id Eager::cat(const Ids& parts, std::size_t axis) {
  Dims result = dims(parts.front());
  result[axis] = 0;
  for (const Id p : parts) result[axis] += dims(p)[axis];
  const Id out = tensor(std::move(result), element(parts.front()));
  emit("aten::cat", {tensors(parts)}, {out});
  tape(parts, {out}, [this, parts, axis](const auto& g) {
    for (const Id p : parts) {
      if (facts_[p].gradient) give(p, slice(*g[0], axis, facts_[p].dims[axis]));
    }
  });
  return out;
}

Eager::Id Eager::embedding(Id table, Id ids) {
  Dims result = dims(ids);
  result.push_back(dims(table).back());
  const Id out = kernel("embedding", {table, ids}, result);
  tape({table}, {out}, [this, table, ids](const auto& g) {
    const Dims whole = facts_[table].dims;
    give(table, kernel("embedding_dense_backward", {*g[0], ids}, whole, {number(static_cast<double>(whole[0]))}));
  });
  return out;
}

Eager::Id Eager::embedding_bag(Id table, Id ids, Id offsets, const Dims& result) {
  const Id out = kernel("_embedding_bag", {table, ids, offsets}, result);
  tape({table}, {out}, [this, table, ids](const auto& g) {
    give(table, kernel("_embedding_bag_dense_backward", {*g[0], ids}, Dims(facts_[table].dims)));
  });
  return out;
}

Eager::Id Eager::gather(std::string_view op, Id x, Id ids, const Dims& result, std::size_t indexed) {
  const Id out = kernel(std::string(op), {x, ids}, result);
  tape({x}, {out}, [this, x, places = op == "index" ? Ids(indexed, ids) : Ids{}, ids](const auto& g) {
    const Id zeros = like(x);
    emit("aten::new_zeros", {tensors({*g[0]})}, {zeros});
    const Id sums = like(x);
    graph_.tensors[sums].storage = graph_.tensors[zeros].storage;
    if (!places.empty()) {
      constexpr double kAdds = 1;
      emit("aten::index_put_", {tensors({zeros}), tensors(places), tensors({*g[0]}), number(kAdds)}, {sums});
      return give(x, sums);
    }
    emit("aten::scatter_add_", {tensors({zeros}), tensors({ids}), tensors({*g[0]})}, {sums});
    give(x, sums);
  });
  return out;
}

Eager::Id Eager::scatter(std::string_view op, Id x, Id ids, Id updates) {
  const Id out = like(x);
  emit("aten::" + std::string(op), {tensors({x}), tensors({ids}), tensors({updates})}, {out});
  tape({x, updates}, {out}, [this, x, ids, updates](const auto& g) {
    if (facts_[x].gradient) give(x, kernel("clone", {*g[0]}, Dims(facts_[x].dims)));
    if (facts_[updates].gradient) give(updates, kernel("gather", {*g[0], ids}, Dims(facts_[updates].dims)));
  });
  return out;
}

Eager::Id Eager::pad(Id x, const Dims& result) {
  const Id out = kernel("constant_pad_nd", {x}, result);
  tape({x}, {out}, [this, x](const auto& g) { give(x, kernel("constant_pad_nd", {*g[0]}, Dims(facts_[x].dims))); });
  return out;
}

Eager::Id Eager::resize(std::string_view op, Id x, const Dims& result) {
  const Id out = kernel(std::string(op), {x}, result);
  tape({x}, {out}, [this, x, op = std::string(op)](const auto& g) {
    give(x, kernel(op + "_backward", {*g[0]}, Dims(facts_[x].dims)));
  });
  return out;
}

Eager::Ids Eager::opaque(std::string_view op, const Ids& inputs, const std::vector<Dims>& results,
                         const std::vector<Element>& types) {
  Ids outputs;
  for (std::size_t i = 0; i < results.size(); ++i) outputs.push_back(tensor(Dims(results[i]), types[i]));
  std::vector<Argument> arguments;
  for (const Id i : inputs) arguments.push_back(tensors({i}));
  emit(std::string(op), std::move(arguments), outputs);
  tape(inputs, outputs, [this, inputs, op = std::string(op)](const auto& g) {
    std::vector<Argument> read;
    for (const auto& gradient : g) {
      if (gradient) read.push_back(tensors({*gradient}));
    }
    for (const Id i : inputs) read.push_back(tensors({i}));
    Ids written;
    for (const Id i : inputs) {
      if (facts_[i].gradient) written.push_back(like(i));
    }
    emit(op + " backward", std::move(read), written);
    std::size_t next = 0;
    for (const Id i : inputs) {
      if (facts_[i].gradient) give(i, written[next++]);
    }
  });
  return outputs;
}

}  // namespace distsim::opgraph
