// JSON from elsewhere, in which a name that an object has twice is an error: the parser takes the last without a word.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/json.hpp"

namespace distsim {

/// Parsed; discarded where the text is no JSON. `twice`: the first name that an object has a second time, else empty.
inline nlohmann::json parse_once(std::string_view text, std::string& twice) {
  using Json = nlohmann::json;
  std::vector<std::set<std::string>> open;
  const auto watch = [&](int, Json::parse_event_t event, Json& name) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key && twice.empty() && !open.back().insert(name.get<std::string>()).second)
      twice = name.get<std::string>();
    return true;
  };
  return Json::parse(text, watch, false);
}

}  // namespace distsim
