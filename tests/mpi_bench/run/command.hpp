// Runs a command as a user would, to its end or concurrently with the test, and keeps what it said.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>

#include "base/file.hpp"
#include "test_paths.hpp"

namespace distsim::test {

struct Finished {
  int code = -1;
  std::string out, err;
};

/// `command` through the shell; standard output and error end up in files of `dir`.
inline Finished run_command(const std::string& command, const std::string& dir) {
  const std::string out = dir + "/stdout", err = dir + "/stderr";
  const int status = std::system((command + " >" + out + " 2>" + err + " </dev/null").c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, *read_file(out, 64 << 20), *read_file(err, 64 << 20)};
}

/// `command` through the shell, which becomes it: a signal reaches the command itself. Our own child, so that its end
/// is seen whoever else reaps.
class Background {
 public:
  explicit Background(const std::string& command) : pid_(::fork()) {
    if (pid_ != 0) return;
    const std::string text = "exec " + command;
    ::execl("/bin/sh", "sh", "-c", text.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ~Background() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  void interrupt() const { send(SIGINT); }
  void send(int signal) const {
    if (pid_ > 0) ::kill(pid_, signal);  // else it has ended
  }
  /// Its exit code, 128 + N after signal N; nothing where it has not ended within `looks` tenths of a second.
  std::optional<int> end_within(int looks) {
    for (int status = 0; looks > 0; --looks) {
      if (pid_ > 0 && ::waitpid(pid_, &status, WNOHANG) == pid_) {
        pid_ = 0;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return std::nullopt;
  }

 private:
  pid_t pid_;
};

/// A TCP port of this machine that nobody listens at: below those that the system gives to whoever asks for any, so
/// that none comes to take it.
inline int free_port() {
  const int first = static_cast<int>(::getpid() % 10000);
  for (int i = 0; i < 10000; ++i) {
    const int port = 20000 + (first + i) % 10000, line = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port = htons(static_cast<std::uint16_t>(port));
    const bool free = ::bind(line, reinterpret_cast<const sockaddr*>(&place), sizeof place) == 0;
    ::close(line);
    if (free) return port;
  }
  return 0;
}

/// A connection to a port of this machine, once somebody listens there; -1 where nobody does for 10 seconds.
inline int call_port(int port) {
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(static_cast<std::uint16_t>(port));
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (int looks = 0; looks < 200; ++looks) {
    const int line = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(line, reinterpret_cast<const sockaddr*>(&place), sizeof place) == 0) return line;
    ::close(line);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return -1;
}

}  // namespace distsim::test
