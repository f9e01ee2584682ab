#include "base/text/printable.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>

#include "base/text/markup.hpp"

namespace distsim {
namespace {

std::string hex_byte(unsigned char c) {
  const char* digits = "0123456789abcdef";
  return {digits[c >> 4], digits[c & 15]};
}

bool is_control(unsigned char c) { return c < 0x20 || c == 0x7f; }

struct Utf8Form {
  std::size_t length;
  std::uint32_t first_bits, smallest;
};

/// The form that a lead byte announces; length 0 for a byte that cannot lead.
Utf8Form utf8_form(unsigned char lead) {
  if (lead < 0x80) return {1, lead, 0};
  if (lead >= 0xc2 && lead < 0xe0) return {2, lead & 0x1fu, 0x80};
  if (lead >= 0xe0 && lead < 0xf0) return {3, lead & 0x0fu, 0x800};
  if (lead >= 0xf0 && lead < 0xf5) return {4, lead & 0x07u, 0x10000};
  return {0, 0, 0};
}

/// How the character that `text` starts with is shown; how many bytes of `text` it takes is in `taken`.
std::string_view shown_character(std::string_view text, std::size_t& taken, std::string& hex) {
  const std::size_t n = utf8_character_length(text);
  const auto c = static_cast<unsigned char>(text[0]);
  const bool shown = n > 0 && !is_hidden(text.substr(0, n));
  taken = shown ? n : 1;
  if (shown) return text.substr(0, n);
  hex = "\\x" + hex_byte(c);
  return hex;
}

/// The end of the character before or at `at`.
std::size_t whole_characters(std::string_view text, std::size_t at) {
  while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) --at;
  return at;
}

/// The first `head` and last `tail` bytes, if there are more than `most`.
std::string shortened(std::string_view text, std::size_t most, std::size_t head, std::size_t tail) {
  if (text.size() <= most) return std::string(text);
  const std::size_t first = whole_characters(text, head), last = whole_characters(text, text.size() - tail);
  return std::string(text.substr(0, first)) + "..." + std::string(text.substr(last));
}

/// `word` with its long numbers and then itself shortened.
std::string short_word(std::string_view word) {
  constexpr std::size_t kMostDigits = 40, kMostBytes = 400;
  std::string out;
  for (std::size_t begin = 0; begin < word.size();) {
    const bool digits = std::isdigit(static_cast<unsigned char>(word[begin])) != 0;
    std::size_t end = begin + 1;
    while (end < word.size() && (std::isdigit(static_cast<unsigned char>(word[end])) != 0) == digits) ++end;
    const std::string_view part = word.substr(begin, end - begin);
    out += digits ? shortened(part, kMostDigits, 20, 4) : std::string(part);
    begin = end;
  }
  return shortened(out, kMostBytes, 250, 120);
}

}  // namespace

std::size_t utf8_character_length(std::string_view text) {
  if (text.empty()) return 0;
  const Utf8Form form = utf8_form(static_cast<unsigned char>(text[0]));
  if (form.length == 0 || form.length > text.size()) return 0;
  std::uint32_t code = form.first_bits;
  for (std::size_t i = 1; i < form.length; ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if ((c & 0xc0) != 0x80) return 0;
    code = code << 6 | (c & 0x3fu);
  }
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return code < form.smallest || surrogate || code > 0x10ffff ? 0 : form.length;
}

std::string printable(std::string_view text, std::size_t max_bytes) {
  std::string out, hex;
  while (!text.empty()) {
    std::size_t taken = 0;
    const std::string_view piece = shown_character(text, taken, hex);
    if (out.size() + piece.size() > max_bytes) return out + "...";
    out += piece;
    text.remove_prefix(taken);
  }
  return out;
}

std::string message_line(std::string_view text) {
  constexpr std::size_t kMostBytes = 4000;
  std::string out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    if (begin > 0) out += ' ';
    out += short_word(printable(text.substr(begin, end - begin), std::string::npos));
    if (out.size() > kMostBytes) return out.substr(0, whole_characters(out, kMostBytes)) + "...";
    begin = end + 1;
  }
  return out;
}

std::string console_text(std::string_view text) {
  std::string out, hex;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t plain = std::min(
        static_cast<std::size_t>(
            std::ranges::find_if(text, [](char c) { return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f; }) -
            text.begin()),
        text.size());
    out += text.substr(0, plain);  // of bytes that can need no care: below 0x80, no controls
    text.remove_prefix(plain);
    if (text.empty()) break;
    std::size_t taken = 0;
    out += shown_character(text, taken, hex);
    text.remove_prefix(taken);
  }
  return out;
}

std::string in_quotes(std::string_view text, std::size_t max_bytes) { return "'" + printable(text, max_bytes) + "'"; }

std::optional<BadByte> find_bad_byte(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == 0) return BadByte{i, "a NUL byte"};
    const bool line_end = c == '\n' || (c == '\r' && text.substr(i, 2) == "\r\n");
    if (is_control(c) && c != '\t' && !line_end) return BadByte{i, "the control character 0x" + hex_byte(c)};
    const std::size_t n = utf8_character_length(text.substr(i, 4));
    if (n == 0) return BadByte{i, "the byte 0x" + hex_byte(c) + " (not UTF-8)"};
    i += n;
  }
  return std::nullopt;
}

}  // namespace distsim
