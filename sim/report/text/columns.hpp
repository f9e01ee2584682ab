// Text in columns of a terminal: padded, shortened and wrapped.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/columns.hpp"

namespace distsim::report {

/// `text` in exactly `width` columns: padded, or cut with "..".
std::string padded(std::string_view text, std::size_t width);
std::string padded_left(std::string_view text, std::size_t width);
/// At most `width` columns, cut with "..".
std::string shortened(std::string_view text, std::size_t width);
/// At most `width` columns, ".." in place of the middle, cut between words where that loses little: "embedding..dgrad".
std::string shortened_inside(std::string_view text, std::size_t width);

/// Lines of at most `width` columns, broken at blanks; a longer word has a line of its own.
/// All but the first are indented by two.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

}  // namespace distsim::report
