#include "base/config/yaml_text.hpp"

#include <algorithm>

#include "base/text/printable.hpp"

namespace distsim {
namespace {

/// Offset of the first tab that indents something, or npos. Blank lines and comments may hold tabs.
std::size_t find_indenting_tab(std::string_view text) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    const std::size_t first = line.find_first_not_of(" \t\r");
    const std::size_t tab = line.find('\t');
    if (first != std::string_view::npos && tab < first && line[first] != '#') return begin + tab;
    begin = end + 1;
  }
  return std::string_view::npos;
}

}  // namespace

std::string position_of(std::string_view text, std::size_t offset, const std::string& file) {
  const std::string_view before = text.substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t last_break = before.rfind('\n');
  const std::size_t column = last_break == std::string_view::npos ? offset + 1 : offset - last_break;
  return file + ":" + std::to_string(line) + ":" + std::to_string(column);
}

Result<void> check_yaml_text(std::string_view text, const std::string& file) {
  if (const auto bad = find_bad_byte(text)) {
    return Error{"found " + bad->what + ", expected UTF-8 text", position_of(text, bad->offset, file), ""};
  }
  const std::size_t tab = find_indenting_tab(text);
  if (tab != std::string_view::npos) {
    return Error{"found a tab in the indentation, expected spaces", position_of(text, tab, file), ""};
  }
  return {};
}

std::string describe_text_at(std::string_view text, std::size_t offset) {
  if (offset >= text.size()) return "the end of the file";
  if (text[offset] == '\n' || text[offset] == '\r') return "the end of the line";
  const std::size_t end = std::min(text.find_first_of(" \t\r\n", offset + 1), text.size());
  return in_quotes(text.substr(offset, end - offset), 24);
}

}  // namespace distsim
