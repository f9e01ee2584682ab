// The table of collectives in the text report.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/report/report.hpp"

namespace distsim::report {

/// "25.0 MiB"; of several calls "12 x 25.0 MiB" where they are equal, else "9.04 MiB in 2".
std::string size_text(const CollectiveTime& row);

/// A header and at most `most` rows (one more where that saves the line that sums up the rest), `width` columns wide.
/// The other columns take what their cells need and names the rest; a name that does not fit loses its middle, because
/// names of one model differ at the end.
std::vector<std::string> collective_lines(const Report& report, std::size_t width, std::size_t most);

}  // namespace distsim::report
