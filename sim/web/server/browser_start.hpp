// --open: the page in the user's browser.
#pragma once

#include <sys/types.h>

#include <string>

#include "sim/web/files/private_folder.hpp"
#include "sim/web/server/asio.hpp"

namespace distsim::web {

/// Starts $BROWSER (programs separated by colons, "%s" where the address goes), otherwise xdg-open. It is given a file that
/// only this user can read and that leads to the URL: everybody sees the words that a process was started with, and the
/// token is among them. Where nothing can be started, or what was started fails, a line says so.
class BrowserStart {
 public:
  BrowserStart(net::io_context& io, PrivateFolder& folder) : children_(io), folder_(folder) {}
  void open(const std::string& url);

 private:
  void watch();
  net::signal_set children_;
  PrivateFolder& folder_;
  pid_t pid_ = -1;
  std::string program_;
};

/// A page that leads to `url`.
std::string page_to(const std::string& url);

}  // namespace distsim::web
