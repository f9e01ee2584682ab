// Pieces of the HTML page.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/report/report.hpp"

namespace distsim::report::html {

/// Text fit for an element or a quoted attribute.
std::string escaped(std::string_view text);

/// The page's style sheet.
std::string_view style();

/// Colour class of a stay on a stream: "compute" or its phases, "transfer", "waiting", "host".
std::string_view colour_class(std::string_view phase, bool collective);

/// Whether a stream carries collectives or messages.
bool is_comm(std::string_view stream);

/// Streams of up to max_ranks ranks over one period, with the critical path above them.
std::string timeline_picture(const Report& report, const Played& played, std::uint32_t max_ranks);

/// One column per rank, stacked like the iteration; empty where all ranks have equal times.
std::string ranks_picture(const Report& report);

std::string op_table(const Report& report);
std::string collective_table(const Report& report);
std::string path_table(const Report& report);

}  // namespace distsim::report::html
