// Products, convolutions, normalisation and recurrent layers, with their gradients.
#include <algorithm>

#include "sim/opgraph/eager/eager.hpp"

namespace distsim::opgraph {

/// x [..., k] as a matrix.
Eager::Id Eager::folded(Id x) {
  const Dims d = facts_[x].dims;
  const std::int64_t k = d.back();
  return d.size() == 2 ? x : reshape(x, {k > 0 ? count(product(d) / static_cast<double>(k)) : 0, k});
}

/// BLAS reads matrices whose rows or columns lie without gaps; others are copied first, without a call of their own. What is
/// expanded is read as it is.
Eager::Id Eager::as_matrices(Id x) {
  const Dims& strides = facts_[x].strides;
  const bool gaps = strides[strides.size() - 1] > 1 && strides[strides.size() - 2] > 1;
  return gaps ? kernel("clone", {x}, Dims(facts_[x].dims)) : x;
}

Eager::Id Eager::matrix_product(const std::string& op, Id x, Id y) {
  const Id a = as_matrices(x), b = as_matrices(y);
  Dims result = dims(a);
  result.back() = dims(b).back();
  return kernel(op, {a, b}, result);
}

/// Gradients of both operands of a product. Those of one whose columns follow each other in memory, as of a weight that linear()
/// transposes, are computed transposed (mm_mat1_grad and mm_mat2_grad of PyTorch's FunctionsManual.cpp).
void Eager::give_products(Id gradient, Id x, Id y) {
  const auto by_columns = [this](Id t) {
    const Facts& f = facts_[t];
    return f.strides.size() == 2 && f.strides[0] == 1 && f.strides[1] == f.dims[0];
  };
  const auto turned = [this](Id t) { return permute(t, {1, 0}); };
  const auto product_of = [this](Id a, Id b) { return matrix_product("mm", a, b); };
  if (facts_[x].gradient)
    give(x, by_columns(x) ? turned(product_of(y, turned(gradient))) : product_of(gradient, turned(y)));
  if (facts_[y].gradient)
    give(y, by_columns(y) ? turned(product_of(turned(gradient), x)) : product_of(turned(x), gradient));
}

Eager::Id Eager::matmul(Id a, Id b) {
  const Dims da = dims(a), db = dims(b);
  const auto mm = [this](Id x, Id y) {
    const Id out = matrix_product("mm", x, y);
    tape({x, y}, {out}, [this, x, y](const auto& g) { give_products(*g[0], x, y); });
    return out;
  };
  if (da.size() == 1 || db.size() == 1) {
    const Id x = da.size() == 1 ? reshape(a, {1, da[0]}) : a, y = db.size() == 1 ? reshape(b, {db[0], 1}) : b;
    const Id out = matmul(x, y);
    Dims result = dims(out);
    if (db.size() == 1) result.pop_back();
    if (da.size() == 1) result.erase(result.end() - (db.size() == 1 ? 1 : 2));
    return reshape(out, result);
  }
  if (db.size() == 2) {
    Dims result = da;
    result.back() = db[1];
    return reshape(mm(folded(a), b), result);
  }
  const std::size_t rank = std::max(da.size(), db.size());
  Dims batch(rank - 2, 1);
  for (const Dims& d : {da, db}) {
    for (std::size_t i = 0; i + 2 < d.size(); ++i) {
      std::int64_t& size = batch[rank - d.size() + i];
      size = d[i] == 1 ? size : d[i];
    }
  }
  const std::int64_t batches = count(product(batch));
  const auto flat = [&](Id x) {
    Dims whole = batch;
    const Dims own = dims(x);
    whole.insert(whole.end(), own.end() - 2, own.end());
    return reshape(expand(x, whole, true), {batches, own[own.size() - 2], own.back()});
  };
  const Id x = flat(a), y = flat(b);
  const Id out = matrix_product("bmm", x, y);
  tape({x, y}, {out}, [this, x, y](const auto& g) {
    if (facts_[x].gradient) give(x, matrix_product("bmm", *g[0], permute(y, {0, 2, 1})));
    if (facts_[y].gradient) give(y, matrix_product("bmm", permute(x, {0, 2, 1}), *g[0]));
  });
  Dims result = batch;
  result.push_back(da[da.size() - 2]), result.push_back(db.back());
  return reshape(out, result);
}

Eager::Id Eager::linear(Id x, Id weight, bool transposed, std::optional<Id> bias) {
  const Dims whole = dims(x);
  const Id rows = folded(x), w = transposed ? permute(weight, {1, 0}) : weight;
  const std::int64_t wide = dims(w)[1];
  Id out = 0;
  if (bias) {
    const Id a = as_matrices(rows), b = as_matrices(w);
    out = tensor({dims(rows)[0], wide}, element(x));
    emit("aten::addmm", {tensors({*bias}), tensors({a}), tensors({b})}, {out});
  } else {
    out = matrix_product("mm", rows, w);
  }
  Ids inputs{rows, w};
  if (bias) inputs.push_back(*bias);
  tape(inputs, {out}, [this, rows, w, bias](const auto& g) {
    const Id gradient = *g[0];
    give_products(gradient, rows, w);
    if (bias && facts_[*bias].gradient) give(*bias, kernel("sum", {gradient}, Dims(facts_[*bias].dims)));
  });
  Dims result = whole;
  result.back() = wide;
  return reshape(out, result);
}

Eager::Id Eager::convolution(Id x, Id filters, std::optional<Id> bias, const Window& window, const Dims& result) {
  const Dims none(window.stride.size(), 0);
  std::vector<Argument> arguments{tensors({x}),
                                  tensors({filters}),
                                  bias ? tensors({*bias}) : Argument{},
                                  numbers(window.stride),
                                  numbers(window.pad),
                                  numbers(window.dilation),
                                  number(window.transposed ? 1 : 0),
                                  numbers(none),
                                  number(static_cast<double>(window.groups))};
  const Id out = tensor(Dims(result), element(x));
  emit("aten::convolution", std::move(arguments), {out});
  Ids inputs{x, filters};
  if (bias) inputs.push_back(*bias);
  tape(inputs, {out}, [this, x, filters, bias, window, none](const auto& g) {
    const std::vector<std::int64_t> mask{facts_[x].gradient, facts_[filters].gradient, bias && facts_[*bias].gradient};
    const std::vector<std::int64_t> bias_sizes =
        bias ? std::vector<std::int64_t>(facts_[*bias].dims) : std::vector<std::int64_t>{};
    Ids results;
    const auto gradient_of = [&](Id t, std::size_t place) {
      if (mask[place] == 0) return;
      results.push_back(like(t));
    };
    gradient_of(x, 0), gradient_of(filters, 1);
    if (bias) gradient_of(*bias, 2);
    emit("aten::convolution_backward",
         {tensors({*g[0]}), tensors({x}), tensors({filters}), numbers(bias_sizes), numbers(window.stride),
          numbers(window.pad), numbers(window.dilation), number(window.transposed ? 1 : 0), numbers(none),
          number(static_cast<double>(window.groups)), numbers(mask)},
         results);
    std::size_t next = 0;
    if (mask[0] != 0) give(x, results[next++]);
    if (mask[1] != 0) give(filters, results[next++]);
    if (mask[2] != 0) give(*bias, results[next]);
  });
  return out;
}

Eager::Id Eager::pool(std::string_view op, std::string_view backward, Id x, const Window& window, const Dims& result) {
  const bool indices = op.find("with_indices") != op.npos;
  const Id out = tensor(Dims(result), element(x));
  Ids outputs{out};
  if (indices) outputs.push_back(tensor(Dims(result), Element{graph::DType::int64, 8, false}));
  emit("aten::" + std::string(op), {tensors({x}), numbers(window.kernel), numbers(window.stride), numbers(window.pad)},
       outputs);
  tape({x}, {out}, [this, x, outputs, indices, backward = std::string(backward)](const auto& g) {
    Ids read{*g[0], x};
    if (indices) read.push_back(outputs[1]);
    give(x, kernel(backward, read, Dims(facts_[x].dims)));
  });
  return out;
}

Eager::Id Eager::batch_norm(Id x, std::optional<Id> scale, std::optional<Id> shift) {
  const Element counter{graph::DType::int64, 8, false};
  emit("aten::add_", {tensors({tensor({}, counter, TensorRole::buffer, "batches")}), number(1)}, {});
  fresh_ = true;
  Ids inputs{x};
  if (scale) inputs.push_back(*scale);
  if (shift) inputs.push_back(*shift);
  std::vector<Argument> arguments;
  for (const Id i : inputs) arguments.push_back(tensors({i}));
  const Id out = like(x);
  emit("aten::native_batch_norm", std::move(arguments), {out});
  tape(inputs, {out}, [this, x, scale, shift](const auto& g) {
    Ids results{like(x)};
    if (scale) results.push_back(like(*scale));
    if (shift) results.push_back(like(*shift));
    emit("aten::native_batch_norm_backward", {tensors({*g[0]}), tensors({x}), scale ? tensors({*scale}) : Argument{}},
         results);
    give(x, results[0]);
    if (scale) give(*scale, results[1]);
    if (shift) give(*shift, results.back());
  });
  return out;
}

Eager::Id Eager::row_norm(std::string_view op, Id x, const Dims& row, std::optional<Id> scale,
                          std::optional<Id> shift) {
  std::vector<Argument> arguments{tensors({x}), numbers(row), scale ? tensors({*scale}) : Argument{},
                                  shift ? tensors({*shift}) : Argument{}};
  Ids inputs{x};
  if (scale) inputs.push_back(*scale);
  if (shift) inputs.push_back(*shift);
  const Id out = like(x);
  emit("aten::" + std::string(op), std::move(arguments), {out});
  tape(inputs, {out}, [this, x, row, scale, shift, op = std::string(op)](const auto& g) {
    Ids results{like(x)};
    if (scale) results.push_back(like(*scale));
    if (shift) results.push_back(like(*shift));
    emit("aten::" + op + "_backward", {tensors({*g[0]}), tensors({x}), numbers(row)}, results);
    give(x, results[0]);
    if (scale) give(*scale, results[1]);
    if (shift) give(*shift, results.back());
  });
  return out;
}

Eager::Id Eager::group_norm(Id x, std::int64_t groups, std::optional<Id> scale, std::optional<Id> shift) {
  const Dims d = dims(x);
  const double n = static_cast<double>(d[0]), c = static_cast<double>(d[1]);
  const std::vector<Argument> shape{number(n), number(c), number(product(d) / std::max(1.0, n * c)),
                                    number(static_cast<double>(groups))};
  Ids inputs{x};
  if (scale) inputs.push_back(*scale);
  if (shift) inputs.push_back(*shift);
  std::vector<Argument> arguments{tensors({x}), scale ? tensors({*scale}) : Argument{},
                                  shift ? tensors({*shift}) : Argument{}};
  arguments.insert(arguments.end(), shape.begin(), shape.end());
  const Id out = like(x);
  emit("aten::native_group_norm", std::move(arguments), {out});
  tape(inputs, {out}, [this, x, scale, shift, shape](const auto& g) {
    Ids results{like(x)};
    if (scale) results.push_back(like(*scale));
    if (shift) results.push_back(like(*shift));
    std::vector<Argument> read{tensors({*g[0]}), tensors({x}), Argument{}, Argument{}, Argument{}};
    read.insert(read.end(), shape.begin(), shape.end());
    emit("aten::native_group_norm_backward", std::move(read), results);
    give(x, results[0]);
    if (scale) give(*scale, results[1]);
    if (shift) give(*shift, results.back());
  });
  return out;
}

Eager::Id Eager::softmax(std::string_view op, Id x, std::int64_t axis) {
  const Id out = kernel(std::string(op), {x}, Dims(facts_[x].dims), {number(static_cast<double>(axis))});
  tape({x}, {out}, [this, x, out, axis, op = std::string(op)](const auto& g) {
    give(x, kernel(op + "_backward_data", {*g[0], out}, Dims(facts_[x].dims), {number(static_cast<double>(axis))}));
  });
  return out;
}

Eager::Ids Eager::recurrent(Id x, const Ids& weights, RecurrentMode mode, std::int64_t hidden, bool both,
                            const std::vector<Dims>& results) {
  Ids outputs;
  for (const Dims& d : results) outputs.push_back(tensor(Dims(d), element(x)));
  const std::vector<Argument> shape{number(static_cast<double>(mode)),
                                    number(static_cast<double>(hidden)),
                                    number(0),
                                    number(1),
                                    number(0),
                                    number(0),
                                    number(1),
                                    number(both ? 1 : 0)};
  std::vector<Argument> arguments{tensors({x}), tensors(weights), number(4), Argument{}, Argument{}, Argument{}};
  arguments.insert(arguments.end(), shape.begin(), shape.end());
  emit("aten::_cudnn_rnn", std::move(arguments), outputs);
  Ids inputs{x};
  inputs.insert(inputs.end(), weights.begin(), weights.end());
  tape(inputs, outputs, [this, x, weights, outputs, shape](const auto& g) {
    const Id gradient = g[0] ? *g[0] : outputs[0];
    std::vector<Argument> read{tensors({x}), tensors(weights),      number(4),           Argument{}, Argument{},
                               Argument{},   tensors({outputs[0]}), tensors({gradient}), Argument{}, Argument{}};
    read.insert(read.end(), shape.begin(), shape.end());
    Ids written{like(x)};
    for (const Id w : weights) written.push_back(like(w));
    emit("aten::_cudnn_rnn_backward", std::move(read), written);
    give(x, written[0]);
    for (std::size_t i = 0; i < weights.size(); ++i) give(weights[i], written[i + 1]);
  });
  return outputs;
}

}  // namespace distsim::opgraph
