#include "base/text/markup.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <utility>

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
  // Controls, Unicode's Default_Ignorable_Code_Point but for the joiners and U+FE0F that scripts and emoji need, separators of
  // lines and interlinear marks.
  constexpr std::pair<std::uint32_t, std::uint32_t> kHidden[] = {
      {0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},       {0x34f, 0x34f},     {0x61c, 0x61c},
      {0x115f, 0x1160}, {0x17b4, 0x17b5}, {0x180b, 0x180f},   {0x200b, 0x200b},   {0x200e, 0x200f},
      {0x2028, 0x202e}, {0x2060, 0x206f}, {0x3164, 0x3164},   {0xfe00, 0xfe0e},   {0xfeff, 0xfeff},
      {0xffa0, 0xffa0}, {0xfff0, 0xfffb}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}};
  return std::ranges::any_of(kHidden, [c](const auto& range) { return c >= range.first && c <= range.second; });
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

bool may_be_hidden(char c) { return c == 0x7f || static_cast<unsigned char>(c) >= 0x80; }

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

/// "\u202e"; two of them, a surrogate pair, where four digits are too few.
std::string json_escape(std::uint32_t code) {
  char escape[16];
  if (code < 0x10000)
    std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(code));
  else
    std::snprintf(escape, sizeof escape, "\\u%04x\\u%04x", static_cast<unsigned>(0xd800 + ((code - 0x10000) >> 10)),
                  static_cast<unsigned>(0xdc00 + (code & 0x3ff)));
  return escape;
}

/// What an escape "\uXXXX" of a JSON text at `at` stands for, if there is one.
std::optional<std::uint32_t> escaped_at(std::string_view json, std::size_t at) {
  std::uint32_t code = 0;
  if (json.size() < at + 6 || json[at] != '\\' || json[at + 1] != 'u') return std::nullopt;
  const char* const end = json.data() + at + 6;
  return std::from_chars(json.data() + at + 2, end, code, 16).ptr == end ? std::optional(code) : std::nullopt;
}

/// A hidden character that a JSON text writes as an escape, in UTF-8, and how long the escape is.
struct Escaped {
  std::string character;
  std::size_t length = 0;
};

/// Of the escape at `at`; no character where there is none, or it is not hidden.
Escaped hidden_of_escape(std::string_view json, std::size_t at) {
  const auto first = escaped_at(json, at), second = escaped_at(json, at + 6);
  if (!first) return {};
  const bool pair = *first >= 0xd800 && *first < 0xdc00 && second && *second >= 0xdc00 && *second < 0xe000;
  const std::uint32_t code = pair ? 0x10000 + ((*first & 0x3ff) << 10) + (*second & 0x3ff) : *first;
  const std::size_t length = pair ? 12 : 6;
  if (!is_hidden_code(code)) return {};
  const auto byte = [](std::uint32_t value) { return static_cast<char>(value); };
  const auto next = [&](int shift) { return byte(0x80 | (code >> shift & 0x3f)); };
  if (code < 0x80) return {{byte(code)}, length};
  if (code < 0x800) return {{byte(0xc0 | code >> 6), next(0)}, length};
  if (code < 0x10000) return {{byte(0xe0 | code >> 12), next(6), next(0)}, length};
  return {{byte(0xf0 | code >> 18), next(12), next(6), next(0)}, length};
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
    const Escaped hidden = hidden_of_escape(text, at);
    out += hidden.length == 0 ? text.substr(at, 2) : hex_of(hidden.character, "\\\\");
    at += hidden.length == 0 ? 1 : hidden.length - 1;
  }
  return out;
}

std::string with_hidden_escaped(std::string json) {
  if (std::none_of(json.begin(), json.end(), may_be_hidden)) return json;
  return with_hidden(json, [](std::string_view character) {
    if (character == "\n" || character == "\t" || character == "\r") return std::string(character);
    return json_escape(code_of(character));
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
