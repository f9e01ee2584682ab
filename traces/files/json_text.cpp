#include "traces/files/json_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/text/markup.hpp"
#include "base/text/printable.hpp"

namespace distsim::traces {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::string_view kEscape = "\\uXXXX";  // of a character that nobody sees, and of <

void append_escape(std::string& out, unsigned char c) {
  constexpr std::string_view digits = "0123456789abcdef";
  out += "\\u00";
  out += digits[c >> 4];
  out += digits[c & 15];
}

bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x7F && c != '"' && c != '\\' && c != '<';
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t at = 0; at < text.size();) {
    std::size_t run = at;
    while (run < text.size() && is_plain(text[run])) ++run;
    out.append(text, at, run - at);
    if (run == text.size()) break;
    at = run;
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x80) {
      if (text[at] == '"' || text[at] == '\\')
        out += {'\\', text[at]};
      else
        append_escape(out, byte);
      ++at;
      continue;
    }
    const std::string_view character = text.substr(at, utf8_character_length(text.substr(at)));
    if (character.empty())
      out += kReplacement;
    else if (is_hidden(character))
      out += with_hidden_escaped(std::string(character));
    else
      out += character;
    at += std::max<std::size_t>(1, character.size());
  }
  out += '"';
}

std::size_t json_string_size(std::string_view text) {
  std::size_t size = 2;
  for (std::size_t at = 0; at < text.size();) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      size += is_plain(text[at]) ? 1 : text[at] == '"' || text[at] == '\\' ? 2 : kEscape.size();
      ++at;
      continue;
    }
    const std::string_view character = text.substr(at, utf8_character_length(text.substr(at)));
    size += character.empty() ? kReplacement.size() : is_hidden(character) ? kEscape.size() : character.size();
    at += std::max<std::size_t>(1, character.size());
  }
  return size;
}

void append_integer(std::string& out, std::int64_t value) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  out.append(digits.data(), end);
}

void append_number(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  out.append(digits.data(), end);
}

void append_microseconds(std::string& out, std::int64_t ps) {
  constexpr std::uint64_t kPerMicrosecond = 1'000'000;
  const std::uint64_t magnitude = ps < 0 ? 0 - static_cast<std::uint64_t>(ps) : static_cast<std::uint64_t>(ps);
  if (ps < 0) out += '-';
  append_integer(out, static_cast<std::int64_t>(magnitude / kPerMicrosecond));
  std::array<char, 7> fraction{'.', '0', '0', '0', '0', '0', '0'};
  std::uint64_t rest = magnitude % kPerMicrosecond;
  for (std::size_t i = 6; i > 0; --i, rest /= 10) fraction[i] = static_cast<char>('0' + rest % 10);
  out.append(fraction.data(), fraction.size());
}

}  // namespace distsim::traces
