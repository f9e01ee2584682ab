// Text in columns of a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace distsim {

/// Columns that `text` (valid UTF-8) takes, a character one column.
std::size_t columns_of(std::string_view text);

/// Text fit for a line of a table or report: control characters and bytes that are not UTF-8 become '?'.
std::string one_line(std::string_view text);

/// Rows of cells below each other, of each cell its one_line(). Each column is as wide as it needs and two blanks from the next:
/// the first `names` columns to the left, the others to the right, the last one to the left again. A row that is shorter than
/// the first ends in a message, which makes no column wider. Precondition: there is a first row, and none is longer.
std::string aligned_table(const std::vector<std::vector<std::string>>& rows, std::size_t names);

}  // namespace distsim
