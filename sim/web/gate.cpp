#include "sim/web/gate.hpp"

#include <arpa/inet.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text/lower_case.hpp"
#include "sim/web/answers/secret.hpp"

namespace distsim::web {
namespace {

constexpr std::size_t kLongestHost = 255;  // of a name, RFC 1035

std::string name_of_machine() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? lower_case(name.data()) : "";
}

/// "10.1.2.3", "[fe80::1]".
bool is_address(std::string_view name) {
  std::array<unsigned char, 16> out{};
  if (!name.starts_with('[')) return ::inet_pton(AF_INET, std::string(name).c_str(), out.data()) == 1;
  return name.ends_with(']') &&
         ::inet_pton(AF_INET6, std::string(name.substr(1, name.size() - 2)).c_str(), out.data()) == 1;
}

}  // namespace

Gate::Gate(std::string address, bool is_loopback, std::uint16_t port, std::string token)
    : address_(std::move(address)),
      own_name_(name_of_machine()),
      is_loopback_(is_loopback),
      port_(port),
      token_(std::move(token)) {}

bool Gate::knows_name(std::string_view name) const {
  if (name == "localhost" || name == "127.0.0.1" || name == "[::1]" || name == address_ || name == "[" + address_ + "]")
    return true;
  return !is_loopback_ && (is_address(name) || (!own_name_.empty() && name == own_name_));
}

bool Gate::knows_host(std::string_view host) const {
  if (host.empty() || host.size() > kLongestHost) return false;
  const std::size_t colon = host.rfind(':');
  const bool has_port = colon != std::string_view::npos && host.find(']', colon) == std::string_view::npos;
  const std::string_view port = has_port ? host.substr(colon + 1) : "80";
  return port == std::to_string(port_) &&
         knows_name(lower_case(std::string(host.substr(0, has_port ? colon : host.size()))));
}

bool Gate::knows_origin(std::string_view origin, std::string_view host) {
  constexpr std::string_view kScheme = "http://";
  if (origin.empty()) return true;
  return origin.starts_with(kScheme) && origin.substr(kScheme.size()) == host;
}

bool Gate::knows_token(std::string_view query) const {
  constexpr std::string_view kName = "token=";
  for (std::size_t begin = 0; begin <= query.size();) {
    const std::size_t end = std::min(query.find('&', begin), query.size());
    const std::string_view part = query.substr(begin, end - begin);
    if (part.starts_with(kName)) return is_secret(token_, part.substr(kName.size()));
    begin = end + 1;
  }
  return false;
}

}  // namespace distsim::web
