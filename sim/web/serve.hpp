// distsim serve: the page, on a server of its own. HTTP for the page's files and downloads, a WebSocket for everything else
// (docs/serve.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace distsim::web {

struct ServeOptions {
  std::string config;                ///< the experiment that a page begins with; empty: a small one
  std::string listen = "127.0.0.1";  ///< an address of this machine
  std::uint32_t port = 8080;         ///< 0: a free one; at most 65535
  std::vector<std::string> traces;   ///< files, folders or patterns: the ranks of one job
  bool open = false;                 ///< in a browser
};

/// Serves until SIGINT or SIGTERM. The first line on standard output is the URL with its token. Errors: an experiment that
/// cannot be read, an address or port that cannot be used; a program that was built without Boost.
Result<void> serve(const ServeOptions& options);

}  // namespace distsim::web
