// POST /upload?token=...&name=...: a file from a page, streamed to the server's private folder.
#pragma once

#include <string>
#include <string_view>

#include "sim/web/server/asio.hpp"
#include "sim/web/server/house.hpp"
#include "sim/web/server/responses.hpp"

namespace distsim::web {

/// Reads the body of a request whose header was read. `query`: that of its URL. The file is there, whole, or not at all.
net::awaitable<Response> receive_file(beast::tcp_stream& stream, beast::flat_buffer& buffer,
                                      http::request_parser<http::empty_body>& header, const std::string& query,
                                      House& house);

/// The value of `name` in "a=b&name=x%20y"; empty where there is none, or one that is no text.
std::string value_in_query(std::string_view query, std::string_view name);

}  // namespace distsim::web
