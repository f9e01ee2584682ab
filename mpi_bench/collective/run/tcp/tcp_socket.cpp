#include "mpi_bench/collective/run/tcp/tcp_socket.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>

namespace distsim::bench::tcp {

std::string local_addresses() {
  std::string text;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return text;
  for (const ifaddrs* a = all; a != nullptr; a = a->ifa_next) {
    if (a->ifa_addr == nullptr || a->ifa_addr->sa_family != AF_INET || (a->ifa_flags & IFF_UP) == 0 ||
        (a->ifa_flags & IFF_LOOPBACK) != 0)
      continue;
    char name[INET_ADDRSTRLEN] = "";
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(a->ifa_addr)->sin_addr, name, sizeof name);
    text += (text.empty() ? "" : " ") + std::string(name);
  }
  ::freeifaddrs(all);
  return text;
}

}  // namespace distsim::bench::tcp
