#include "traces/files/json_values.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace distsim::traces {
namespace {

std::string_view without_quotes(std::string_view t) {
  if (t.size() >= 2 && t.front() == '"' && t.back() == '"') return t.substr(1, t.size() - 2);
  return t;
}

bool from_floating(std::string_view text, double scale, std::int64_t& out) {
  double v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  v *= scale;
  if (error != std::errc() || end != text.data() + text.size() || !(std::fabs(v) < 9.2e18)) return false;
  out = std::llround(v);
  return true;
}

void append_utf8(std::string& out, std::uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | (c >> 6));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | (c >> 12));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (c >> 18));
    out += static_cast<char>(0x80 | ((c >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  }
}

/// Four hex digits at text[at]; false when there are none.
bool hex4(std::string_view text, std::size_t at, std::uint32_t& out) {
  if (at + 4 > text.size()) return false;
  const auto [end, error] = std::from_chars(text.data() + at, text.data() + at + 4, out, 16);
  return error == std::errc() && end == text.data() + at + 4;
}

/// The escape after a backslash at text[i]; moves i to its last byte.
void append_unescaped(std::string& out, std::string_view text, std::size_t& i) {
  const char c = text[++i];
  switch (c) {
    case 'n':
      out += '\n';
      return;
    case 't':
      out += '\t';
      return;
    case 'r':
      out += '\r';
      return;
    case 'b':
      out += '\b';
      return;
    case 'f':
      out += '\f';
      return;
    case 'u':
      break;
    default:
      out += c;
      return;
  }
  std::uint32_t code = 0, low = 0;
  if (!hex4(text, i + 1, code)) {
    out += "\\u";
    return;
  }
  i += 4;
  if (code >= 0xD800 && code < 0xDC00 && i + 2 < text.size() && text[i + 1] == '\\' && text[i + 2] == 'u' &&
      hex4(text, i + 3, low) && low >= 0xDC00 && low < 0xE000) {
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    i += 6;
  }
  append_utf8(out, code >= 0xD800 && code < 0xE000 ? 0xFFFD : code);
}

}  // namespace

bool nanoseconds_of(std::string_view text, std::int64_t& ns) {
  text = without_quotes(text);
  const char* p = text.data();
  const char* end = p + text.size();
  const bool negative = p < end && *p == '-';
  if (negative) ++p;
  if (p == end) return false;
  std::int64_t whole = 0;
  const auto [after, error] = std::from_chars(p, end, whole);
  if (error != std::errc() || after == p || whole < 0)
    return error == std::errc::result_out_of_range ? from_floating(text, 1000, ns) : false;
  p = after;
  std::int64_t fraction = 0;
  if (p < end && *p == '.') {
    std::int64_t unit = 100;
    bool round_up = false;
    int digit = 0;
    for (++p; p < end && *p >= '0' && *p <= '9'; ++p, ++digit) {
      fraction += (*p - '0') * unit;
      unit /= 10;
      if (digit == 3) round_up = *p >= '5';
    }
    fraction += round_up ? 1 : 0;
  }
  if (p < end) return (*p == 'e' || *p == 'E') && from_floating(text, 1000, ns);
  if (__builtin_mul_overflow(whole, std::int64_t{1000}, &ns) || __builtin_add_overflow(ns, fraction, &ns)) return false;
  if (negative) ns = -ns;
  return true;
}

bool integer_of(std::string_view text, std::int64_t& value) {
  text = without_quotes(text);
  const char* end = text.data() + text.size();
  const auto [after, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && after == end) return true;
  std::uint64_t large = 0;
  const auto [after_large, large_error] = std::from_chars(text.data(), end, large);
  if (large_error == std::errc() && after_large == end) {
    value = static_cast<std::int64_t>(large);
    return true;
  }
  return !text.empty() && from_floating(text, 1, value);
}

std::string unescaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size())
      append_unescaped(out, text, i);
    else
      out += text[i];
  }
  return out;
}

}  // namespace distsim::traces
