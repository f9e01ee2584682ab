#include "base/text/quantity_text.hpp"

#include <algorithm>
#include <cmath>

#include "base/text/lower_case.hpp"
#include "base/text/number_text.hpp"
#include "base/text/printable.hpp"
#include "base/text/quantity_units.hpp"

namespace distsim {
namespace {

Error unreadable(std::string_view text, const std::string& expectation, std::string hint = "") {
  return {"found " + in_quotes(text) + ", expected " + expectation, "", std::move(hint)};
}

/// The same unit of bytes for bits and the other way round; the text itself where it has neither.
std::string with_other_b(std::string unit) {
  const std::size_t at = unit.find_first_of("bB");
  if (at != std::string::npos) unit[at] = unit[at] == 'b' ? 'B' : 'b';
  return unit;
}

/// The units that `written` is but for upper and lower case. One of bits is 8 times less than that of bytes, and which one is
/// meant nobody knows: both, the one first whose b or B was written.
std::vector<std::string> units_like(const std::string& written, Dimension dimension) {
  std::vector<std::string> out;
  for (const std::string& name : unit_names(dimension)) {
    if (lower_case(name) != lower_case(written)) continue;
    for (const std::string& unit : {name, with_other_b(name)}) {
      const bool is_new = std::ranges::find(out, unit) == out.end();
      if (is_new && find_unit(unit, dimension)) out.push_back(unit);
    }
  }
  const auto is_kept = [&](const std::string& unit) {
    const std::size_t at = unit.find_first_of("bB");
    return at != std::string::npos && unit[at] == written[at];
  };
  std::ranges::stable_partition(out, is_kept);
  return out;
}

std::string unit_hint(std::string_view written, Dimension dimension) {
  if (written.empty() || dimension == Dimension::none) return "";
  if (dimension == Dimension::bytes && written.ends_with('b')) return "b means bits; write B for bytes";
  const std::vector<std::string> like = units_like(std::string(written), dimension);
  if (like.size() == 1) return "did you mean '" + like[0] + "'?";
  if (like.size() == 2) return "did you mean '" + like[0] + "' or '" + like[1] + "'? b means bits, B bytes";
  std::string all;
  for (const std::string& name : unit_names(dimension)) all += (all.empty() ? "" : ", ") + name;
  return "units: " + all;
}

/// Of a whole number that is written as a real one: 8.0, 6.5536e4.
std::string integer_hint(std::string_view text) {
  const auto value = plain_number(text);
  const bool is_exact = value && std::abs(*value) < 0x1p53;
  const auto whole = is_exact ? exact_integer(*value) : std::nullopt;
  return whole ? "write it without a point: " + std::to_string(*whole) : number_hint(text);
}

}  // namespace

Result<double> parse_quantity(std::string_view text, Dimension dimension) {
  const auto number = split_number(text);
  if (!number) return unreadable(text, expected_quantity(dimension), number_hint(text));
  const auto unit = find_unit(number->rest, dimension);
  if (!unit) return unreadable(text, expected_quantity(dimension), unit_hint(number->rest, dimension));
  const auto value = to_double(*number, unit->decimal);
  if (!value) return unreadable(text, expected_quantity(dimension), "it exceeds the range of a double");
  return *value * unit->binary;
}

Result<std::int64_t> parse_integer(std::string_view text) {
  if (const auto value = plain_integer(text)) return *value;
  const auto number = split_number(text);
  if (!number || number->has_fraction || !number->rest.empty() || number->exponent < 0)
    return unreadable(text, "an integer", integer_hint(text));
  return unreadable(text, "a 64-bit integer");
}

}  // namespace distsim
