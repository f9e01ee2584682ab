#include "opmodels/measured/op_point.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/fnv.hpp"

namespace distsim::opmodels {
namespace {

/// What must be equal, by the type of the field. Files of measured ops hold the hash of these lists one after the
/// other, so their order stays.
struct Settings {
  std::vector<std::int64_t> kinds, dtypes, passes, flags, numbers;
};

std::uint64_t group_of(const graph::Op& op, const Settings& settings) {
  Fnv64 group;
  group.add_word(op.index());
  for (const auto* list : {&settings.kinds, &settings.dtypes, &settings.passes, &settings.flags, &settings.numbers}) {
    for (const std::int64_t value : *list) group.add_word(static_cast<std::uint64_t>(value));
  }
  return group.value();
}

/// Thousandths: enough to tell 1.25 tensors from 1.
std::int64_t thousandths(double value) { return std::llround(std::clamp(value, -1e12, 1e12) * 1000); }

constexpr double kLeastSize = 1e-6;  // keeps logarithms finite: a pooling factor may be 0

float octaves(double size) { return std::log2(static_cast<float>(std::max(size, kLeastSize))); }

/// Sorts the fields of a shape into settings and sizes.
struct Sorter {
  Settings settings;
  std::array<float, OpPoint::kDims> at{};
  std::size_t sizes = 0;

  void operator()(const graph::Field& field, const std::int64_t& value) {
    if (field.added && value == 0) return;
    if (field.role == graph::Role::part) settings.numbers.push_back(value == 0);
    if (field.role == graph::Role::setting) settings.numbers.push_back(value);
    if (field.role == graph::Role::size) add_size(graph::real(value));
    if (field.role == graph::Role::part) add_size(graph::real(std::max<std::int64_t>(value, 1)));
  }
  void operator()(const graph::Field& field, const double& value) {
    if (field.added && value == 0) return;
    if (field.role == graph::Role::setting) settings.numbers.push_back(thousandths(value));
    if (field.role == graph::Role::size) add_size(value);
  }
  void operator()(const graph::Field& field, const bool& value) {
    if (field.added && !value) return;
    if (field.role == graph::Role::setting) settings.flags.push_back(value);
  }
  template <graph::Named Enum>
  void operator()(const graph::Field& field, const Enum& value) {
    if (field.added && value == Enum{}) return;
    if (field.role == graph::Role::setting) list_of(value).push_back(static_cast<std::int64_t>(value));
  }
  void add_size(double value) {
    CHECK(sizes < at.size()) << "an op with more than " << at.size() << " sizes";
    at[sizes++] = octaves(value);
  }

 private:
  std::vector<std::int64_t>& list_of(graph::DType) { return settings.dtypes; }
  std::vector<std::int64_t>& list_of(graph::Pass) { return settings.passes; }
  template <class Kind>
  std::vector<std::int64_t>& list_of(Kind) {
    return settings.kinds;
  }
};

template <class Shape>
std::optional<OpPoint> point(const graph::Op& op, const Shape& shape) {
  if constexpr (Shape::kWork == graph::Work::kernel || Shape::kWork == graph::Work::copy) {
    Sorter sorter;
    graph::for_each_field(sorter, shape);
    return OpPoint{group_of(op, sorter.settings), sorter.at};
  } else {
    return std::nullopt;
  }
}

/// Tables that are alike count as one, times their number. How rows are updated matters backward only.
std::optional<OpPoint> point(const graph::Op& op, const graph::EmbeddingBag& bag) {
  if (bag.tables.empty()) return std::nullopt;
  const graph::EmbeddingTable& t = bag.tables.front();
  if (!std::all_of(bag.tables.begin(), bag.tables.end(), [&](const auto& other) { return other == t; }))
    return std::nullopt;
  const auto code = [](auto value) { return static_cast<std::int64_t>(value); };
  const std::int64_t update = bag.pass == graph::Pass::forward ? 0 : code(bag.optimizer) * 8 + code(bag.update);
  Sorter sorter;
  sorter.settings = {{}, {code(bag.weights), code(bag.output)}, {code(bag.pass), update}, {bag.table_batched}, {}};
  sorter.settings.numbers = {thousandths(t.alpha)};
  for (const double size : {static_cast<double>(bag.tables.size()), graph::real(bag.batch), t.pooling_factor,
                            graph::real(t.rows), graph::real(t.dim)})
    sorter.add_size(size);
  return OpPoint{group_of(op, sorter.settings), sorter.at};
}

}  // namespace

std::optional<OpPoint> point_of(const graph::Op& op) {
  return std::visit([&](const auto& shape) { return point(op, shape); }, op);
}

}  // namespace distsim::opmodels
