#include "mpi_bench/collective/run/tcp/tcp_socket.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <condition_variable>
#include <map>
#include <mutex>

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

struct HostLookup::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<std::size_t> unknown;
  bool done = false;

  /// True: enough is known.
  bool note(std::size_t place, bool is_unknown) {
    const std::lock_guard lock(mutex);
    if (is_unknown) unknown = place;
    return is_unknown;
  }
};

HostLookup::HostLookup(std::vector<std::string> names) : state_(std::make_shared<State>()) {
  std::thread([state = state_, names = std::move(names)] {
    asio::io_context io;
    asio::ip::tcp::resolver resolver(io);
    std::map<std::string, std::size_t> seen;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!seen.emplace(names[i], i).second) continue;
      Code failed;
      (void)resolver.resolve(asio::ip::tcp::v4(), names[i], "", failed);
      if (state->note(i, is_unknown_host(failed))) break;
    }
    {
      const std::lock_guard lock(state->mutex);
      state->done = true;
    }
    state->changed.notify_all();
  }).detach();
}

std::optional<std::size_t> HostLookup::unknown(double seconds) const {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return state_->done; });
  return state_->unknown;
}

}  // namespace distsim::bench::tcp
