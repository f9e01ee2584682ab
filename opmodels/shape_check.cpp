#include "opmodels/shape_check.hpp"

#include <algorithm>
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

std::string key_of(std::string_view op, std::string_view key) { return std::string(op) + "." + std::string(key); }

Error out_of_bounds(std::string_view op, const graph::Field& field, const std::string& found) {
  const std::string expected = std::isinf(field.most)
                                   ? "at least " + number(field.least)
                                   : "a number from " + number(field.least) + " to " + number(field.most);
  return {key_of(op, field.name) + ": found " + found + ", expected " + expected, "", ""};
}

/// Keeps the first thing that is wrong.
class Bounds {
 public:
  Bounds(std::string_view op, std::span<const graph::Pass> passes) : op_(op), passes_(passes) {}

  void operator()(const graph::Field& field, const std::int64_t& value) {
    if (field.bounded && !within(field, static_cast<double>(value)))
      fail(out_of_bounds(op_, field, std::to_string(value)));
  }
  void operator()(const graph::Field& field, const double& value) {
    if (field.bounded && !within(field, value)) fail(out_of_bounds(op_, field, number(value)));
  }
  void operator()(const graph::Field& field, const graph::Pass& pass) {
    const bool any = field.role == graph::Role::note || passes_.empty();
    if (any || std::find(passes_.begin(), passes_.end(), pass) != passes_.end()) return;
    std::string names;
    for (const graph::Pass known : passes_) names += (names.empty() ? "" : " or ") + std::string(graph::name_of(known));
    fail({key_of(op_, field.name) + ": found " + std::string(graph::name_of(pass)) + ", expected " + names, "", ""});
  }
  template <class Item>
  void operator()(const graph::Field& field, const std::vector<Item>& items) {
    if (field.role == graph::Role::size && items.empty()) fail(out_of_bounds(op_, field, "0"));
    if constexpr (std::is_class_v<Item>) {
      for (const Item& item : items) graph::for_each_field(*this, item);
    }
  }
  template <class Other>
  void operator()(const graph::Field&, const Other&) {}

  Result<void> take() && { return std::move(result_); }

 private:
  /// Written so that a NaN is outside.
  static bool within(const graph::Field& field, double value) { return value >= field.least && value <= field.most; }
  void fail(Error error) {
    if (result_.ok()) result_ = std::move(error);
  }

  std::string_view op_;
  std::span<const graph::Pass> passes_;
  Result<void> result_;
};

}  // namespace

Result<void> check_fields(const graph::Op& op, std::span<const graph::Pass> passes) {
  Bounds bounds(graph::kind_of(op), passes);
  std::visit([&](const auto& shape) { graph::for_each_field(bounds, shape); }, op);
  return std::move(bounds).take();
}

Result<void> check_product(std::string_view op, std::initializer_list<std::int64_t> dims) {
  double product = 1;
  for (const std::int64_t dim : dims) product *= static_cast<double>(dim);
  if (product <= kMaxProduct) return {};
  return Error{std::string(op) + ": found dimensions whose product is " + number(product) + ", expected at most 2^62",
               "", ""};
}

Result<void> check_number(std::string_view op, std::string_view key, double value, double low, double high) {
  if (value >= low && value <= high) return {};
  return Error{
      key_of(op, key) + ": found " + number(value) + ", expected a number from " + number(low) + " to " + number(high),
      "", ""};
}

}  // namespace distsim::opmodels
