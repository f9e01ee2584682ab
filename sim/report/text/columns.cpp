#include "sim/report/text/columns.hpp"

#include <algorithm>

#include "base/text/printable.hpp"

namespace distsim::report {
namespace {

std::size_t bytes_of_columns(std::string_view text, std::size_t columns) {
  std::size_t at = 0;
  while (at < text.size() && columns > 0) {
    at += std::max<std::size_t>(1, utf8_character_length(text.substr(at)));
    --columns;
  }
  return at;
}

}  // namespace

std::string one_line(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_character_length(text.substr(at));
    const auto byte = static_cast<unsigned char>(text[at]);
    const bool control =
        byte < 0x20 || byte == 0x7F || (length == 2 && byte == 0xC2 && static_cast<unsigned char>(text[at + 1]) < 0xA0);
    if (length == 0 || control)
      out += '?';
    else
      out += text.substr(at, length);
    at += std::max<std::size_t>(1, length);
  }
  return out;
}

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string shortened(std::string_view text, std::size_t width) {
  if (columns_of(text) <= width) return std::string(text);
  if (width <= 2) return std::string(text.substr(0, bytes_of_columns(text, width)));
  return std::string(text.substr(0, bytes_of_columns(text, width - 2))) + "..";
}

std::string shortened_inside(std::string_view text, std::size_t width) {
  const std::size_t columns = columns_of(text);
  if (columns <= width) return std::string(text);
  if (width < 8) return shortened(text, width);
  const std::size_t tail = (width - 2) * 2 / 5,
                    head = width - 2 - tail;  // the tail is what tells such names apart, the head what they are
  std::string_view first = text.substr(0, bytes_of_columns(text, head)),
                   last = text.substr(bytes_of_columns(text, columns - tail));
  while (first.ends_with('.')) first.remove_suffix(1);  // no "embedding...dgrad"
  while (last.starts_with('.')) last.remove_prefix(1);
  return std::string(first) + ".." + std::string(last);
}

std::string padded(std::string_view text, std::size_t width) {
  std::string out = shortened(text, width);
  return out + std::string(width - columns_of(out), ' ');
}

std::string padded_left(std::string_view text, std::size_t width) {
  const std::string out = shortened(text, width);
  return std::string(width - columns_of(out), ' ') + out;
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  std::string current;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t space = std::min(text.find(' ', at), text.size());
    const std::string word(text.substr(at, space - at));
    if (!current.empty() && columns_of(current) + 1 + columns_of(word) > width) {
      lines.push_back(current);
      current = "  " + word;
    } else {
      current += (current.empty() ? "" : " ") + word;
    }
    at = space + 1;
  }
  if (!current.empty()) lines.push_back(current);
  return lines;
}

}  // namespace distsim::report
