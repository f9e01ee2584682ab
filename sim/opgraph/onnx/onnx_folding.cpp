// Sizes and axes that a model computes from its shapes: whole numbers that are known before anything runs. No kernels.
#include <algorithm>
#include <functional>

#include "base/text/printable.hpp"
#include "sim/opgraph/onnx/onnx_reader.hpp"

namespace distsim::opgraph {
namespace {

using Numbers = std::vector<std::int64_t>;

std::int64_t bounded(double n) {
  constexpr double kMost = 9e18;
  return static_cast<std::int64_t>(std::clamp(n, -kMost, kMost));
}

/// With the sign of the divisor, or, as C's fmod, of what is divided.
std::int64_t modulo(std::int64_t a, std::int64_t b, bool as_fmod) {
  if (b == 0 || b == -1) return 0;
  const std::int64_t rest = a % b;
  return !as_fmod && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

std::int64_t arithmetic(std::string_view op, std::int64_t a, std::int64_t b) {
  const auto x = static_cast<double>(a), y = static_cast<double>(b);
  if (op == "Add") return bounded(x + y);
  if (op == "Sub") return bounded(x - y);
  if (op == "Mul") return bounded(x * y);
  if (op == "Div") return b == 0 || (a == INT64_MIN && b == -1) ? 0 : a / b;
  if (op == "Max") return std::max(a, b);
  if (op == "Min") return std::min(a, b);
  if (op == "Equal") return a == b;
  if (op == "Less") return a < b;
  if (op == "Greater") return a > b;
  if (op == "And") return a != 0 && b != 0;
  return a != 0 || b != 0;
}

/// Of one list or table, whatever dimensions of size 1 stand before it.
bool same_but_for_ones(const Dims& a, const Dims& b) {
  const auto rest = [](const Dims& d) { return std::ranges::find_if(d, [](std::int64_t n) { return n != 1; }); };
  return std::equal(rest(a), a.end(), rest(b), b.end());
}

/// Numbers of places in the dimensions before an axis, and in those behind it.
std::pair<std::size_t, std::size_t> around(const Dims& dims, std::size_t axis) {
  const auto at = dims.begin() + static_cast<std::ptrdiff_t>(axis);
  return {static_cast<std::size_t>(product(Dims(dims.begin(), at))),
          static_cast<std::size_t>(product(Dims(at + 1, dims.end())))};
}

constexpr std::string_view kArithmetic[] = {"Add", "Sub",   "Mul",  "Div",     "Mod", "Max",
                                            "Min", "Equal", "Less", "Greater", "And", "Or"};

}  // namespace

/// Element by element, where one side may be a single number.
Result<bool> OnnxLowering::fold_arithmetic() {
  if (node_->input_size() != 2) return false;
  const Numbers &a = *in(0).numbers, &b = *in(1).numbers;
  if (a.size() != 1 && b.size() != 1 && !same_but_for_ones(in(0).dims, in(1).dims)) return false;
  Numbers out(std::max(a.size(), b.size()) * (a.empty() || b.empty() ? 0 : 1));
  const bool as_fmod = integer("fmod", 0) != 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::int64_t x = a[a.size() == 1 ? 0 : i], y = b[b.size() == 1 ? 0 : i];
    out[i] = node_->op_type() == "Mod" ? modulo(x, y, as_fmod) : arithmetic(node_->op_type(), x, y);
  }
  Dims dims =
      a.size() < b.size() || (a.size() == b.size() && in(0).dims.size() < in(1).dims.size()) ? in(1).dims : in(0).dims;
  TRY(give_numbers(std::move(dims), std::move(out)));
  return true;
}

/// A list in parts of the sizes that are given, or equal ones.
Result<bool> OnnxLowering::fold_split() {
  if (!has(0) || !in(0).numbers || in(0).tensor || in(0).dims.size() != 1) return false;
  const Numbers n = *in(0).numbers;
  TRY_ASSIGN(Numbers sizes, listed("split", 1));
  const std::int64_t parts = node_->output_size(), whole = static_cast<std::int64_t>(n.size());
  if (parts == 0) return false;
  const std::int64_t each = (whole + parts - 1) / parts;
  for (std::int64_t i = 0; sizes.size() < static_cast<std::size_t>(parts); ++i)
    sizes.push_back(std::clamp<std::int64_t>(whole - i * each, 0, each));
  if (sizes.size() != static_cast<std::size_t>(parts))
    return wrong("split: found another number of parts than results");
  TRY(check_split(sizes, whole));
  std::int64_t begin = 0;
  for (int i = 0; i < node_->output_size(); ++i) {
    const std::int64_t size = sizes[static_cast<std::size_t>(i)];
    OnnxValue value;
    value.scalar = size == 1;
    value.dims = {size};
    value.element = in(0).element;
    value.numbers = Numbers(n.begin() + begin, n.begin() + begin + size);
    values_[node_->output(i)] = std::move(value);
    begin += size;
  }
  return true;
}

/// Lists behind each other; of tables, for each of the places before the dimension in which they are joined, what each has there.
Result<bool> OnnxLowering::fold_concat() {
  Dims dims = in(0).dims;
  std::size_t axis = 0, places = 1, all = 0;
  for (int i = 0; i < node_->input_size(); ++i) all += in(i).numbers->size();
  if (dims.size() > 1) {
    TRY(check_parts());
    TRY_ASSIGN(axis, axis_of(concat_axis(), dims.size()));
    for (std::size_t i = 0; i < axis; ++i) places *= all > 0 ? static_cast<std::size_t>(dims[i]) : 1;
  }
  Numbers out;
  for (std::size_t place = 0; place < places; ++place) {
    for (int i = 0; i < node_->input_size(); ++i) {
      const Numbers& n = *in(i).numbers;
      const std::size_t each = n.size() / places;
      const auto begin = n.begin() + static_cast<std::ptrdiff_t>(place * each);
      out.insert(out.end(), begin, begin + static_cast<std::ptrdiff_t>(each));
    }
  }
  if (dims.size() < 2) {
    dims = {static_cast<std::int64_t>(out.size())};
  } else {
    for (int i = 1; i < node_->input_size(); ++i) dims[axis] += in(i).dims[axis];
  }
  TRY(give_numbers(std::move(dims), std::move(out)));
  return true;
}

/// A table of numbers, of which padding is put together.
Result<bool> OnnxLowering::fold_transpose() {
  const OnnxValue& x = in(0);
  const Numbers& n = *x.numbers;
  const Numbers order = integers("perm");
  if (x.dims.size() < 2 || order == Numbers{0, 1}) {
    TRY(give_numbers(Dims(x.dims), Numbers(n)));
    return true;
  }
  const std::int64_t rows = x.dims[0], columns = x.dims[1];
  if (rows * columns != static_cast<std::int64_t>(n.size())) return false;
  Numbers out;
  for (std::int64_t c = 0; c < columns; ++c) {
    for (std::int64_t r = 0; r < rows; ++r) out.push_back(n[static_cast<std::size_t>(r * columns + c)]);
  }
  TRY(give_numbers({columns, rows}, std::move(out)));
  return true;
}

/// What stays of a table, dimension by dimension.
Result<bool> OnnxLowering::fold_slice() {
  Dims dims = in(0).dims;
  Numbers n = *in(0).numbers;
  if (product(dims) != static_cast<double>(n.size())) return false;
  TRY_ASSIGN(const std::vector<Cut> all, cuts());
  for (const Cut& c : all) {
    if (n.empty()) {  // however long the other dimensions are
      dims[c.axis] = c.count;
      continue;
    }
    const auto [before, after] = around(dims, c.axis);
    const auto size = static_cast<std::size_t>(dims[c.axis]);
    Numbers kept;
    for (std::size_t at = 0; at < before; ++at) {
      for (std::int64_t k = 0; k < c.count; ++k) {
        const auto place = static_cast<std::size_t>(c.begin + k * c.step);
        const auto begin = n.begin() + static_cast<std::ptrdiff_t>((at * size + place) * after);
        kept.insert(kept.end(), begin, begin + static_cast<std::ptrdiff_t>(after));
      }
    }
    n = std::move(kept);
    dims[c.axis] = c.count;
  }
  TRY(give_numbers(std::move(dims), std::move(n)));
  return true;
}

/// The sum, product, largest or smallest along dimensions.
Result<bool> OnnxLowering::fold_reduction() {
  const std::string_view op = node_->op_type();
  Dims dims = in(0).dims;
  Numbers n = *in(0).numbers;
  if (product(dims) != static_cast<double>(n.size()) || n.empty()) return false;
  TRY_ASSIGN(std::vector<std::size_t> axes, reduced_axes(dims.size()));
  const std::string_view binary = op == "ReduceSum"    ? "Add"
                                  : op == "ReduceProd" ? "Mul"
                                  : op == "ReduceMax"  ? "Max"
                                                       : "Min";
  for (const std::size_t axis : axes) {
    const auto [before, after] = around(dims, axis);
    const auto size = static_cast<std::size_t>(dims[axis]);
    Numbers reduced;
    for (std::size_t i = 0; i < before * after; ++i) {
      const auto value = [&](std::size_t k) { return n[(i / after * size + k) * after + i % after]; };
      std::int64_t all = value(0);
      for (std::size_t k = 1; k < size; ++k) {
        all = arithmetic(binary, all, value(k));
      }
      reduced.push_back(all);
    }
    n = std::move(reduced);
    dims[axis] = 1;
  }
  std::ranges::sort(axes, std::greater<>());
  if (integer("keepdims", 1) == 0)
    for (const std::size_t axis : axes) dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  TRY(give_numbers(std::move(dims), std::move(n)));
  return true;
}

/// Whether the node only computes such numbers; then its result is known.
Result<bool> OnnxLowering::fold() {
  const std::string_view op = node_->op_type();
  if (op == "Split") return fold_split();
  if (node_->input_size() == 0 || op == "Shape" || node_->output_size() != 1) return false;
  for (int i = 0; i < node_->input_size(); ++i) {
    if (!has(i) || !in(i).numbers || in(i).tensor) return false;
  }
  const OnnxValue& x = in(0);
  const Numbers& n = *x.numbers;
  if (std::ranges::find(kArithmetic, op) != std::end(kArithmetic)) return fold_arithmetic();
  if (op == "Identity" || op == "Neg" || op == "Not" || op == "Abs" || op == "Ceil" || op == "Floor") {
    Numbers out = n;
    for (std::int64_t& v : out)
      v = op == "Neg"   ? bounded(-static_cast<double>(v))
          : op == "Not" ? v == 0
          : op == "Abs" ? bounded(std::abs(static_cast<double>(v)))
                        : v;
    TRY(give_numbers(Dims(x.dims), std::move(out)));
    return true;
  }
  if (op == "Cast") {
    TRY_ASSIGN(const Element to, element_of(static_cast<std::int32_t>(integer("to", 0))));
    if (to.floating) return false;
    TRY(give_numbers(Dims(x.dims), Numbers(n)));
    return true;
  }
  if (op == "Reshape" && node_->input_size() == 2) {
    const auto whole = static_cast<std::int64_t>(n.size());
    Dims dims = *in(1).numbers;
    std::int64_t known = 1;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] == 0 && i < x.dims.size()) dims[i] = x.dims[i];
      if (dims[i] != -1) known = bounded(static_cast<double>(known) * static_cast<double>(dims[i]));
    }
    for (std::int64_t& d : dims) d = d == -1 && known > 0 ? whole / known : d;
    if (product(dims) != static_cast<double>(whole)) return false;
    TRY(give_numbers(std::move(dims), Numbers(n)));
    return true;
  }
  if (op == "Transpose" && x.dims.size() <= 2) return fold_transpose();
  if (op == "Unsqueeze" || op == "Squeeze" || op == "Flatten") {
    TRY_ASSIGN(Dims dims, flattened());
    if (op != "Flatten") {
      TRY_ASSIGN(dims, op == "Squeeze" ? squeezed() : unsqueezed());
    }
    TRY(give_numbers(std::move(dims), Numbers(n)));
    return true;
  }
  if (op == "Concat") return fold_concat();
  if (op == "Gather" && x.dims.size() == 1 && node_->input_size() == 2) {
    Numbers out;
    for (const std::int64_t i : *in(1).numbers) {
      const auto size = static_cast<std::int64_t>(n.size());
      if (i < -size || i >= size)
        return wrong("found the place " + std::to_string(i) + " of " + std::to_string(size) + " numbers");
      out.push_back(n[static_cast<std::size_t>(i < 0 ? i + size : i)]);
    }
    TRY(give_numbers(Dims(in(1).dims), std::move(out)));
    return true;
  }
  if (op == "Slice") return fold_slice();
  if (op == "Where" && node_->input_size() == 3) {
    const Numbers &a = *in(1).numbers, &b = *in(2).numbers;
    Numbers out;
    const auto at = [](const Numbers& list, std::size_t i) { return list[list.size() == 1 ? 0 : i]; };
    const std::size_t size = std::max({n.size(), a.size(), b.size()});
    Dims dims;  // of the largest, or of the one of them with the most dimensions
    for (int i = 0; i < 3; ++i) {
      if (in(i).numbers->size() == size && in(i).dims.size() >= dims.size()) dims = in(i).dims;
    }
    for (int i = 0; i < 3; ++i) {
      if (in(i).numbers->size() != 1 && !same_but_for_ones(in(i).dims, dims)) return false;
    }
    for (std::size_t i = 0; i < size; ++i) out.push_back(at(n, i) != 0 ? at(a, i) : at(b, i));
    TRY(give_numbers(std::move(dims), std::move(out)));
    return true;
  }
  if (op == "ReduceProd" || op == "ReduceSum" || op == "ReduceMax" || op == "ReduceMin") return fold_reduction();
  if (op == "Size") {
    TRY(give_numbers({}, {static_cast<std::int64_t>(n.size())}));
    return true;
  }
  if (op == "Expand" && node_->input_size() == 2) {
    double size = 1;
    Dims dims;
    for (const std::int64_t d : *in(1).numbers) size *= static_cast<double>(d), dims.push_back(d);
    if (n.size() != 1 || !(size >= 0 && size <= 65'536)) return false;
    if (dims.size() < x.dims.size()) dims.insert(dims.begin(), x.dims.size() - dims.size(), 1);
    TRY(give_numbers(std::move(dims), Numbers(static_cast<std::size_t>(size), n.front())));
    return true;
  }
  return false;
}

Result<void> OnnxLowering::constant() {
  if (node_->output_size() == 0) return wrong("found no output, expected one");
  OnnxValue value;
  if (const onnx::Attribute* a = attribute("value"); a != nullptr) {
    TRY(read_constant(a->t(), value));
  } else if (const onnx::Attribute* i = attribute("value_int"); i != nullptr) {
    return give_numbers({}, {i->i()});
  } else if (const onnx::Attribute* list = attribute("value_ints"); list != nullptr) {
    return give_numbers({list->ints_size()}, Numbers(list->ints().begin(), list->ints().end()));
  } else if (const onnx::Attribute* one = attribute("value_float"); one != nullptr) {
    value.scalar = true;
    value.number = one->f();
  } else if (const onnx::Attribute* floats = attribute("value_floats"); floats != nullptr) {
    value.dims = {floats->floats_size()};
    if (value.dims[0] <= static_cast<std::int64_t>(kMostDims))
      value.scales.assign(floats->floats().begin(), floats->floats().end());
  } else {
    return wrong("found no value that is a number, expected value, value_int, value_float or lists of them");
  }
  value.frozen = true;
  values_[node_->output(0)] = std::move(value);
  return {};
}

Result<void> OnnxLowering::shape() {
  if (!has(0)) return wrong("found no input, expected one");
  const Dims& dims = in(0).dims;
  const auto rank = static_cast<std::int64_t>(dims.size());
  const auto place = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const std::int64_t begin = place(integer("start", 0)), end = std::max(begin, place(integer("end", rank)));
  if (node_->op_type() == "Size") return give_numbers({}, {bounded(product(dims))});
  return give_numbers({end - begin}, Numbers(dims.begin() + begin, dims.begin() + end));
}

Result<void> OnnxLowering::constant_of_shape() {
  TRY_ASSIGN(const Numbers sizes, numbers(0, "shape"));
  TRY_ASSIGN(const Dims dims, checked(Dims(sizes)));
  OnnxValue value;
  if (const onnx::Attribute* a = attribute("value"); a != nullptr) TRY(read_constant(a->t(), value));
  const bool small = product(dims) <= 64;
  if (!value.element.floating && value.numbers && !value.numbers->empty() && small)
    return give_numbers(Dims(dims), Numbers(static_cast<std::size_t>(product(dims)), value.numbers->front()));
  return give(eager_.fill(dims, value.element));
}

/// Numbers that follow each other, as a kernel makes them.
Result<void> OnnxLowering::range() {
  for (int i = 0; i < 3; ++i) {
    if (!has(i)) return wrong("found no input " + std::to_string(i) + ", expected start, limit and delta");
  }
  TRY_ASSIGN(const Numbers start, numbers(0, "start"));
  TRY_ASSIGN(const Numbers limit, numbers(1, "limit"));
  TRY_ASSIGN(const Numbers delta, numbers(2, "delta"));
  if (start.size() != 1 || limit.size() != 1 || delta.size() != 1 || delta[0] == 0)
    return wrong("found no single start, limit and delta, expected one of each");
  const double steps = (static_cast<double>(limit[0]) - static_cast<double>(start[0])) / static_cast<double>(delta[0]);
  TRY_ASSIGN(const Dims dims, checked({steps > 0 ? count(steps + 0.999999) : 0}));
  return give(eager_.fill(dims, Element{graph::DType::int64, 8, false}));
}

}  // namespace distsim::opgraph
