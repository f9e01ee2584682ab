// describe: an op in one line for people, "gemm 2048x1024x480 fp16", from its fields.
#include <algorithm>
#include <cstdio>
#include <string>

#include "base/text/counted.hpp"
#include "sim/graph/op.hpp"

namespace distsim::graph {
namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}
std::string number(std::int64_t value) { return std::to_string(value); }

/// A flag's name in words: "master weights".
std::string words(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

/// Writes the fields of one shape, next to those of the default shape of its kind.
class Line {
 public:
  template <class Shape>
  void add_all(const Shape& shape) {
    const Shape usual{};
    for_each_field([&](const auto&... args) { add(args...); }, shape, usual);
  }
  std::string take() && { return std::move(text_); }

 private:
  template <class Number>
  requires std::same_as<Number, std::int64_t> || std::same_as<Number, double>
  void add(const Field& field, const Number& value, const Number& usual) {
    const bool part_of_product = field.show == Show::chain || (field.role == Role::size && field.label.empty() &&
                                                               field.unit.empty() && field.thing.empty());
    if (field.show == Show::never || (field.added && value == usual)) return;
    if (field.show == Show::count) {
      if (value != usual) text_ += " " + number(value) + " of";
    } else if (field.role == Role::part && value == 0) {
      word(field.otherwise);
    } else if (part_of_product) {
      text_ += (in_product_ ? "x" : " ") + number(value);
      in_product_ = true;
      return;
    } else if (field.role == Role::setting && field.label.empty()) {
      if (value != usual) word(words(field.name)), word(number(value));
    } else {
      word(field.label);
      word(with_unit(field, value));
      in_product_ = field.role == Role::size && field.unit.empty() && field.thing.empty();
      return;
    }
    in_product_ = false;
  }
  template <Named Enum>
  void add(const Field& field, const Enum& value, const Enum& usual) {
    if (field.added && value == usual) return;
    // The forward pass goes without saying.
    if constexpr (std::same_as<Enum, Pass>) {
      if (value == usual) return;
    }
    word(name_of(value));
  }
  void add(const Field& field, const bool& value, const bool&) {
    if (value)
      word(field.label.empty() ? words(field.name) : std::string(field.label));
    else
      word(field.otherwise);
  }
  void add(const Field&, const Duration& value, const Duration&) { word(number(value.us()) + " us"); }
  template <class Item>
  void add(const Field& field, const std::vector<Item>& value, const std::vector<Item>&) {
    if (!value.empty()) word(field.label);
  }

  static std::string with_unit(const Field& field, double value) { return number(value) + unit(field); }
  static std::string with_unit(const Field& field, std::int64_t value) {
    if (!field.thing.empty()) return counted(static_cast<std::uint64_t>(value), field.thing);
    return number(value) + unit(field);
  }
  static std::string unit(const Field& field) { return field.unit.empty() ? "" : " " + std::string(field.unit); }

  void word(std::string_view text) {
    if (!text.empty()) (text_ += ' ') += text;
    in_product_ = false;
  }

  std::string text_;
  bool in_product_ = false;
};

}  // namespace

std::string EmbeddingBag::text() const {
  double indices = 0;
  for (const EmbeddingTable& t : tables) indices += t.pooling_factor;
  std::string out = counted(tables.size(), "table") + " batch " + std::to_string(batch) + " indices/sample " +
                    number(indices) + " " + std::string(name_of(weights));
  if (pass != Pass::forward) {
    out += " " + std::string(name_of(pass)) + " " + std::string(name_of(update)) + " ";
    out += optimizer == EmbeddingOptimizer::none ? "no optimizer" : name_of(optimizer);
  }
  return out + (table_batched ? "" : " kernel per table");
}

std::string Recurrent::text() const {
  const auto with = [](std::string_view name, std::int64_t value) {
    return " " + std::string(name) + " " + number(value);
  };
  std::string out = std::string(name_of(cell)) + with("batch", batch) + with("length", length);
  out += with("from", input) + with("to", hidden) + (directions > 1 ? " bidirectional " : " ");
  out += name_of(dtype);
  if (kernels != RecurrentKernels::any) (out += ' ') += words(name_of(kernels));
  if (pass != Pass::forward) (out += ' ') += name_of(pass);
  return out;
}

std::string describe(const Op& op) {
  return std::visit(
      [](const auto& shape) {
        if constexpr (requires { shape.text(); }) {
          return std::string(shape.kKind) + " " + shape.text();
        } else {
          Line line;
          line.add_all(shape);
          return std::string(shape.kKind) + std::move(line).take();
        }
      },
      op);
}

}  // namespace distsim::graph
