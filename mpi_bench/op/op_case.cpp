#include "mpi_bench/op/op_case.hpp"

#include <cstdio>
#include <cstdlib>

#include "base/check.hpp"

namespace distsim::bench {
namespace {

template <class... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

double product(std::initializer_list<std::int64_t> factors) {
  double result = 1;
  for (std::int64_t f : factors) result *= static_cast<double>(f);
  return result;
}

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

std::string joined(const std::vector<std::string>& parts, const char* separator) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : separator) + part;
  return text;
}

double vector_operands(const OpCase& c) {
  if (c.op == "add" || c.op == "mul" || c.pass == "bwd") return 3;
  return c.op == "copy_h2d" || c.op == "copy_d2h" || c.op == "copy_p2p"
             ? 1
             : 2;  // the other end is not in this GPU's memory
}

double number_of(const VectorShape& s, const std::string& name) {
  return static_cast<double>(extra_number(s.extra, name).value_or(1));
}

/// Forward: Q, K, V, output. Backward: these and their gradients.
double attention_bytes(const OpCase& c, const VectorShape& s) {
  const auto e = static_cast<double>(dtype_bytes(c.dtype));
  const double heads = e * static_cast<double>(s.rows) * number_of(s, "dim"), scores = e * product({s.rows, s.cols});
  const bool backward = c.pass == "bwd";
  if (c.op == "flash_attention")
    return (backward ? 8 : 4) * heads +
           (backward ? 4 * static_cast<double>(s.rows) : 0);  // statistics of each row in fp32
  return backward ? 7 * heads + 3 * scores : 4 * heads + 2 * scores;
}

/// Two products forward and four backward, of which flash attention makes one more again.
double attention_products(const OpCase& c) { return c.pass != "bwd" ? 2 : c.op == "flash_attention" ? 5 : 4; }

/// Bytes of an op on arrays: in and out, with the optimizers' states, the interaction's triangle and the attention
/// scores.
double vector_bytes(const OpCase& c, const VectorShape& s) {
  const auto e = static_cast<double>(dtype_bytes(c.dtype));
  const double elements = product({s.rows, s.cols});
  if (c.op == "optimizer_adam") return 4 * 4 * elements;
  if (c.op == "optimizer_sgd") return 2 * 4 * elements;
  if (c.op == "interaction") {
    const double f = number_of(s, "features"), d = number_of(s, "dim");
    return e * static_cast<double>(s.rows) * (f * d + d + f * (f - 1) / 2);
  }
  if (c.op.ends_with("attention")) return attention_bytes(c, s);
  return e * vector_operands(c) * elements;
}

double vector_flops(const OpCase& c, const VectorShape& s) {
  const double elements = product({s.rows, s.cols});
  if (c.op.starts_with("copy")) return 0;
  if (c.op == "interaction") {
    const double f = number_of(s, "features");
    return static_cast<double>(s.rows) * f * (f - 1) * number_of(s, "dim");
  }
  if (c.op.ends_with("attention")) return 2 * attention_products(c) * elements * number_of(s, "dim");
  return elements;
}

double conv_elements(const ConvShape& s) {
  return product({s.n, s.c, s.hw, s.hw}) + product({s.k, s.c / s.groups, s.rs, s.rs}) +
         product({s.n, s.k, s.out_hw(), s.out_hw()});
}

/// Inputs, outputs and weights; backward their gradients as well.
double recurrent_elements(const OpCase& c, const RecurrentShape& s) {
  const double states = product({s.batch, s.length, s.input + s.directions * s.hidden});
  return (c.pass == "fwd" ? 1 : 2) * (states + static_cast<double>(s.weights(c.op)));
}

double nnz(const EmbeddingShape& s) { return product({s.tables, s.batch, s.pooling}); }

}  // namespace

std::string family_of(const OpCase& c) {
  return std::visit(
      Overloaded{[](const GemmShape&) { return "gemm"; }, [](const VectorShape&) { return "elementwise_norm_softmax"; },
                 [](const EmbeddingShape&) { return "embedding"; }, [](const ConvShape&) { return "conv2d"; },
                 [](const RecurrentShape&) { return "recurrent"; }},
      c.shape);
}

std::int64_t dtype_bytes(const std::string& dtype) {
  if (dtype == "fp32" || dtype == "tf32") return 4;
  if (dtype == "fp16" || dtype == "bf16") return 2;
  CHECK(dtype == "int8" || dtype == "fp8") << dtype;
  return 1;
}

double operand_bytes(const OpCase& c) {
  const auto e = static_cast<double>(dtype_bytes(c.dtype));
  return std::visit(
      Overloaded{[&](const GemmShape& s) {
                   return e * (product({s.b, s.m, s.k}) + product({s.b, s.k, s.n}) + product({s.b, s.m, s.n}));
                 },
                 [&](const VectorShape& s) { return vector_bytes(c, s); },
                 [&](const ConvShape& s) { return e * conv_elements(s); },
                 [&](const RecurrentShape& s) { return e * recurrent_elements(c, s); },
                 [&](const EmbeddingShape& s) {
                   return e * (product({s.tables, s.rows_per_table, s.dim}) + product({s.tables, s.batch, s.dim})) +
                          8 * nnz(s);
                 }},
      c.shape);
}

