// Pieces of the HTML page.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/report/report.hpp"

namespace distsim::report::html {

/// Text fit for an element or a quoted attribute.
std::string escaped(std::string_view text);

/// The page's style sheet.
std::string_view style();

/// What a bar shows, and so its colour.
enum class Colour : std::uint8_t { forward, backward, optimizer, other, transfer, waiting, host, idle };

/// Class of the style sheet.
std::string_view css_of(Colour colour);

/// Of a step: a phase, or the host's own time where there is none.
Colour colour_of(std::optional<graph::Phase> phase, bool collective);

/// Whether a stream carries collectives or messages.
bool is_comm(graph::Stream stream);

/// `d` as a share of the iteration in percent, 0 where the iteration takes no time.
double share_of(const Report& report, Duration d);

/// `d` without its unit, in the unit that suits the iteration.
std::string in_unit(const Report& report, Duration d);

/// Streams of up to max_ranks ranks over one period, with the critical cycle above them. The axis ends at the period, or
/// at `axis` where that is later, so that several pictures share one.
std::string timeline_picture(const Report& report, const Played& played, std::uint32_t max_ranks, Duration axis = {});

/// One column per rank, stacked like the iteration; empty where all ranks have equal times.
std::string ranks_picture(const Report& report);

std::string op_table(const Report& report);
std::string collective_table(const Report& report);
std::string path_table(const Report& report);

}  // namespace distsim::report::html
