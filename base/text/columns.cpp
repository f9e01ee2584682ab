#include "base/text/columns.hpp"

#include <algorithm>

#include "base/text/printable.hpp"

namespace distsim {

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

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

std::string aligned_table(const std::vector<std::vector<std::string>>& given, std::size_t names) {
  std::vector<std::vector<std::string>> rows = given;
  for (auto& row : rows)
    for (std::string& cell : row) cell = one_line(cell);
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const auto& row : rows) {
    const std::size_t cells = row.size() < widths.size() ? row.size() - 1 : row.size();
    for (std::size_t c = 0; c < cells; ++c) widths[c] = std::max(widths[c], columns_of(row[c]));
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const bool last = c + 1 == row.size();
      const std::string room(last ? 0 : widths[c] - columns_of(row[c]), ' ');
      line += (c == 0 ? "" : "  ") + (c < names ? row[c] + room : room + row[c]);
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

}  // namespace distsim
