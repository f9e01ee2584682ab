// What the TCP parts share: listening, calling with patience, whole messages. Includes Boost.Asio, so only .cpp files
// include it.
#pragma once

#include <poll.h>

#include <utility>  // Boost 1.74 uses std::exchange without it

#include <algorithm>
#include <boost/asio.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <vector>

#include "base/result.hpp"

namespace distsim::bench::tcp {

namespace asio = boost::asio;
using Socket = asio::ip::tcp::socket;
using Acceptor = asio::ip::tcp::acceptor;
using Code = boost::system::error_code;

/// Throws std::system_error where the process may open no more files: what Asio opens with the first socket is open then.
class Io : public asio::io_context {
 public:
  Io() try : asio
    ::io_context(1) { const Socket first(*this); }
  catch (const boost::system::system_error& e) {
    throw std::system_error(std::error_code(e.code()), "cannot open a TCP connection");
  }
};

/// Port 0: any free one.
inline Result<Acceptor> listen(asio::io_context& io, int port) {
  Acceptor acceptor(io);
  Code failed;
  const asio::ip::tcp::endpoint anywhere(asio::ip::tcp::v4(), static_cast<std::uint16_t>(port));
  acceptor.open(anywhere.protocol(), failed);
  if (!failed) acceptor.set_option(Acceptor::reuse_address(true), failed);
  if (!failed) acceptor.bind(anywhere, failed);
  if (!failed) acceptor.listen(asio::socket_base::max_listen_connections, failed);
  if (failed) return Error{"cannot listen on port " + std::to_string(port) + ": " + failed.message(), "--port", ""};
  return acceptor;
}

/// Whether one of them has something to read (or has closed) in time; a signal does not end the wait. Those of -1 are skipped.
inline bool wait_for_any(std::span<pollfd> lines, double seconds) {
  std::vector<pollfd>
      open;  // poll takes no more lines than a process may have open files, and counts skipped ones, too
  std::ranges::copy_if(lines, std::back_inserter(open), [](const pollfd& line) { return line.fd >= 0; });
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  for (double left = seconds;; left = std::chrono::duration<double>(end - std::chrono::steady_clock::now()).count()) {
    const int found = ::poll(open.data(), open.size(), left > 0 ? static_cast<int>(std::min(left, 1e6) * 1000) + 1 : 0);
    if (found > 0) {
      for (auto heard = open.begin(); pollfd & line : lines) line.revents = line.fd < 0 ? short{0} : (heard++)->revents;
      return true;
    }
    if (found == 0 ? left <= 0 : errno != EINTR) return false;
  }
}

inline bool wait_for(int line, double seconds) {
  pollfd waiting{line, POLLIN, 0};
  return wait_for_any(std::span(&waiting, 1), seconds);
}

constexpr const char* kOutOfFiles = "allow more open files (ulimit -n)";

/// That this process, and not the peer, lacks something: it is not better a moment later.
inline bool is_out_of_files(const Code& code) {
  return code == asio::error::no_descriptors || code == std::errc::too_many_files_open_in_system;
}

inline Result<Socket> accept(Acceptor& acceptor, double seconds) {
  if (!wait_for(acceptor.native_handle(), seconds))
    return Error{"no connection within " + std::to_string(static_cast<int>(seconds)) + " s", "", ""};
  Code failed;
  Socket socket = acceptor.accept(failed);
  if (failed) return Error{"accept: " + failed.message(), "", is_out_of_files(failed) ? kOutOfFiles : ""};
  socket.set_option(asio::ip::tcp::no_delay(true), failed);
  return socket;
}

constexpr const char* kUnknownHost = "check its spelling";  ///< hint of the error for a host that no waiting brings

inline bool is_unknown_host(const Code& failed) {
  return failed == asio::error::host_not_found || failed == asio::error::no_data;
}

/// One try with a limit.
inline Result<Socket> call_once(asio::io_context& io, const std::string& host, int port, double seconds) {
  Code failed;
  asio::ip::tcp::resolver resolver(io);
  const auto places = resolver.resolve(asio::ip::tcp::v4(), host, std::to_string(port), failed);
  if (is_unknown_host(failed)) return Error{"unknown host '" + host + "'", "", kUnknownHost};
  if (failed) return Error{host + ": " + failed.message(), "", is_out_of_files(failed) ? kOutOfFiles : ""};
  Socket socket(io);
  Code outcome = asio::error::would_block;
  asio::async_connect(socket, places, [&](const Code& code, const asio::ip::tcp::endpoint&) { outcome = code; });
  io.restart();
  io.run_for(std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::duration<double>(seconds)));
  if (outcome == asio::error::would_block) {
    socket.close(failed);
    io.restart();
    io.run();
    outcome = asio::error::timed_out;
  }
  if (outcome)
    return Error{host + ":" + std::to_string(port) + ": " + outcome.message(), "",
                 is_out_of_files(outcome) ? kOutOfFiles : ""};
  socket.set_option(asio::ip::tcp::no_delay(true), failed);
  return socket;
}

