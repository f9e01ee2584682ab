// What every answer to a request has: headers that keep other pages out, and no copy kept.
#pragma once

#include <string>
#include <string_view>

#include "sim/web/server/asio.hpp"

namespace distsim::web {

using Response = http::response<http::string_body>;

Response response_of(http::status status, std::string_view type, std::string text);

/// A line that says why there is nothing else.
Response refusal(http::status status, std::string text);

}  // namespace distsim::web