double flops(const OpCase& c) {
  return std::visit(Overloaded{[](const GemmShape& s) {
                                 return 2 * product({s.b, s.m, s.n, s.k});
                               },
                               [&](const VectorShape& s) { return vector_flops(c, s); },
                               [](const ConvShape& s) {
                                 return 2 * product({s.n, s.out_hw(), s.out_hw(), s.k, s.c / s.groups, s.rs, s.rs});
                               },
                               [&](const RecurrentShape& s) {
                                 const std::int64_t wide = s.directions * RecurrentShape::gates(c.op) * s.hidden;
                                 return 2 * product({s.batch, s.length, wide, s.input + s.hidden});
                               },
                               [](const EmbeddingShape& s) { return nnz(s) * static_cast<double>(s.dim); }},
                    c.shape);
}

std::vector<std::string> shape_columns(const std::string& family) {
  if (family == "gemm") return {"b", "m", "n", "k", "layout"};
  if (family == "conv2d")
    return {"n", "c", "h", "w", "k", "r", "s", "stride_h", "stride_w", "pad_h", "pad_w", "dil", "groups"};
  if (family == "embedding") return {"tables", "batch", "nnz", "rows_total", "dim"};
  if (family == "recurrent") return {"batch", "length", "input", "hidden", "directions", "kernels"};
  CHECK(family == "elementwise_norm_softmax") << family;
  return {"rows", "cols"};
}

std::vector<std::string> shape_values(const OpCase& c) {
  using std::to_string;
  return std::visit(
      Overloaded{[](const GemmShape& s) {
                   return std::vector{to_string(s.b), to_string(s.m), to_string(s.n), to_string(s.k), s.layout};
                 },
                 [](const VectorShape& s) {
                   return std::vector{to_string(s.rows), to_string(s.cols)};
                 },
                 [](const ConvShape& s) {
                   return std::vector{to_string(s.n),      to_string(s.c),   to_string(s.hw),  to_string(s.hw),
                                      to_string(s.k),      to_string(s.rs),  to_string(s.rs),  to_string(s.stride),
                                      to_string(s.stride), to_string(s.pad), to_string(s.pad), std::string("1"),
                                      to_string(s.groups)};
                 },
                 [](const RecurrentShape& s) {
                   return std::vector{to_string(s.batch),  to_string(s.length),     to_string(s.input),
                                      to_string(s.hidden), to_string(s.directions), s.kernels};
                 },
                 [](const EmbeddingShape& s) {
                   return std::vector{to_string(s.tables), to_string(s.batch),
                                      to_string(s.tables * s.batch * s.pooling), to_string(s.tables * s.rows_per_table),
                                      to_string(s.dim)};
                 }},
      c.shape);
}

std::string extra_value(const OpCase& c) {
  if (const auto* s = std::get_if<EmbeddingShape>(&c.shape))
    return "pooling=" + std::to_string(s->pooling) + ";alpha=" + number_text(s->alpha);
  if (const auto* s = std::get_if<ConvShape>(&c.shape)) return "layout=" + s->layout;
  const auto* s = std::get_if<VectorShape>(&c.shape);
  return s == nullptr ? "" : s->extra;
}

std::optional<std::int64_t> extra_number(const std::string& extra, const std::string& name) {
  const std::size_t at = (";" + extra).find(";" + name + "=");
  if (at == std::string::npos) return std::nullopt;
  return std::strtoll(extra.c_str() + at + name.size() + 1, nullptr, 10);
}

std::vector<OpCase> attention_steps(const OpCase& c) {
  const VectorShape& s = std::get<VectorShape>(c.shape);
  const std::int64_t length = s.cols, heads = s.rows / s.cols, dim = extra_number(s.extra, "dim").value_or(1);
  const auto product = [&](std::int64_t n, std::int64_t k, const char* layout) {
    return OpCase{"bmm", "fwd", c.dtype, GemmShape{heads, length, n, k, layout}};
  };
  const OpCase softmax{"softmax", c.pass, c.dtype, VectorShape{s.rows, length, ""}};
  if (c.pass != "bwd") return {product(length, dim, "NT"), softmax, product(dim, length, "NN")};
  return {product(dim, length, "TN"), product(length, dim, "NT"), softmax, product(dim, length, "NN"),
          product(dim, length, "TN")};
}

int peer_of(int device, int devices) {
  CHECK(devices >= 2) << devices;
  return (device + 1) % devices;
}

std::string describe(const OpCase& c) {
  const std::string extra = extra_value(c);
  return joined({c.op, c.pass, c.dtype, joined(shape_values(c), "x")}, " ") + (extra.empty() ? "" : " " + extra);
}

}  // namespace distsim::bench
