#include "base/text/markup.hpp"

#include <algorithm>
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

}  // namespace

bool is_hidden(std::string_view character) { return is_hidden_code(code_of(character)); }

std::string without_hidden(std::string_view text) {
  if (std::none_of(text.begin(), text.end(), may_be_hidden)) return std::string(text);
  return with_hidden(text, [](std::string_view character) {
    if (character.size() == 1) return std::string(character);
    std::string hex;
    for (const char c : character) {
      char byte[8];
      std::snprintf(byte, sizeof byte, "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
      hex += byte;
    }
    return hex;
  });
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
