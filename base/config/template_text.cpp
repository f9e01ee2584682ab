#include "base/config/template_text.hpp"

#include <cstdint>
#include <vector>

#include "base/text/lower_case.hpp"
#include "base/text/names/spelling.hpp"
#include "base/text/number_text.hpp"
#include "base/text/printable.hpp"

namespace distsim {
namespace {

constexpr std::size_t kMaxDigits = 12;
constexpr std::int64_t kMaxRepetitions = 10'000;

bool is_name_byte(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c); }

/// Reads one expression from left to right.
class Expression {
 public:
  Expression(std::string_view text, const TemplateValues& values, const std::string& where)
      : text_(text), rest_(text), values_(values), where_(where) {}

  Result<std::string> text() {
    if (rest_.starts_with("repeat(")) return repeated();
    if (const auto it = values_.find(rest_); it != values_.end()) return it->second;
    TRY_ASSIGN(const std::int64_t value, sum());
    if (!rest_.empty()) return wrong("an operator");
    return std::to_string(value);
  }

 private:
  Error wrong(const std::string& expected) const {
    return Error{"${" + printable(text_) + "}: found " + (rest_.empty() ? "its end" : in_quotes(rest_)) +
                     ", expected " + expected,
                 where_, ""};
  }
  void skip_blanks() {
    while (rest_.starts_with(' ')) rest_.remove_prefix(1);
  }
  bool take(char c) {
    skip_blanks();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    skip_blanks();
    return true;
  }

  Result<std::string> repeated() {
    rest_.remove_prefix(std::string_view("repeat(").size());
    TRY_ASSIGN(const std::int64_t item, sum());
    if (!take(',')) return wrong("','");
    TRY_ASSIGN(const std::int64_t count, sum());
    if (!take(')') || !rest_.empty()) return wrong("')' and the end");
    if (count < 0 || count > kMaxRepetitions)
      return Error{"${" + printable(text_) + "}: found " + std::to_string(count) + " repetitions, expected 0 .. " +
                       std::to_string(kMaxRepetitions),
                   where_, ""};
    std::string out;
    for (std::int64_t i = 0; i < count; ++i) out += (i > 0 ? ", " : "") + std::to_string(item);
    return out;
  }

  Result<std::int64_t> sum() {
    TRY_ASSIGN(std::int64_t value, product());
    for (;;) {
      const bool plus = take('+');
      if (!plus && !take('-')) return value;
      TRY_ASSIGN(const std::int64_t next, product());
      const bool over =
          plus ? __builtin_add_overflow(value, next, &value) : __builtin_sub_overflow(value, next, &value);
      if (over) return too_large();
    }
  }

  Result<std::int64_t> product() {
    TRY_ASSIGN(std::int64_t value, factor());
    for (;;) {
      const char op = take('*') ? '*' : take('/') ? '/' : take('%') ? '%' : 0;
      if (op == 0) return value;
      TRY_ASSIGN(const std::int64_t next, factor());
      if (op == '*') {
        if (__builtin_mul_overflow(value, next, &value)) return too_large();
      } else if (next < 1) {
        return wrong("a divisor of at least 1");
      } else {
        value = op == '/' ? value / next : value % next;
      }
    }
  }

  Result<std::int64_t> factor() {
    if (take('(')) {
      if (++depth_ > 32) return wrong("fewer brackets");
      TRY_ASSIGN(const std::int64_t value, sum());
      --depth_;
      if (!take(')')) return wrong("')'");
      return value;
    }
    std::size_t length = 0;
    while (length < rest_.size() && is_name_byte(rest_[length])) ++length;
    if (length == 0) return wrong("a number or a name");
    const std::string_view word = rest_.substr(0, length);
    TRY_ASSIGN(const std::int64_t value, is_digit(word.front()) ? number(word, word) : named(word));
    rest_.remove_prefix(length);
    skip_blanks();
    return value;
  }

  Result<std::int64_t> number(std::string_view digits, std::string_view what) const {
    if (const auto value = plain_integer(digits)) return *value;
    return Error{std::string(what) + ": found " + in_quotes(digits) + ", expected a whole number", where_, ""};
  }

  Result<std::int64_t> named(std::string_view name) const {
    if (const auto it = values_.find(name); it != values_.end()) return number(it->second, name);
    std::vector<std::string> known;
    for (const auto& [key, value] : values_) known.push_back(key);
    return Error{"${" + printable(text_) + "}: found the unknown name " + in_quotes(name), where_,
                 spelling_hint(name, known)};
  }

  Error too_large() const { return Error{"${" + printable(text_) + "}: found a result beyond 64 bits", where_, ""}; }

  std::string_view text_, rest_;
  const TemplateValues& values_;
  const std::string& where_;
  int depth_ = 0;
};

}  // namespace

Result<std::string> fill_template(std::string_view text, const TemplateValues& values, const std::string& where) {
  std::string out;
  for (;;) {
    const std::size_t begin = text.find("${");
    out += text.substr(0, begin);
    if (begin == std::string_view::npos) return out;
    const std::size_t end = text.find('}', begin);
    if (end == std::string_view::npos) return Error{"found '${' without '}'", where, ""};
    TRY_ASSIGN(const std::string value, Expression(text.substr(begin + 2, end - begin - 2), values, where).text());
    out += value;
    text.remove_prefix(end + 1);
  }
}

std::optional<TemplateValues> match_template(std::string_view pattern, std::string_view name) {
  TemplateValues values;
  for (;;) {
    const std::size_t begin = std::min(pattern.find('{'), pattern.size());
    if (!name.starts_with(pattern.substr(0, begin))) return std::nullopt;
    name.remove_prefix(begin);
    if (begin == pattern.size()) return name.empty() && !values.empty() ? std::optional(values) : std::nullopt;
    const std::size_t end = pattern.find('}', begin);
    if (end == std::string_view::npos) return std::nullopt;
    std::size_t digits = 0;
    while (digits < name.size() && is_digit(name[digits])) ++digits;
    if (digits == 0 || digits > kMaxDigits || name.front() == '0') return std::nullopt;
    values[std::string(pattern.substr(begin + 1, end - begin - 1))] = name.substr(0, digits);
    name.remove_prefix(digits);
    pattern.remove_prefix(end + 1);
  }
}

}  // namespace distsim
