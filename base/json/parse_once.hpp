// JSON from elsewhere, in which a name that an object has twice is an error: the parser takes the last without a word.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/json/json.hpp"

namespace distsim {

/// Of one text: each takes up to 100 bytes of memory, and may be two of text.
constexpr std::size_t kMostJsonValues = std::size_t{1} << 24;

inline std::string too_many_json_values() {
  return "found more than " + std::to_string(kMostJsonValues) + " values, expected fewer";
}

/// Parsed; discarded where the text is no JSON, or has more than `most` values (`too_many`). `twice`: the first name that an
/// object has a second time, else empty.
nlohmann::json parse_once(std::string_view text, std::string& twice, bool* too_many = nullptr,
                          std::size_t most = kMostJsonValues);

}  // namespace distsim
