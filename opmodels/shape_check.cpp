#include "opmodels/shape_check.hpp"

#include <cmath>
#include <cstdio>
#include <string>

namespace distsim::opmodels {
namespace {

constexpr double kMaxProduct = 4611686018427387904.0;  // 2^62

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

Error bad_dim(std::string_view op, const NamedDim& dim) {
  return {
      std::string(op) + "." + std::string(dim.name) + ": found " + std::to_string(dim.value) + ", expected at least 1",
      "", ""};
}

Error too_large(std::string_view op, double product) {
  return {std::string(op) + ": found dimensions whose product is " + number(product) + ", expected at most 2^62", "",
          ""};
}

}  // namespace

Result<void> check_dims(std::string_view op, std::initializer_list<NamedDim> dims) {
  double product = 1;
  for (const NamedDim& dim : dims) {
    if (dim.value < 1) return bad_dim(op, dim);
    product *= static_cast<double>(dim.value);
  }
  if (product > kMaxProduct) return too_large(op, product);
  return {};
}

Result<void> check_number(std::string_view op, std::string_view key, double value, double low, double high) {
  if (value >= low && value <= high) return {};
  return Error{std::string(op) + "." + std::string(key) + ": found " + number(value) + ", expected a number from " +
                   number(low) + " to " + number(high),
               "", ""};
}

Result<void> check_pass(std::string_view op, graph::Pass pass, std::initializer_list<graph::Pass> allowed) {
  for (const graph::Pass candidate : allowed) {
    if (candidate == pass) return {};
  }
  std::string names;
  for (const graph::Pass candidate : allowed)
    names += (names.empty() ? "" : " or ") + std::string(graph::name_of(candidate));
  return Error{std::string(op) + ".pass: found " + std::string(graph::name_of(pass)) + ", expected " + names, "", ""};
}

}  // namespace distsim::opmodels
