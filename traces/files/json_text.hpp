// Minimal JSON output for streaming writers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace distsim::traces {

/// Appends `text` in double quotes: control characters escaped, bytes that are not UTF-8 become U+FFFD, and '<' is
/// escaped too, so that the JSON may be embedded in a page.
void append_json_string(std::string& out, std::string_view text);

/// The bytes that append_json_string() would append.
std::size_t json_string_size(std::string_view text);

/// Appends picoseconds as microseconds with all six decimals: 1234567 -> 1.234567. Exact for every int64.
void append_microseconds(std::string& out, std::int64_t ps);

void append_integer(std::string& out, std::int64_t value);

/// The shortest text that reads back as the same number; what is not finite becomes null.
void append_number(std::string& out, double value);

}  // namespace distsim::traces