/// Tries again until the other side listens.
inline Result<Socket> call(asio::io_context& io, const std::string& host, int port, double patience_s) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(patience_s);
  while (true) {
    auto socket = call_once(io, host, port, std::min(patience_s, 5.0));
    if (socket.ok() || socket.error().hint == kUnknownHost || socket.error().hint == kOutOfFiles ||
        std::chrono::steady_clock::now() > end)
      return socket;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

/// `transfer(at, code)` moves what it can of the bytes from `at` on. A signal breaks into the wait of a socket that Asio
/// has made non-blocking; whoever asked for an end by it is heard between the calls.
template <class Transfer>
Result<void> transfer_all(std::size_t bytes, const Transfer& transfer) {
  for (std::size_t at = 0; at < bytes;) {
    Code failed;
    at += transfer(at, failed);
    if (failed && failed != asio::error::interrupted) return Error{failed.message(), "", ""};
  }
  return {};
}

inline Result<void> write_all(Socket& socket, const void* data, std::size_t bytes) {
  return transfer_all(bytes, [&](std::size_t at, Code& failed) {
    return asio::write(socket, asio::buffer(static_cast<const char*>(data) + at, bytes - at), failed);
  });
}

inline Result<void> read_all(Socket& socket, void* data, std::size_t bytes) {
  return transfer_all(bytes, [&](std::size_t at, Code& failed) {
    return asio::read(socket, asio::buffer(static_cast<char*>(data) + at, bytes - at), failed);
  });
}

template <class T>
Result<void> write_value(Socket& socket, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  return write_all(socket, &value, sizeof value);
}

template <class T>
Result<T> read_value(Socket& socket) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value{};
  TRY(read_all(socket, &value, sizeof value));
  return value;
}

/// A length and so many bytes. A length that cannot be is refused before memory is taken for it.
inline Result<void> write_text(Socket& socket, const std::string& text) {
  TRY(write_value(socket, static_cast<std::uint64_t>(text.size())));
  return write_all(socket, text.data(), text.size());
}

inline Result<std::string> read_text(Socket& socket) {
  TRY_ASSIGN(const std::uint64_t length, read_value<std::uint64_t>(socket));
  if (length > (std::uint64_t{1} << 30)) return Error{"a message of " + std::to_string(length) + " bytes", "", ""};
  std::string text(length, '\0');
  TRY(read_all(socket, text.data(), length));
  return text;
}

/// What a rank says of another one whose connection has ended.
inline std::string has_disconnected(int rank, int ranks, const std::string& why) {
  return "rank " + std::to_string(rank) + " has disconnected (" + why + ")" +
         (ranks > 2 ? ", or ended as another rank had" : "");
}

/// The handshake of every connection, so that other programs' connections are not mistaken for a rank's.
struct Hello {
  char magic[8] = {'d', 'i', 's', 't', 's', 'i', 'm', '2'};
  std::uint64_t cookie = 0;
  std::int32_t rank = 0, number = 0;
  bool valid(std::uint64_t expected_cookie) const {
    return std::memcmp(magic, Hello{}.magic, sizeof magic) == 0 && cookie == expected_cookie;
  }
};

constexpr const char* kSilent = "it is silent";  ///< hint of the error for a peer that is there

/// The caller's first words, or an error where they are not all there in time: a peer that is silent, or stops amidst
/// them, does not block the others.
inline Result<Hello> read_hello(Socket& socket, double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  Hello hello;
  for (std::size_t have = 0; have < sizeof hello;) {
    const double left = std::chrono::duration<double>(end - std::chrono::steady_clock::now()).count();
    if (left <= 0 || !wait_for(socket.native_handle(), left))
      return Error{"a peer connected but did not introduce itself", "", kSilent};
    const ssize_t got = ::recv(socket.native_handle(), reinterpret_cast<char*>(&hello) + have, sizeof hello - have, 0);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) return Error{"a peer connected and left", "", ""};
    have += static_cast<std::size_t>(got);
  }
  return hello;
}

/// Looks up names in a thread of its own, which a slow name service may hold up for minutes.
class HostLookup {
 public:
  explicit HostLookup(std::vector<std::string> names);
  /// Place in `names` of the first one that the name service knows not, as far as it has said so in time.
  std::optional<std::size_t> unknown(double seconds) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// IPv4 addresses of this machine's interfaces that are up, without the loopback; separated by blanks.
std::string local_addresses();

}  // namespace distsim::bench::tcp
