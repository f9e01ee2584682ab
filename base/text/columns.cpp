#include "base/text/columns.hpp"

#include <algorithm>

namespace distsim {

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string aligned_table(const std::vector<std::vector<std::string>>& rows, std::size_t names) {
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
