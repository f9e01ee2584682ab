#include "base/text/number_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text/lower_case.hpp"
#include "base/text/printable.hpp"

namespace distsim {
namespace {

/// Moves digits from the front of `text` to `out`; false if there is none.
bool take_digits(std::string_view& text, std::string& out) {
  const std::size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
  out += text.substr(0, count);
  text.remove_prefix(count);
  return count > 0;
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

bool has_zeros_in_front(std::string_view digits) {
  return digits.size() > 1 && digits[0] == '0' && is_digit(digits[1]);
}

template <class Whole>
std::optional<Whole> whole_of(const NumberText& number) {
  if (number.has_fraction || !number.rest.empty() || number.exponent < 0) return std::nullopt;
  Whole value = 0;
  const std::string& digits = number.digits;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (code != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  for (int i = 0; i < number.exponent && value != 0; ++i) {
    if (__builtin_mul_overflow(value, Whole{10}, &value)) return std::nullopt;
  }
  return value;
}

/// As CLI11 reads it; nothing where the text is no such number.
std::optional<std::string> flag_number(std::string_view text, FlagNumber kind) {
  const auto number = split_number(text);
  if (!number) return std::nullopt;
  if (kind == FlagNumber::real) {
    if (!number->rest.empty() || !to_double(*number, 0)) return std::nullopt;
    text = trim(text);
    return std::string(text.substr(text.starts_with('+') ? 1 : 0));
  }
  if (kind == FlagNumber::whole) {
    const auto value = whole_of<std::int64_t>(*number);
    return value ? std::optional(std::to_string(*value)) : std::nullopt;
  }
  const auto value = whole_of<std::uint64_t>(*number);
  return value ? std::optional(std::to_string(*value)) : std::nullopt;
}

const char* expectation_of(FlagNumber kind) {
  if (kind == FlagNumber::natural) return "a whole number, 0 or more";
  return kind == FlagNumber::whole ? "a whole number" : "a number";
}

}  // namespace

std::optional<NumberText> split_number(std::string_view text) {
  text = trim(text);
  NumberText number;
  if (text.starts_with('-')) number.digits = "-";
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  if (has_zeros_in_front(text)) return std::nullopt;
  bool any = take_digits(text, number.digits);
  if (text.starts_with('.')) {
    number.has_fraction = true;
    number.digits += any ? "." : "0.";
    text.remove_prefix(1);
    any = take_digits(text, number.digits) || any;
  }
  if (!any) return std::nullopt;
  take_exponent(text, number.exponent);
  if (text.starts_with('_')) return std::nullopt;
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

std::optional<double> plain_number(std::string_view text) {
  const auto number = split_number(text);
  return number && number->rest.empty() ? to_double(*number, 0) : std::nullopt;
}

std::optional<std::int64_t> plain_integer(std::string_view text) {
  const auto number = split_number(text);
  return number ? whole_of<std::int64_t>(*number) : std::nullopt;
}

std::string number_hint(std::string_view text) {
  text = trim(text);
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool between = i > 0 && i + 1 < text.size() && is_digit(text[i - 1]) && is_digit(text[i + 1]);
    if (text[i] != '_' || !between) plain += text[i];
  }
  const bool has_marks = plain.size() < text.size();
  const std::size_t first = plain.starts_with('-') || plain.starts_with('+') ? 1 : 0;
  const bool has_zeros = has_zeros_in_front(std::string_view(plain).substr(first));
  while (has_zeros_in_front(std::string_view(plain).substr(first))) plain.erase(first, 1);
  const auto number = split_number(plain);
  if ((!has_marks && !has_zeros) || !number || number->rest.starts_with('.')) return "";  // 01..04 is a range
  const std::string without = !has_zeros ? "_" : has_marks ? "_ and zeros in front" : "zeros in front";
  return "write it without " + without + ": " + printable(plain, 60);
}

std::string plain_flag_number(std::string& text, FlagNumber kind) {
  if (const std::string hint = number_hint(text); !hint.empty())
    return "found " + in_quotes(text) + ", expected " + expectation_of(kind) + "; " + hint;
  text = flag_number(text, kind).value_or(text);
  return "";
}

std::string refuse_odd_number(const std::string& text, FlagNumber kind) {
  if (flag_number(text, kind)) return "";
  const bool is_long = !text.empty() && std::ranges::all_of(text, is_digit);
  return "found " + in_quotes(text) + ", expected " +
         (is_long && kind == FlagNumber::natural ? "at most 18446744073709551615" : expectation_of(kind));
}

std::string fixed_or_digits(double value, int decimals) {
  constexpr int kDigits = 3, kMost = 15;
  const double size = std::abs(value);
  const bool whole = size == std::floor(size);  // also 0 and infinity
  const int needed = !whole && std::isfinite(size) ? kDigits - 1 - static_cast<int>(std::floor(std::log10(size))) : 0;
  char text[400];  // the largest double has 309 digits
  const auto end =
      std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, std::clamp(needed, decimals, kMost)).ptr;
  return {text, end};
}

}  // namespace distsim
