// Who may talk to the server: requests that name it as its URL does, come from its own page, and know its token.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace distsim::web {

class Gate {
 public:
  /// `address`: that is listened on. On others than loopback, any address and the machine's own name may stand in Host.
  Gate(std::string address, bool is_loopback, std::uint16_t port, std::string token);

  /// The value of Host. A page elsewhere whose name was made to lead here (DNS rebinding) has another one.
  bool knows_host(std::string_view host) const;
  /// The value of Origin; empty where there is none, as from programs that are no browsers. `host`: that of the request.
  static bool knows_origin(std::string_view origin, std::string_view host);
  /// The part of a URL behind '?'.
  bool knows_token(std::string_view query) const;

  const std::string& token() const { return token_; }
  std::uint16_t port() const { return port_; }

 private:
  bool knows_name(std::string_view name) const;
  const std::string address_, own_name_;
  const bool is_loopback_;
  const std::uint16_t port_;
  const std::string token_;
};

}  // namespace distsim::web
