// Values as JSON writes them: numbers and times, also in quotes, and escaped text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace distsim::traces {

/// Microseconds as written ("1606910596297023", "3743411230047.485", "1.7e15") in nanoseconds, exact to the nanosecond;
/// false when it is no number or does not fit.
bool nanoseconds_of(std::string_view text, std::int64_t& ns);

/// A whole number, also in quotes, with a fraction ("8.0") or above INT64_MAX (wraps as uint64); false when it is none.
bool integer_of(std::string_view text, std::int64_t& value);

/// JSON escapes resolved, control characters and broken UTF-8 kept (printing is somebody else's business).
std::string unescaped(std::string_view text);

}  // namespace distsim::traces
