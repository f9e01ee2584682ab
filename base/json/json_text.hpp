// The one way in which a JSON value becomes a text that leaves the program.
#pragma once

#include <string>

#include "base/json/json.hpp"
#include "base/text/markup.hpp"

namespace distsim {

/// `indent`: spaces a level; -1: in one line. Characters that nobody sees are escapes, bytes that are no UTF-8 become U+FFFD.
template <class Json>
std::string json_text(const Json& json, int indent = -1) {
  return with_hidden_escaped(json.dump(indent, ' ', false, Json::error_handler_t::replace));
}

}  // namespace distsim
