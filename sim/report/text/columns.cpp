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

/// Columns that are left empty at most so that a name is cut between words. More would make names of one model equal.
constexpr std::size_t kMostLost = 4;

/// What parts the words of a name.
constexpr std::string_view kSeparators = "._ /";

/// The longest end of `text` that begins with a word and has at most `columns` columns; empty where there is none.
std::string_view last_words(std::string_view text, std::size_t columns) {
  for (std::size_t at = 1; at < text.size(); ++at) {
    const bool begins = kSeparators.find(text[at - 1]) != std::string_view::npos &&
                        kSeparators.find(text[at]) == std::string_view::npos;
    if (begins && columns_of(text.substr(at)) <= columns) return text.substr(at);
  }
  return {};
}

/// The longest beginning of `text` that ends with a word and has at most `columns` columns; empty where there is none.
std::string_view first_words(std::string_view text, std::size_t columns) {
  for (std::size_t end = text.size(); end-- > 1;) {
    const bool ends = kSeparators.find(text[end]) != std::string_view::npos &&
                      kSeparators.find(text[end - 1]) == std::string_view::npos;
    if (ends && columns_of(text.substr(0, end)) <= columns) return text.substr(0, end);
  }
  return {};
}

}  // namespace

std::string shortened(std::string_view text, std::size_t width) {
  if (columns_of(text) <= width) return std::string(text);
  if (width <= 2) return std::string(text.substr(0, bytes_of_columns(text, width)));
  return std::string(text.substr(0, bytes_of_columns(text, width - 2))) + "..";
}

std::string shortened_inside(std::string_view text, std::size_t width) {
  const std::size_t columns = columns_of(text);
  if (columns <= width) return std::string(text);
  if (width < 8) return shortened(text, width);
  const std::size_t room = width - 2;  // the tail is what tells such names apart, the head what they are
  std::string_view last = last_words(text, room * 3 / 5);
  if (last.empty()) last = text.substr(bytes_of_columns(text, columns - room * 2 / 5));
  const std::size_t left = room - columns_of(last);
  std::string_view first = first_words(text, left);
  if (columns_of(first) + kMostLost < left) first = text.substr(0, bytes_of_columns(text, left));
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
