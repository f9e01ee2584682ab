#include "base/text/number_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text/lower_case.hpp"
#include "base/text/printable.hpp"

namespace distsim {
namespace {

/// Moves digits (with single `_` between them) from the front of `text` to `out`; false if there is none.
bool take_digits(std::string_view& text, std::string& out) {
  const std::size_t before = out.size();
  while (!text.empty()) {
    const bool separator = text[0] == '_' && out.size() > before && text.size() > 1 && is_digit(text[1]);
    if (separator) text.remove_prefix(1);
    if (!is_digit(text[0])) break;
    out += text[0];
    text.remove_prefix(1);
  }
  return out.size() > before;
}

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// "e9" belongs to the number only if digits follow: "1EFLOP/s" has the prefix E.
void take_exponent(std::string_view& text, int& exponent) {
  if (text.empty() || (text[0] != 'e' && text[0] != 'E')) return;
  std::string_view after = text.substr(1);
  const bool negative = after.starts_with('-');
  if (negative || after.starts_with('+')) after.remove_prefix(1);
  std::string digits;
  if (!take_digits(after, digits)) return;
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
  int value = 9999;
  if (digits.size() <= 4) std::from_chars(digits.data(), digits.data() + digits.size(), value);
  exponent = negative ? -value : value;
  text = after;
}

}  // namespace

std::optional<NumberText> split_number(std::string_view text) {
  text = trim(text);
  NumberText number;
  if (text.starts_with('-')) number.digits = "-";
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  bool any = take_digits(text, number.digits);
  if (text.starts_with('.')) {
    number.has_fraction = true;
    number.digits += any ? "." : "0.";
    text.remove_prefix(1);
    any = take_digits(text, number.digits) || any;
  }
  if (!any) return std::nullopt;
  take_exponent(text, number.exponent);
  number.rest = trim(text);
  return number;
}

std::optional<double> to_double(const NumberText& number, int shift) {
  const std::string text = number.digits + "e" + std::to_string(number.exponent + shift);
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() ? std::optional(value) : std::nullopt;
}

std::optional<std::int64_t> exact_integer(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::int64_t> exact_integer(double value) {
  if (!(std::fabs(value) < 9.2e18) || value != std::floor(value)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

std::string refuse_odd_number(const std::string& text, FlagNumber kind) {
  const auto parsed = [&text](auto value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
  };
  const std::string_view digits = std::string_view(text).substr(text.starts_with('-') ? 1 : 0);
  if (digits.size() > 1 && digits[0] == '0' && is_digit(digits[1]))
    return "found " + in_quotes(text) + ", expected a number without leading zeros";
  switch (kind) {
    case FlagNumber::natural:
      if (parsed(std::uint64_t{})) return "";
      if (!text.empty() && std::ranges::all_of(text, is_digit))
        return "found " + in_quotes(text) + ", expected at most 18446744073709551615";
      return "found " + in_quotes(text) + ", expected a whole number, 0 or more";
    case FlagNumber::whole:
      return parsed(std::int64_t{}) ? "" : "found " + in_quotes(text) + ", expected a whole number";
    case FlagNumber::real:
      return parsed(double{}) ? "" : "found " + in_quotes(text) + ", expected a number";
  }
  return "";
}

}  // namespace distsim
