#pragma once

#include <string_view>

namespace distsim {

/// The text without blanks, tabs and ends of lines on either side.
constexpr std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\n\v\f\r";
  const std::size_t first = text.find_first_not_of(kBlank);
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

}  // namespace distsim
