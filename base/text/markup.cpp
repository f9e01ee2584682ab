#include "base/text/markup.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>

#include "base/text/printable.hpp"

namespace distsim {
namespace {

/// REQUIRES: a whole character.
std::uint32_t code_of(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character[0]);
  std::uint32_t code = character.size() == 1 ? lead : lead & (0x7fu >> character.size());
  for (const char c : character.substr(1)) code = code << 6 | (static_cast<unsigned char>(c) & 0x3fu);
  return code;
}

bool is_hidden_code(std::uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0xad || c == 0x61c || c == 0x200b || c == 0x200e || c == 0x200f ||
         (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x2069) || c == 0xfeff;
}

/// The text with what `shown` makes of each hidden character; bytes that are no UTF-8 are left as they are.
template <class Shown>
std::string with_hidden(std::string_view text, Shown shown) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_character_length(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(1, length));
    if (length > 0 && is_hidden(character))
      out += shown(character);
    else
      out += character;
    text.remove_prefix(character.size());
  }
  return out;
}

bool may_be_hidden(char c) { return c == 0x7f || c == '\xc2' || c == '\xd8' || c == '\xe2' || c == '\xef'; }

/// Its bytes as "\xe2\x80\xae", with that many backslashes.
std::string hex_of(std::string_view character, std::string_view backslash) {
  std::string hex;
  for (const char c : character) {
    char byte[4];
    std::snprintf(byte, sizeof byte, "x%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
    hex.append(backslash).append(byte);
  }
  return hex;
}

/// Of a JSON text that has an escape "\uXXXX" at `at`: its character, where that is hidden; else empty.
std::string hidden_of_escape(std::string_view json, std::size_t at) {
  std::uint32_t code = 0;
  if (json.size() < at + 6 || json[at + 1] != 'u') return "";
  const char* const end = json.data() + at + 6;
  if (std::from_chars(json.data() + at + 2, end, code, 16).ptr != end || !is_hidden_code(code)) return "";
  const auto byte = [](std::uint32_t value) { return static_cast<char>(value); };
  if (code < 0x80) return {byte(code)};
  if (code < 0x800) return {byte(0xc0 | code >> 6), byte(0x80 | (code & 0x3f))};
  return {byte(0xe0 | code >> 12), byte(0x80 | (code >> 6 & 0x3f)), byte(0x80 | (code & 0x3f))};
}

}  // namespace

bool is_hidden(std::string_view character) { return is_hidden_code(code_of(character)); }

std::string without_hidden(std::string_view text) {
  if (std::none_of(text.begin(), text.end(), may_be_hidden)) return std::string(text);
  return with_hidden(text, [](std::string_view character) {
    return character.size() == 1 ? std::string(character) : hex_of(character, "\\");
  });
}

std::string with_hidden_shown(const std::string& json) {
  const std::string text = with_hidden_escaped(json);
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\\' || at + 1 == text.size()) {
      out += text[at];
      continue;
    }
    const std::string hidden = hidden_of_escape(text, at);
    out += hidden.empty() ? text.substr(at, 2) : hex_of(hidden, "\\\\");
    at += hidden.empty() ? 1 : 5;
  }
  return out;
}

std::string with_hidden_escaped(std::string json) {
  if (std::none_of(json.begin(), json.end(), may_be_hidden)) return json;
  return with_hidden(json, [](std::string_view character) {
    if (character == "\n" || character == "\t" || character == "\r") return std::string(character);
    char escape[12];
    std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(code_of(character)));
    return std::string(escape);
  });
}

std::string in_markup(std::string_view given) {
  const std::string text = without_hidden(given);
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '\n':
      case '\t':
        out += c;
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
          out += "\xEF\xBF\xBD";  // U+FFFD: XML has no place for control characters
        else
          out += c;
    }
  }
  return out;
}

}  // namespace distsim
