#include "mpi_bench/op/op_case.hpp"

#include <cstdio>

#include "base/check.hpp"

namespace distsim::bench {
namespace {

template <class... Fs>
struct Overloaded : Fs... { using Fs::operator()...; };
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

double vector_operands(const std::string& op) {
  if (op == "add" || op == "mul") return 3;
  return op == "copy_h2d" || op == "copy_d2h" ? 1 : 2;  // the other end of a host copy is not in device memory
}

double nnz(const EmbeddingShape& s) { return product({s.tables, s.batch, s.pooling}); }

}  // namespace

std::string family_of(const OpCase& c) {
  return std::visit(Overloaded{[](const GemmShape&) { return "gemm"; }, [](const VectorShape&) { return "elementwise_norm_softmax"; },
                               [](const EmbeddingShape&) { return "embedding"; }}, c.shape);
}

std::int64_t dtype_bytes(const std::string& dtype) {
  if (dtype == "fp32" || dtype == "tf32") return 4;
  if (dtype == "fp16" || dtype == "bf16") return 2;
  CHECK(dtype == "int8") << dtype;
  return 1;
}

double operand_bytes(const OpCase& c) {
  const auto e = static_cast<double>(dtype_bytes(c.dtype));
  return std::visit(Overloaded{
      [&](const GemmShape& s) { return e * (product({s.b, s.m, s.k}) + product({s.b, s.k, s.n}) + product({s.b, s.m, s.n})); },
      [&](const VectorShape& s) { return e * vector_operands(c.op) * product({s.rows, s.cols}); },
      [&](const EmbeddingShape& s) {
        return e * (product({s.tables, s.rows_per_table, s.dim}) + product({s.tables, s.batch, s.dim})) + 8 * nnz(s);
      }}, c.shape);
}

double flops(const OpCase& c) {
  return std::visit(Overloaded{
      [](const GemmShape& s) { return 2 * product({s.b, s.m, s.n, s.k}); },
      [&](const VectorShape& s) { return c.op.starts_with("copy") ? 0 : product({s.rows, s.cols}); },
      [](const EmbeddingShape& s) { return nnz(s) * static_cast<double>(s.dim); }}, c.shape);
}

std::vector<std::string> shape_columns(const std::string& family) {
  if (family == "gemm") return {"b", "m", "n", "k", "layout"};
  if (family == "embedding") return {"tables", "batch", "nnz", "rows_total", "dim"};
  CHECK(family == "elementwise_norm_softmax") << family;
  return {"rows", "cols"};
}

std::vector<std::string> shape_values(const OpCase& c) {
  using std::to_string;
  return std::visit(Overloaded{
      [](const GemmShape& s) { return std::vector{to_string(s.b), to_string(s.m), to_string(s.n), to_string(s.k), s.layout}; },
      [](const VectorShape& s) { return std::vector{to_string(s.rows), to_string(s.cols)}; },
      [](const EmbeddingShape& s) {
        return std::vector{to_string(s.tables), to_string(s.batch), to_string(s.tables * s.batch * s.pooling),
                           to_string(s.tables * s.rows_per_table), to_string(s.dim)};
      }}, c.shape);
}

std::string extra_value(const OpCase& c) {
  const auto* s = std::get_if<EmbeddingShape>(&c.shape);
  return s == nullptr ? "" : "pooling=" + std::to_string(s->pooling) + ";alpha=" + number_text(s->alpha);
}

std::string describe(const OpCase& c) {
  const std::string extra = extra_value(c);
  return joined({c.op, c.pass, c.dtype, joined(shape_values(c), "x")}, " ") + (extra.empty() ? "" : " " + extra);
}

}  // namespace distsim::bench
