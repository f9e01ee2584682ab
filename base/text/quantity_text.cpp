#include "base/text/quantity_text.hpp"

#include <charconv>

#include "base/text/lower_case.hpp"
#include "base/text/number_text.hpp"
#include "base/text/printable.hpp"
#include "base/text/quantity_units.hpp"

namespace distsim {
namespace {

Error unreadable(std::string_view text, const std::string& expectation, std::string hint = "") {
  return {"found " + in_quotes(text) + ", expected " + expectation, "", std::move(hint)};
}

std::string unit_hint(std::string_view written, Dimension dimension) {
  if (written.empty() || dimension == Dimension::none) return "";
  if (dimension == Dimension::bytes && written.ends_with('b')) return "b means bits; write B for bytes";
  std::string all;
  for (const std::string& name : unit_names(dimension)) {
    if (lower_case(name) == lower_case(std::string(written))) return "did you mean '" + name + "'?";
    all += (all.empty() ? "" : ", ") + name;
  }
  return "units: " + all;
}

/// Digits shifted by the exponent, without overflow.
std::optional<std::int64_t> shifted(std::int64_t value, int exponent) {
  for (; exponent > 0 && value != 0; --exponent) {
    if (__builtin_mul_overflow(value, std::int64_t{10}, &value)) return std::nullopt;
  }
  return value;
}

}  // namespace

Result<double> parse_quantity(std::string_view text, Dimension dimension) {
  const auto number = split_number(text);
  if (!number) return unreadable(text, expected_quantity(dimension));
  const auto unit = find_unit(number->rest, dimension);
  if (!unit) return unreadable(text, expected_quantity(dimension), unit_hint(number->rest, dimension));
  const auto value = to_double(*number, unit->decimal);
  if (!value) return unreadable(text, expected_quantity(dimension), "it exceeds the range of a double");
  return *value * unit->binary;
}

Result<std::int64_t> parse_integer(std::string_view text) {
  const auto number = split_number(text);
  if (!number || number->has_fraction || !number->rest.empty() || number->exponent < 0)
    return unreadable(text, "an integer");
  std::int64_t value = 0;
  const std::string& digits = number->digits;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const auto result = code == std::errc() ? shifted(value, number->exponent) : std::nullopt;
  if (!result) return unreadable(text, "a 64-bit integer");
  return *result;
}

}  // namespace distsim
