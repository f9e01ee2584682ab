// One connection: requests for files, until one asks for a WebSocket.
#pragma once

#include "sim/web/server/asio.hpp"
#include "sim/web/server/house.hpp"

namespace distsim::web {

net::awaitable<void> serve_connection(tcp::socket socket, House& house);

}  // namespace distsim::web
