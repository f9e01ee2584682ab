// JSON from elsewhere, in which a name that an object has twice is an error: the parser takes the last without a word.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/json.hpp"

namespace distsim {

/// Of one text: each takes up to 100 bytes of memory, and may be two of text.
constexpr std::size_t kMostJsonValues = std::size_t{1} << 24;

inline std::string too_many_json_values() {
  return "found more than " + std::to_string(kMostJsonValues) + " values, expected fewer";
}

/// Parsed; discarded where the text is no JSON, or has more than kMostJsonValues (`too_many`). `twice`: the first name that an
/// object has a second time, else empty.
inline nlohmann::json parse_once(std::string_view text, std::string& twice, bool* too_many = nullptr) {
  using Json = nlohmann::json;
  struct TooMany {};
  std::vector<std::set<std::string>> open;
  std::size_t values = 0;
  const auto watch = [&](int, Json::parse_event_t event, Json& name) {
    const bool begins = event == Json::parse_event_t::value || event == Json::parse_event_t::object_start ||
                        event == Json::parse_event_t::array_start;
    if (begins && ++values > kMostJsonValues) throw TooMany{};
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key && twice.empty() && !open.back().insert(name.get<std::string>()).second)
      twice = name.get<std::string>();
    return true;
  };
  try {
    return Json::parse(text, watch, false);
  } catch (const TooMany&) {
    if (too_many != nullptr) *too_many = true;
    return Json(Json::value_t::discarded);
  }
}

}  // namespace distsim
